"""Queries on records, exact sums over all of them, and the store that answers them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from dpscd.errors import WorkerError
from dpscd.kernels.dual import predictions
from dpscd.kernels.rows import MARGIN, Rows
from dpscd.persons import PersonRows
from dpscd.privacy.noise import lattice_step
from dpscd.privacy.random import Source
from dpscd.problem import DeferredRows, Floats, Problem, labels_of

if TYPE_CHECKING:
    from dpscd.releases.base import Observer
    from dpscd.releases.training import Training


class SomeRecords(Protocol):
    """All records, or a part of them, as a query sees them."""

    @property
    def X(self) -> Any:  # noqa: N802 - as everywhere
        """Rows, dense or CSR, in the user's units."""

    @property
    def labels(self) -> Floats:
        """Labels in the user's units."""

    @property
    def weights(self) -> Floats:
        """Weight of each record."""

    @property
    def columns(self) -> Sequence[Floats]:
        """Values of the columns of a table whose bounds are not declared."""

    @property
    def persons(self) -> PersonRows | None:
        """The rows of each person; None if every record is a unit by itself."""


@dataclass(frozen=True)
class Query(ABC):
    """A sum over records; it holds public facts only, and may be sent to the records.

    Requires: a record, or a person with all its rows, adds to ``step * total`` a vector of
    length at most 1, whatever it holds. Each query states why; tests try it on neighbouring
    data sets.
    """

    reads_columns: ClassVar[bool] = False
    """Whether it is asked of columns as they are, before rows can be made."""

    n: int  # public number of records: sets the step, and the capacity of sums

    @property
    def step(self) -> float:
        """The step of the lattice: the power of two whose multiples totals are."""
        return lattice_step(self.n, 1.0)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of the total: a public fact."""

    @abstractmethod
    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sum over records, in steps of the lattice: not yet noisy."""


FIRST, FURTHER = 0.6, 0.8
"""What means of persons, and those of their further rows, are multiplied by.

Their squares add up to 1."""


def whole_sums(
    each: Floats, usable: Any, records: SomeRecords, step: float, rows: float | None = None
) -> Floats:
    """Return exact sums of numbers of records, in steps of the lattice.

    `each`, of shape (numbers, rows), holds for every usable row a vector of length at most 1;
    rows of weight 0 do not count. A person gives the mean of its rows. With `rows` twice as
    many numbers are summed: these means, and these means times ``(min(m, rows) - 1) / rows``
    for a person with m rows, both made shorter so that together they are no longer than 1.

    Proof: docs/proofs/persons.md, "Other releases".
    """
    used, persons = records.weights > 0.0, records.persons
    each = np.where(usable & used, each, 0.0)
    if persons is not None:
        each = persons.means(each, used)
    if rows is not None:
        further = 0.0 if persons is None else persons.further(used, rows)
        each = np.concatenate([FIRST * each, FURTHER * further * each])
    whole = np.trunc(each * (MARGIN / step))
    sums: Floats = whole.sum(axis=1)  # whole numbers below 2^53: exact in any order
    return sums


def sum_over(query: Query, parts: Any) -> Floats:
    """Return the total of a query over parts of the records, checked to be a sum."""
    total = np.zeros(query.shape)
    for part in parts:
        found = query.total(part)
        if found.shape != query.shape:
            raise WorkerError("a total does not have the shape of its query.")
        total += only_sums(found)
    return total


def only_sums(reply: Any) -> Any:
    """Return what may leave the records: None, a whole number, or an array of whole numbers.

    Anything else that is returned by mistake, such as a row or a dual, is refused.
    """
    if reply is None or type(reply) is int:
        return reply
    numbers = np.asarray(reply)
    if type(reply) not in (float, np.ndarray) or numbers.dtype not in (np.float64, np.int64):
        raise WorkerError("no sum, and it was about to leave the records.")
    if not (np.isfinite(numbers).all() and np.array_equal(numbers, np.trunc(numbers))):
        raise WorkerError("no whole number, and it was about to leave the records.")
    return reply


@dataclass(frozen=True)
class Residuals:
    """Residuals of a pilot, times `factor`; public, except each record's own."""

    pilot: Problem  # the pilot's problem
    shared: Floats  # its released shared vector
    factor: float  # residuals are multiplied by this

    def labels(self, rows: Rows | DeferredRows, labels: Floats) -> Floats:
        """Return the residuals of labels in the user's units."""
        left = labels_of(self.pilot, rows, labels) - _predicted(self.pilot, rows, self.shared)
        return left * self.factor


def inner_labels(
    problem: Problem, residuals: Residuals | None, rows: Rows | DeferredRows, labels: Floats
) -> Floats:
    """Return what a training is fitted to: labels in its units, or a pilot's residuals."""
    if residuals is None:
        return labels_of(problem, rows, labels)
    return residuals.labels(rows, labels)


def _predicted(problem: Problem, rows: Rows | DeferredRows, shared: Floats) -> Floats:
    if isinstance(rows, DeferredRows):
        parts = [_predicted(problem, block, shared) for block in map(rows.read, rows.blocks)]
        return np.concatenate([np.empty(0), *parts])
    out = np.empty(len(rows.norm))
    # A copy, because one that was sent is read-only: another compiled kernel.
    predictions(rows, shared[0].copy(), problem.strength, out)
    return out


class RecordStore(Protocol):
    """Records that a fit may sum over but never sees.

    Guarantee: :meth:`total` is the one way to a sum outside a training; it is exact, over no
    more records than sums can hold, and nothing else leaves.
    """

    @property
    def dense(self) -> bool:
        """Whether rows are dense: a public fact of their layout."""

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all records."""

    def bound(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Read records with released bounds of columns from now on."""

    def train(
        self,
        problem: Problem,
        plan: "Training",
        source: Source,
        residuals: Residuals | None,
        progress: Callable[[int], None] | None,
        observer: "Observer | None",
    ) -> Floats:
        """Return the shared vector of a training, on labels or on a pilot's residuals."""
