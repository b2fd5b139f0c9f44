"""The ledger: one file that holds the budget of each data set and all that was spent.

The only importer of SQLite; entries are only added.

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpscd.errors import BudgetExceeded, LedgerError, ParameterError
from dpscd.privacy.entries import (
    BudgetState,
    Entries,
    Reservation,
    Verified,
    canonical,
    check_text,
    link,
)
from dpscd.privacy.filters import LARGEST_EPSILON, check_target, fit_cost, new_filter
from dpscd.privacy.relation import RECORD, Relation, Unit

if TYPE_CHECKING:
    from dpscd.privacy.cost import Cost
    from dpscd.privacy.search import Search

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


class Ledger:
    """Budgets of data sets in one SQLite file, spent by fits and never overspent.

    Parameters
    ----------
    path : str or path-like
        The file; :meth:`init` creates it.

    Notes
    -----
    Guarantee: what `reserve` admitted is spent from then on, across processes, crashes and
    power cuts; all of it together is (epsilon, delta)-private for the budget's unit under its
    relation, even though fits are chosen after seeing earlier ones.
    Requires: a fit uses no value of the data before `reserve` returned; one name for one
    set of records (two names are two budgets); a file system with working locks.
    Proof: ``dpscd.privacy.filters.BasicFilter`` and
    ``dpscd.privacy.filters.RenyiFilter``.

    Examples
    --------
    >>> from dpscd import Ledger
    >>> ledger = Ledger.init("budget.db", "adult", epsilon=2.0, delta=1e-5)
    >>> ledger.show("adult").left_epsilon
    2.0
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        if not (isinstance(self.path, str) and self.path and "\0" not in self.path):
            raise ParameterError("{ledger} must be the path of a file.", ledger=path)

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"

    @classmethod
    def init(
        cls,
        path: str | os.PathLike[str],
        dataset: str,
        epsilon: float,
        delta: float,
        relation: str = "zero-out",
        filter: str = "basic",  # noqa: A002 - the word of the command line
        *,
        person: str | None = None,
        groups: bool = False,
        forbid_look: bool = False,
    ) -> "Ledger":
        """Give a data set its budget, in a new file or one that holds others.

        Parameters
        ----------
        path : str or path-like
            The ledger's file.
        dataset : str
            Name of the data set; it must have no budget yet, and keeps this one.
        epsilon, delta : float
            What all fits together may spend.
        relation : {'zero-out', 'replace-one', 'add-remove'}
            The relation of all its fits.
        filter : {'basic', 'renyi'}
            How fits are added up. 'renyi' admits more fits when they are many and small;
            it is not valid for replace-one.
        person : str, optional
            The column whose values identify persons, as in the schema of all its fits: they
            are the unit of the budget then. By default the unit is a record.
        groups : bool, default=False
            Whether the unit is a person, identified by the groups given to ``fit``.
        forbid_look : bool, default=False
            Whether ``dpscd look`` refuses to show facts about these records without noise.

        Returns
        -------
        Ledger
            The ledger.
        """
        check_text("dataset", dataset)
        parsed = Relation.parse(relation)
        unit = Unit(person, groups)
        check_target(epsilon, delta)
        rule = new_filter(filter, float(epsilon), float(delta), parsed)
        ledger = cls(path)
        with transaction(ledger.path, create=True) as (connection, entries):
            if dataset in entries.accounts:
                raise LedgerError(
                    f"dataset={dataset!r} has a budget in {ledger.path!r} already, and a "
                    "budget is fixed. See it with `dpscd budget show`."
                )
            entry = {
                "kind": "budget",
                "dataset": dataset,
                "relation": parsed.value,
                "filter": rule.name,
                "numbers": asdict(rule),
                "time": _now(),
                **_stated(unit),
                **({"forbids_look": True} if forbid_look else {}),
            }
            append(connection, entries, entry)
        return ledger

    def reserve(
        self,
        dataset: str,
        releases: Sequence["Cost"],
        epsilon: float,
        delta: float,
        relation: str,
        label: str = "",
        *,
        seeded: bool = False,
        unit: str = RECORD.text,
        search: "Search | None" = None,
    ) -> int:
        """Charge a fit before it uses any data, and return the id to commit.

        Guarantee: when it returns, the charge is on the disk; a process that dies earlier has
        not begun its fit, one that dies later has paid for it.
        Requires: all arguments are public.
        """
        # The claim is recomputed from `releases`, or from `search`, whose `releases` are those
        # of all candidates. `seeded` marks an entry whose noise comes from a seed.
        releases = tuple(releases)
        check_text("label", label, empty=True)
        Relation.parse(relation)
        protected = Unit.parse(unit)
        check_target(epsilon, delta)
        epsilon, delta = float(epsilon), float(delta)
        if not releases:
            raise ParameterError("releases is empty: what releases nothing needs no budget.")
        # The cost takes longer than an operation should hold the lock, so it comes first.
        with transaction(self.path, write=False) as (_, entries):
            account = entries.account(dataset)
        if account.relation != relation:
            raise LedgerError(
                f"the budget of dataset={dataset!r} is for relation="
                f"{account.relation.value!r}; a fit with relation={relation!r} cannot be "
                "charged to it."
            )
        account.check_unit(protected)
        if epsilon > LARGEST_EPSILON:
            raise BudgetExceeded(
                f"a fit with epsilon={epsilon:g} exceeds every budget; to train without "
                "privacy, leave out the ledger."
            )
        cost = fit_cost(account.filter, releases, epsilon, delta, account.relation, search)
        entry = {
            "kind": "reserve",
            "dataset": dataset,
            "label": label,
            "epsilon": epsilon,
            "delta": delta,
            "releases": [asdict(x) for x in releases],
            "cost": cost,
            "seeded": bool(seeded),
            "time": _now(),
            **_stated(protected),
            **({} if search is None else {"search": search.to_dict()}),
        }
        what = "search" if search is not None else "score" if label == "score" else "fit"
        with transaction(self.path) as (connection, entries):
            now = entries.account(dataset)
            if (now.filter, now.relation, now.unit) != (
                account.filter, account.relation, account.unit,
            ):  # fmt: skip
                raise LedgerError(f"the ledger {self.path!r} was replaced meanwhile.")
            now.admit(epsilon, delta, cost, what)
            return append(connection, entries, entry)

    def stream_salt(self, reservation: int) -> str:
        """Return a text that no other reservation has, in this ledger or another.

        Guarantee: it is the hash of the reservation's entry, which ties it to the random name
        of the ledger, all entries before, the data set, the releases and the time.
        """
        with transaction(self.path, write=False) as (_, entries):
            if reservation not in entries.reservations:
                raise LedgerError(f"there is no reservation {reservation!r} in this ledger.")
            return entries.hashes[reservation - 1]

    def commit(self, reservation: int) -> None:
        """Record that a fit ended; its cost is spent in any case.

        The entry has no time: how long a fit takes may depend on the data.
        """
        with transaction(self.path) as (connection, entries):
            entries.open_reservation(reservation)
            append(connection, entries, {"kind": "commit", "reservation": reservation})

    def datasets(self) -> tuple[str, ...]:
        """Return the names of the data sets that have a budget."""
        with transaction(self.path, write=False) as (_, entries):
            return tuple(entries.accounts)

    def show(self, dataset: str) -> BudgetState:
        """Return the budget of a data set, what is spent and what is left."""
        with transaction(self.path, write=False) as (_, entries):
            return entries.account(dataset).state(entries.committed)

    def history(self, dataset: str) -> tuple[Reservation, ...]:
        """Return all fits charged to a data set, the first one first."""
        with transaction(self.path, write=False) as (_, entries):
            return tuple(
                replace(x, committed=x.id in entries.committed)
                for x in entries.account(dataset).reservations
            )

    def verify(self, head: str | None = None) -> Verified:
        """Check the file, the chain of entries and every sum.

        Parameters
        ----------
        head : str, optional
            A hash that an earlier call returned, or its first digits. It must still be in
            the chain: an old copy put back, or a rewritten chain, does not have it.

        Returns
        -------
        Verified
            The number of entries and the hash of the last; note the latter elsewhere.

        Raises
        ------
        LedgerError
            If anything does not hold.
        """
        with transaction(self.path, write=False) as (connection, entries):
            check_integrity(connection)
            if head is not None and not any(x.startswith(head) for x in entries.hashes):
                raise LedgerError(
                    f"{self.path!r} does not contain the entry with head={head!r}: it is an "
                    "older copy or was rewritten."
                )
            return Verified(len(entries.hashes), entries.head)


def _stated(unit: Unit) -> dict[str, str]:
    """Return the unit as an entry states it; nothing for records, as in earlier entries."""
    return {"unit": unit.text} if unit.is_person else {}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA synchronous=EXTRA")
            if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
                # Not ours to switch back: the file may not even be a ledger.
                raise sqlite3.OperationalError("it was switched to a write-ahead log")
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            yield connection, _read(connection, create=create)
            connection.execute("COMMIT")
        finally:
            connection.close()  # undoes what was not committed
    except (sqlite3.Error, UnicodeError, OSError) as error:
        raise LedgerError(f"the ledger {path!r} cannot be used: {error}. {_ADVICE}") from error


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
    number = len(entries.hashes) + 1
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
