"""The file of a ledger, the only importer of SQLite; entries are only added.

* *Rollback journal, synchronous=EXTRA.* The one file is complete after each operation, also
  after a power cut; a file that was switched to a write-ahead log is refused.
* *BEGIN IMMEDIATE.* The lock is taken before the sums are read, so of two processes that race
  for the last epsilon the second reads what the first wrote.
* *A connection per operation.* Forks, threads and pickles all share one budget.
* *Append-only.* Triggers abort changes and removals, and each entry is hashed with the hash
  before it. That finds accidents and edits; a new file is found by the head of `verify`.
"""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpscd.errors import LedgerError
from dpscd.privacy.entries import Entries, canonical, link

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
) -> Iterator[tuple[sqlite3.Connection, Entries]]:
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


def _read(connection: sqlite3.Connection, *, create: bool) -> Entries:
    """Return the entries of an open file; lay out an empty one if asked to."""
    schema = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%' ORDER BY rowid"
    ).fetchall()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    entries = Entries()
    if create and not schema and application == 0:
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={_APPLICATION}")
        first = {"kind": "ledger", "version": 1, "name": secrets.token_hex(16)}
        append(connection, entries, first)
        return entries
    if application != _APPLICATION or tuple(sql for (sql,) in schema) != _SCHEMA:
        raise sqlite3.DatabaseError("it is no ledger of dpscd, or its tables were changed")
    for row in connection.execute("SELECT seq, body, hash FROM entries ORDER BY seq"):
        entries.read(*row)
    counted = connection.execute("SELECT seq FROM sqlite_sequence").fetchall()
    if not entries.hashes or counted != [(len(entries.hashes),)]:
        raise sqlite3.DatabaseError("its last entries were removed")
    return entries


def append(connection: sqlite3.Connection, entries: Entries, values: dict[str, Any]) -> int:
    """Add an entry to the file and the entries; return its number."""
    number = entries.next
    body = canonical({"seq": number, **values})
    digest = link(entries.head, body)
    # Read back by the rule by which all will read it: what is refused is not written.
    entries.read(number, body, digest)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number, body, digest))
    return number


def check_integrity(connection: sqlite3.Connection) -> None:
    """Let SQLite check the whole file; within a transaction a complaint is a LedgerError."""
    problem = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if problem != ("ok",):
        raise sqlite3.DatabaseError(problem[0])
