"""Bounds of columns estimated with a part of the budget: two noisy histograms.

The first has bins limited by powers of two and gives the order of magnitude; the second divides
the range found by the first into equal parts. A bound is the outermost bin beyond which lies no
more than a small part of the records, or than noise would show.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.kernels.rows import MARGIN
from dpscd.privacy.cost import BOUND_CELLS
from dpscd.privacy.random import Purpose
from dpscd.problem import Floats
from dpscd.releases.base import Query, SomeRecords, State, SumRelease

# Limits of the first histogram: 0 and +-2^_LOWEST, ..., +-2^highest.
_SIDE = (BOUND_CELLS - 2) // 2
_LOWEST = -16
_OUTSIDE = 0.005  # part of the records that may lie beyond each bound
_STANDARD_ERRORS = 4.0  # a tail must be so many times its noise to be seen


@dataclass(frozen=True)
class HistogramQuery(Query):
    """Counts of each column's values per bin, each value counting 1/sqrt(columns)."""

    # The rows of a person share the count of one value.

    reads_columns: ClassVar[bool] = True

    limits: tuple[Floats, ...]  # limits of the bins of each column

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.limits), BOUND_CELLS)

    def total(self, records: SomeRecords) -> Floats:
        """Return the exact counts, in steps of the lattice."""
        columns = records.columns
        if len(columns) != len(self.limits):
            raise ParameterError("the plan does not release bounds of these columns.")
        whole = float(math.floor(MARGIN / math.sqrt(len(columns)) / self.step))
        if records.persons is None:
            return bin_counts(columns, self.limits) * whole
        return person_bins(columns, self.limits, records.persons.starts, whole)


@dataclass(frozen=True)
class Bounds(SumRelease):
    """The release "bounds". Proof: docs/proofs/bounds.md."""

    what: ClassVar[str] = "bounds"
    words: ClassVar[str] = "counts of values, from which bounds of columns are estimated"
    proof: ClassVar[str] = "bounds"
    purpose: ClassVar[Purpose] = Purpose.BOUNDS
    at: ClassVar[range] = range(2)

    @property
    def size(self) -> int:
        return BOUND_CELLS * self.columns

    @property
    def columns(self) -> int:
        """Columns whose bounds are released."""
        return self.facts.bounded

    def query(self, state: State) -> HistogramQuery:
        return HistogramQuery(self.n, self._limits(state))

    def learn(self, state: State, answer: Floats) -> State:
        """Take the outermost limits that are seen, twice, and the problem with them."""
        counts = answer * math.sqrt(self.columns)
        pairs = zip(counts, self._limits(state), strict=True)
        bounds = tuple(self._found(*each) for each in pairs)
        problem = self.facts.problem(state.problem.lam, bounds)
        return replace(state, declared=problem, problem=problem, bounds=bounds)

    def _limits(self, state: State) -> tuple[Floats, ...]:
        if not state.bounds:
            return (magnitude_limits(),) * self.columns
        return tuple(np.linspace(*pair, BOUND_CELLS + 1) for pair in state.bounds)

    def _found(self, counts: Floats, limits: Floats) -> tuple[float, float]:
        """Return limits that hold nearly all values, as far as the noise shows."""
        noise = self.noise_multiplier * math.sqrt(self.columns)
        low = _end(self.n, counts, noise)
        high = BOUND_CELLS - _end(self.n, counts[::-1], noise)
        if high <= low:  # nothing to be seen: all that the limits hold
            low, high = 0, BOUND_CELLS
        return float(limits[low]), float(limits[high])


def bin_counts(columns: Sequence[Floats], limits: Sequence[Floats]) -> Floats:
    """Return the counts of each column's values per bin, NaN in none: not yet noisy."""
    total = np.zeros((len(columns), BOUND_CELLS))
    for row, values, own in zip(total, columns, limits, strict=True):
        places = _bins_of(values[~np.isnan(values)], own)
        row += np.bincount(places, minlength=BOUND_CELLS)
    return total


def person_bins(
    columns: Sequence[Floats], limits: Sequence[Floats], starts: Any, whole: float
) -> Floats:
    """Return the sum over persons of the parts of their values in each bin: not yet noisy."""
    # A person's rows begin at `starts` and count `whole` together; a part is cut toward zero.
    sizes = np.diff(starts)
    person = np.repeat(np.arange(len(sizes)), sizes)
    total = np.zeros((len(columns), BOUND_CELLS))
    for row, values, own in zip(total, columns, limits, strict=True):
        known = ~np.isnan(values)
        cells = person[known] * BOUND_CELLS + _bins_of(values[known], own)
        found, counts = np.unique(cells, return_counts=True)
        parts = np.trunc(whole * (counts / sizes[found // BOUND_CELLS]))
        row += np.bincount(found % BOUND_CELLS, weights=parts, minlength=BOUND_CELLS)
    return total


def _bins_of(values: Floats, limits: Floats) -> npt.NDArray[np.intp]:
    """Return the bin of each value; the outermost bins hold the values beyond."""
    places = np.searchsorted(limits, values, side="right") - 1
    return np.clip(places, 0, BOUND_CELLS - 1)


def magnitude_limits() -> Floats:
    """Return the limits of the first histogram, the same for every column."""
    powers = 2.0 ** np.arange(_LOWEST, _LOWEST + _SIDE + 1)
    return np.concatenate([-powers[::-1], [0.0], powers])


def _end(n: int, counts: Floats, noise: float) -> int:
    """Return how many bins, from the first, hold next to nothing."""
    tails = np.cumsum(counts)
    errors = noise * np.sqrt(np.arange(1, len(counts) + 1))
    seen = tails > np.maximum(_OUTSIDE * n, _STANDARD_ERRORS * errors)
    return int(np.argmax(seen)) if seen.any() else 0
