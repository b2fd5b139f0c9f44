"""The budget of one data set: what was charged to it, and what is left."""

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from dpscd.errors import BudgetExceeded, LedgerError
from dpscd.privacy.filters import Filter, above, below, exact
from dpscd.privacy.relation import Relation
from dpscd.privacy.unit import RECORD, Unit


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

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON values."""
        return asdict(self)


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

    def to_dict(self) -> dict[str, Any]:
        """Return the reservation as plain JSON values."""
        return asdict(self)


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
            why = "who is a person is told in another way, so that neither covers the other"
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
