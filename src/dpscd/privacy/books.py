"""The entries of a ledger: their hash chain and their content."""

import hashlib
import json
import math
import unicodedata
from dataclasses import dataclass
from typing import Any

from dpscd.errors import LedgerError, ParameterError
from dpscd.privacy.budget import Account, Reservation
from dpscd.privacy.filters import filter_from_dict
from dpscd.privacy.relation import Relation
from dpscd.privacy.unit import RECORD, Unit

_START = "0" * 64


@dataclass(frozen=True)
class Verified:
    """Result of checking a whole ledger: the number of entries and the last hash."""

    entries: int
    head: str


def check_text(name: str, text: Any, *, empty: bool = False) -> None:
    """Raise ParameterError unless `text` is a name that is readable in a table."""
    if not (isinstance(text, str) and text.isprintable() and len(text) <= 200):
        raise ParameterError(f"{name} must be a printable string of at most 200 characters.")
    if not (text or empty):
        raise ParameterError(f"{name} must not be empty.")
    if unicodedata.normalize("NFKC", text).strip() != text:
        # Names that look the same must be the same: two names are two budgets.
        raise ParameterError(f"{name} must be in Unicode's normal form, without outer spaces.")


def canonical(values: dict[str, Any]) -> str:
    """Return the canonical JSON text of `values`."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def link(previous: str, body: str) -> str:
    """Return the hash that ties an entry to all before it."""
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()


class Books:
    """The entries read so far: their chain, the budgets and what is spent of them.

    Guarantee: entries are accepted only if each follows from all before it, by its hash and
    by the rules of the filters; so no sum is ever below what was charged.
    """

    def __init__(self) -> None:
        self.hashes: list[str] = []
        self.accounts: dict[str, Account] = {}
        self.reservations: dict[int, Reservation] = {}
        self.committed: set[int] = set()

    @property
    def head(self) -> str:
        """Hash of the last entry."""
        return self.hashes[-1] if self.hashes else _START

    @property
    def next(self) -> int:
        """Number of the entry to come."""
        return len(self.hashes) + 1

    def read(self, seq: Any, body: Any, digest: Any) -> None:
        """Take one entry of the file, or raise LedgerError."""
        number = self.next
        if not (isinstance(body, str) and seq == number and digest == link(self.head, body)):
            raise LedgerError(
                f"entry {number} of the ledger does not follow from the one before it: entries "
                "were changed, removed or moved. Restore a copy of the file."
            )
        try:
            values = json.loads(body)
            if canonical(values) != body or values["seq"] != number:
                raise ValueError("not canonical")
            if (values["kind"] == "ledger") != (number == 1):
                raise ValueError("a ledger begins once")
            {
                "ledger": self._open,
                "budget": self._budget,
                "reserve": self._reserve,
                "commit": self._commit,
            }[values["kind"]](values)
        except (ValueError, TypeError, LookupError, AttributeError, RuntimeError):
            raise LedgerError(
                f"entry {number} of the ledger is not one that this version of dpscd writes."
            ) from None
        self.hashes.append(digest)

    def account(self, dataset: str) -> Account:
        """Return the account of a data set, or raise LedgerError."""
        if dataset not in self.accounts:
            known = ", ".join(repr(name) for name in self.accounts)
            raise LedgerError(
                f"there is no budget for dataset={dataset!r}, only for: {known}. "
                "Give it one with `dpscd budget init`."
            )
        return self.accounts[dataset]

    def open_reservation(self, number: int) -> Reservation:
        """Return the reservation to be committed, or raise LedgerError."""
        if number not in self.reservations:
            raise LedgerError(f"there is no reservation {number!r} in this ledger.")
        if number in self.committed:
            raise LedgerError(f"reservation {number!r} is committed already.")
        return self.reservations[number]

    def _open(self, values: dict[str, Any]) -> None:
        if values["version"] != 1:
            raise ValueError("written by a later version")

    def _budget(self, values: dict[str, Any]) -> None:
        dataset = str(values["dataset"])
        if dataset in self.accounts:
            raise ValueError("a data set has one budget")
        self.accounts[dataset] = Account(
            dataset=dataset,
            relation=Relation(values["relation"]),
            filter=filter_from_dict(values["filter"], values["numbers"]),
            unit=Unit.parse(values.get("unit", RECORD.text)),
            forbids_look=_flag(values, "forbids_look"),
        )

    def _reserve(self, values: dict[str, Any]) -> None:
        cost = {str(key): float(x) for key, x in values["cost"].items()}
        if not all(x >= 0.0 and math.isfinite(x) for x in cost.values()):
            raise ValueError("a cost is out of range")
        reservation = Reservation(
            id=values["seq"],
            dataset=values["dataset"],
            label=str(values["label"]),
            time=str(values["time"]),
            epsilon=float(values["epsilon"]),
            delta=float(values["delta"]),
            releases=tuple(dict(x) for x in values["releases"]),
            cost=cost,
            seeded=_flag(values, "seeded"),
            unit=values.get("unit", RECORD.text),
        )
        self.accounts[reservation.dataset].charge(reservation)
        self.reservations[reservation.id] = reservation

    def _commit(self, values: dict[str, Any]) -> None:
        self.committed.add(self.open_reservation(values["reservation"]).id)


def _flag(values: dict[str, Any], key: str) -> bool:
    """Return a flag of an entry; False where earlier entries lack it."""
    found = values.get(key, False)
    if not isinstance(found, bool):
        raise TypeError(f"{key} is true or false")
    return found
