"""Queries on records: exact sums over all of them, and nothing else."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from dpscd.errors import WorkerError
from dpscd.kernels.margin import MARGIN
from dpscd.persons import PersonRows
from dpscd.privacy.noise import unit_of

Floats = npt.NDArray[np.float64]


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

    Requires: a record, or a person with all its rows, adds to ``unit * total`` a vector of
    length at most 1, whatever it holds (one replaced by another moves it by at most 2, which
    the accountant counts: ``Relation.reach``). Each query states why; the tests of its release
    try it on neighbouring data sets.
    """

    reads_columns: ClassVar[bool] = False
    """Whether it is asked of columns as they are, before rows can be made."""

    n: int  # public number of records: sets the unit, and the capacity of sums

    @property
    def unit(self) -> float:
        """The power of two whose multiples totals are."""
        return unit_of(self.n, 1.0)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of the total: a public fact."""

    @abstractmethod
    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sum over records, in units: not yet noisy."""


FIRST, FURTHER = 0.6, 0.8
"""What means of persons, and those of their further rows, are multiplied by.

Their squares add up to 1."""


def whole_sums(
    each: Floats, usable: Any, records: SomeRecords, unit: float, rows: float | None = None
) -> Floats:
    """Return exact sums of numbers of records, in units.

    `each`, of shape (numbers, rows), holds for every usable row a vector of length at most 1;
    rows of weight 0 do not count. For persons the mean of all rows that count is taken, no
    longer than one row: docs/proofs/persons.md, "Other releases". With `rows` twice as many
    numbers are summed: these means, and these means times ``(min(m, rows) - 1) / rows`` for a
    person with m rows, both made shorter so that together they are no longer than 1.
    """
    used, persons = records.weights > 0.0, records.persons
    each = np.where(usable & used, each, 0.0)
    if persons is not None:
        each = persons.means(each, used)
    if rows is not None:
        further = 0.0 if persons is None else persons.further(used, rows)
        each = np.concatenate([FIRST * each, FURTHER * further * each])
    whole = np.trunc(each * (MARGIN / unit))
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

    Whatever is returned by mistake that is not of this form, a row or a dual, say, does not
    leave where the records are.
    """
    if reply is None or type(reply) is int:
        return reply
    numbers = np.asarray(reply)
    if type(reply) not in (float, np.ndarray) or numbers.dtype not in (np.float64, np.int64):
        raise WorkerError("no sum, and it was about to leave the records.")
    if not (np.isfinite(numbers).all() and np.array_equal(numbers, np.trunc(numbers))):
        raise WorkerError("no whole number, and it was about to leave the records.")
    return reply
