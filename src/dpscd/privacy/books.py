"""The entries of a ledger: how they are chained, and the budgets that they add up to."""

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from dpscd.errors import BudgetExceeded, LedgerError, ParameterError
from dpscd.privacy.filters import Filter, above, below, exact, filter_from_dict
from dpscd.privacy.relation import Relation

__all__ = [
    "Account",
    "Books",
    "BudgetState",
    "Reservation",
    "Verified",
    "canonical",
    "check_text",
    "link",
]

_START = "0" * 64


@dataclass(frozen=True)
class BudgetState:
    """What a budget is, and what is spent and left of it.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    epsilon, delta, relation, filter
        The budget and how fits are added up.
    order : int or None
        The order of a Rényi filter.
    spent_epsilon, left_epsilon : float
        At the budget's delta; rounded up and down.
    spent_delta, left_delta : float or None
        The same for delta; a Rényi filter states every total at the whole delta: None.
    reserved, committed : int
        Fits that began, and those of them that came to their end. Both are spent.
    seeded : int
        Fits whose noise came from a seed. If one of those becomes known, its model is not
        private, and neither is the total.
    note : str
        What a reader of the totals should know.
    """

    dataset: str
    epsilon: float
    delta: float
    relation: Relation
    filter: str
    order: int | None
    spent_epsilon: float
    left_epsilon: float
    spent_delta: float | None
    left_delta: float | None
    reserved: int
    committed: int
    seeded: int
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Reservation:
    """A fit that was charged: public numbers of its plan, nothing of its data.

    Attributes
    ----------
    id : int
        What :meth:`Ledger.reserve` returned.
    dataset, label, time : str
        Whose budget, what the caller named it, and when it was charged (UTC).
    epsilon, delta : float
        What the fit claims.
    releases : tuple of dict
        What it releases, as on its privacy card.
    cost : dict
        What the filter charged.
    committed : bool
        Whether the fit came to its end.
    seeded : bool
        Whether its noise came from a seed: the claim holds while that seed is secret.
    """

    id: int
    dataset: str
    label: str
    time: str
    epsilon: float
    delta: float
    releases: tuple[dict[str, Any], ...]
    cost: dict[str, float]
    committed: bool = False
    seeded: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the reservation as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Verified:
    """What a check of the whole ledger found: the number of entries and the last hash."""

    entries: int
    head: str


@dataclass
class Account:
    """The budget of one data set and all that was charged to it."""

    dataset: str
    relation: Relation
    filter: Filter
    reservations: list[Reservation] = field(default_factory=list)
    sums: dict[str, Fraction] = field(default_factory=dict)

    def with_cost(self, cost: Mapping[str, float]) -> dict[str, Fraction]:
        """Return what the sums would be with one more fit."""
        return {key: self.sums.get(key, Fraction(0)) + exact(x) for key, x in cost.items()}

    def exceeded(self, sums: Mapping[str, Fraction]) -> list[str]:
        """Return the names of the capacities that `sums` exceed."""
        return [key for key, x in self.filter.capacity.items() if sums[key] > exact(x)]

    def admit(self, epsilon: float, delta: float, cost: Mapping[str, float]) -> None:
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
            f"a fit with epsilon={epsilon:g} and delta={delta:g} does not fit into the budget "
            f"of dataset={self.dataset!r}: {why}. Left: {left} ({state.filter} filter). "
            "Nothing was charged."
        )

    def charge(self, reservation: Reservation) -> None:
        """Add a fit; the filter must have admitted it."""
        sums = self.with_cost(reservation.cost)
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
        )


def check_text(name: str, text: Any, *, empty: bool = False) -> None:
    """Raise ParameterError unless `text` is a name that people can read in a table."""
    if not (isinstance(text, str) and text.isprintable() and len(text) <= 200):
        raise ParameterError(f"{name} must be a printable string of at most 200 characters.")
    if not (text or empty):
        raise ParameterError(f"{name} must not be empty.")
    if unicodedata.normalize("NFKC", text).strip() != text:
        # Names that look the same must be the same: two names are two budgets.
        raise ParameterError(f"{name} must be in Unicode's normal form, without outer spaces.")


def canonical(values: dict[str, Any]) -> str:
    """Return the one JSON text of `values`."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def link(previous: str, body: str) -> str:
    """Return the hash that ties an entry to all before it."""
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()


class Books:
    """The entries read so far: their chain, the budgets and what is spent of them.

    Notes
    -----
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
        )

    def _reserve(self, values: dict[str, Any]) -> None:
        cost = {str(key): float(x) for key, x in values["cost"].items()}
        if not all(x >= 0.0 and math.isfinite(x) for x in cost.values()):
            raise ValueError("a cost is out of range")
        seeded = values.get("seeded", False)  # entries of earlier versions do not say
        if not isinstance(seeded, bool):
            raise TypeError("seeded is true or false")
        reservation = Reservation(
            id=values["seq"],
            dataset=values["dataset"],
            label=str(values["label"]),
            time=str(values["time"]),
            epsilon=float(values["epsilon"]),
            delta=float(values["delta"]),
            releases=tuple(dict(x) for x in values["releases"]),
            cost=cost,
            seeded=seeded,
        )
        self.accounts[reservation.dataset].charge(reservation)
        self.reservations[reservation.id] = reservation

    def _commit(self, values: dict[str, Any]) -> None:
        self.committed.add(self.open_reservation(values["reservation"]).id)
