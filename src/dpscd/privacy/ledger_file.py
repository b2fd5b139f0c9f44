"""The file of a ledger: SQLite, of which it is the only importer; entries are only added.

Choices, each with its reason:

* *Rollback journal, synchronous=EXTRA.* A write-ahead log keeps the latest entries in a
  second file: whoever copies the first alone loses what was spent. With a rollback
  journal the one file is complete after each operation; a file that was switched to the
  other is refused. EXTRA is FULL and also syncs the folder once the journal is gone; else
  a power cut could bring the journal back and undo a reservation.
* *BEGIN IMMEDIATE.* The lock is taken before the sums are read, so of two processes that
  race for the last epsilon the second reads what the first wrote.
* *A connection per operation.* Nothing is kept but the path: forks, threads and
  pickles all share one budget.
* *Append-only.* Triggers abort changes and removals; each entry is hashed together with
  the hash before it. This finds accidents and edits. Whoever can write the file can also
  write a new one: note the head that `verify` returns to find that too.
"""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpscd.errors import LedgerError
from dpscd.privacy.books import Books, canonical, link

# Seconds to wait for another process that writes; an operation takes milliseconds.
_PATIENCE = 30.0

_ADVICE = (
    "If it is locked, try again; if it is damaged, restore a copy or start a new one that "
    "counts what was spent."
)

_APPLICATION = 0x64707363  # "dpsc", in the header of the file

_SCHEMA = (
    "CREATE TABLE entries (seq INTEGER PRIMARY KEY AUTOINCREMENT, "
    "body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER entries_never_go BEFORE DELETE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    # INSERT OR REPLACE would remove an entry without asking the trigger above.
    "CREATE TRIGGER entries_never_give_way BEFORE INSERT ON entries "
    "WHEN EXISTS (SELECT 1 FROM entries WHERE seq >= NEW.seq) "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
)


@contextmanager
def transaction(
    path: str, *, write: bool = True, create: bool = False
) -> Iterator[tuple[sqlite3.Connection, Books]]:
    """Read the whole ledger in one transaction, and keep what is appended to it."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise LedgerError(f"there is no folder {folder!r} for the ledger.")
    if not create and not os.path.exists(path):
        raise LedgerError(
            f"there is no ledger at {path!r}; create it with `dpscd budget init "
            f"{path} --dataset NAME --epsilon 2 --delta 1e-5`."
        )
    try:
        if os.path.exists(path) and os.stat(path).st_nlink > 1:
            # The journal of a killed process is found only under the name it used.
            raise OSError("it has a second name (a hard link)")
        connection = sqlite3.connect(
            f"{Path(path).absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
        )
        try:
            _set_up(connection)
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            yield connection, _read(connection, create=create)
            connection.execute("COMMIT")
        finally:
            connection.close()  # undoes what was not committed
    except (sqlite3.Error, UnicodeError, OSError) as error:
        raise LedgerError(f"the ledger {path!r} cannot be used: {error}. {_ADVICE}") from error


def _set_up(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA synchronous=EXTRA")
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode == "wal":
        # Not ours to switch back: the file may not even be a ledger.
        raise sqlite3.OperationalError("it was switched to a write-ahead log")
    connection.execute("PRAGMA journal_mode=DELETE")


def _read(connection: sqlite3.Connection, *, create: bool) -> Books:
    """Return the books of an open file; lay out an empty one if asked to."""
    schema = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY rowid"
    ).fetchall()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    books = Books()
    if create and not schema and application == 0:
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={_APPLICATION}")
        first = {"kind": "ledger", "version": 1, "name": secrets.token_hex(16)}
        append(connection, books, first)
        return books
    if application != _APPLICATION or tuple(sql for (sql,) in schema) != _SCHEMA:
        raise sqlite3.DatabaseError("it is no ledger of dpscd, or its tables were changed")
    for row in connection.execute("SELECT seq, body, hash FROM entries ORDER BY seq"):
        books.read(*row)
    counted = connection.execute("SELECT seq FROM sqlite_sequence").fetchall()
    if not books.hashes or counted != [(len(books.hashes),)]:
        raise sqlite3.DatabaseError("its last entries were removed")
    return books


def append(connection: sqlite3.Connection, books: Books, values: dict[str, Any]) -> int:
    """Add an entry to the file and the books; return its number."""
    number = books.next
    body = canonical({"seq": number, **values})
    digest = link(books.head, body)
    # Read back by the rule by which all will read it: what is refused is not written.
    books.read(number, body, digest)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, body, digest))
    return number


def check_integrity(connection: sqlite3.Connection) -> None:
    """Let SQLite check the whole file; within a transaction a complaint is a LedgerError."""
    problem = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if problem != ("ok",):
        raise sqlite3.DatabaseError(problem[0])
