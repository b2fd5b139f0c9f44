"""The entries of a ledger: their hash chain, the budgets, and what was charged to each."""

import hashlib
import json
import math
import shlex
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from dpscd.errors import BudgetExceeded, LedgerError, ParameterError
from dpscd.privacy.filters import Filter, above, below, exact, filter_from_dict
from dpscd.privacy.relation import RECORD, Relation, Unit


@dataclass(frozen=True)
class BudgetState:
    """The budget of a data set, what is spent of it and what is left."""

    dataset: str
    epsilon: float
    delta: float
    relation: Relation
    unit: str  # what the budget protects: a record, or a person with all their records
    filter: str
    order: int | None  # of a Rényi filter
    spent_epsilon: float  # at the budget's delta; spent is rounded up, left is rounded down
    left_epsilon: float
    spent_delta: float | None  # None for a Rényi filter: its totals are at the whole delta
    left_delta: float | None
    reserved: int  # fits that began, all spent; `committed` counts those that also ended
    committed: int
    # fits with seeded noise: if a seed leaks, its model and the total are not private
    seeded: int
    note: str  # remark for readers of the totals
    # whether ``dpscd look`` refuses to show facts about the records without noise
    forbids_look: bool = False


@dataclass(frozen=True)
class Reservation:
    """A charged fit: public numbers of its plan, nothing of its data."""

    id: int  # returned by :meth:`Ledger.reserve`
    dataset: str
    label: str
    time: str  # UTC
    epsilon: float  # claimed by the fit, as `delta` is
    delta: float
    releases: tuple[dict[str, Any], ...]  # as on the privacy card
    cost: dict[str, float]  # charged by the filter
    committed: bool = False  # whether the fit ended
    seeded: bool = False  # whether the claim holds only while a seed is secret
    unit: str = RECORD.text  # the budget's unit


@dataclass
class Account:
    """The budget of one data set and all that was charged to it."""

    dataset: str
    relation: Relation
    filter: Filter
    unit: Unit = RECORD
    forbids_look: bool = False
    reservations: list[Reservation] = field(default_factory=list)
    sums: dict[str, Fraction] = field(default_factory=dict)

    def with_cost(self, cost: Mapping[str, float]) -> dict[str, Fraction]:
        """Return the sums with one more fit."""
        return {key: self.sums.get(key, Fraction(0)) + exact(x) for key, x in cost.items()}

    def exceeded(self, sums: Mapping[str, Fraction]) -> list[str]:
        """Return the names of the capacities that `sums` exceed."""
        return [key for key, x in self.filter.capacity.items() if sums[key] > exact(x)]

    def check_unit(self, unit: Unit) -> None:
        """Raise LedgerError, saying why, unless a fit has the unit of the budget."""
        if unit == self.unit:
            return
        if not unit.is_person:
            why = "a charge for records never covers a person, who may have many"
        elif not self.unit.is_person:
            why = (
                "a charge for persons covers whether a person took part, not one of their "
                "records (under replace-one it would, for a record that stays with its person)"
            )
        else:
            why = "persons are identified in another way, so neither unit covers the other"
        typed = ""
        if unit.is_person:
            column = unit.person
            typed = " --groups" if column is None else f" --person {shlex.quote(column)}"
        raise LedgerError(
            f"the unit of the budget of dataset={self.dataset!r} is {self.unit.text!r}; a fit "
            f"whose unit is {unit.text!r} cannot be charged to it: {why}. A budget has one "
            "unit; this makes one for such fits: dpscd budget init LEDGER --dataset NAME "
            f"--epsilon {self.filter.epsilon:g} --delta {self.filter.delta:g} "
            f"--relation {self.relation}{typed}"
        )

    def admit(
        self, epsilon: float, delta: float, cost: Mapping[str, float], what: str = "fit"
    ) -> None:
        """Raise BudgetExceeded, saying what is left, unless the budget holds the fit."""
        sums = self.with_cost(cost)
        exceeded = self.exceeded(sums)
        if not exceeded:
            return
        state = self.state(set())
        left = f"epsilon={state.left_epsilon:.6g}"
        if state.left_delta is not None:
            left += f" and delta={state.left_delta:.6g}"
        if exceeded == ["delta"]:
            why = "its delta is more than is left; give each fit a smaller delta="
        elif exceeded[0].startswith("precision"):
            why = "the share set aside for finite precision is used up"
        else:
            total = above(self.filter.spent(sums)[0])
            why = f"it would bring the total to {total:.6g} of epsilon={state.epsilon:g}"
        raise BudgetExceeded(
            f"a {what} with epsilon={epsilon:g} and delta={delta:g} does not fit into the "
            f"budget of dataset={self.dataset!r}: {why}. Left: {left} ({state.filter} filter). "
            "Nothing was charged."
        )

    def charge(self, reservation: Reservation) -> None:
        """Add a fit; the filter must have admitted it."""
        sums = self.with_cost(reservation.cost)
        if reservation.unit != self.unit.text:
            raise ValueError("a fit was charged that has another unit")
        if set(sums) != set(self.filter.capacity) or self.exceeded(sums):
            raise ValueError("a fit was charged that the filter does not admit")
        self.sums = sums
        self.reservations.append(reservation)

    def state(self, committed: set[int]) -> BudgetState:
        """Return what is spent and left, rounded to the private side."""
        nothing = dict.fromkeys(self.filter.capacity, Fraction(0))
        epsilon, delta = self.filter.spent(self.sums or nothing)
        whole = exact(self.filter.epsilon), exact(self.filter.delta)
        return BudgetState(
            dataset=self.dataset,
            epsilon=self.filter.epsilon,
            delta=self.filter.delta,
            relation=self.relation,
            unit=self.unit.text,
            filter=self.filter.name,
            order=getattr(self.filter, "order", None),
            spent_epsilon=above(epsilon),
            left_epsilon=below(whole[0] - epsilon),
            spent_delta=None if delta is None else above(delta),
            left_delta=None if delta is None else below(whole[1] - delta),
            reserved=len(self.reservations),
            committed=sum(x.id in committed for x in self.reservations),
            seeded=sum(x.seeded for x in self.reservations),
            note=self.filter.note(),
            forbids_look=self.forbids_look,
        )


_START = "0" * 64


class Verified(NamedTuple):
    """A whole ledger that was checked: the number of entries and the last hash."""

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


class Entries:
    """The entries read so far: their chain, the budgets and what is spent of them.

    Guarantee: entries are accepted only if each follows from all before it, by its hash and by
    the rules of the filters; so no sum is ever below what was charged.
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

    def read(self, seq: Any, body: Any, digest: Any) -> None:
        """Take one entry of the file, or raise LedgerError."""
        number = len(self.hashes) + 1
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
            match values["kind"]:
                case "ledger" if values["version"] == 1:
                    pass
                case "budget":
                    self._budget(values)
                case "reserve":
                    self._reserve(values)
                case "commit":
                    self.committed.add(self.open_reservation(values["reservation"]).id)
                case _:
                    raise ValueError("written by a later version")
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


def _flag(values: dict[str, Any], key: str) -> bool:
    """Return a flag of an entry; False where earlier entries lack it."""
    found = values.get(key, False)
    if not isinstance(found, bool):
        raise TypeError(f"{key} is true or false")
    return found
