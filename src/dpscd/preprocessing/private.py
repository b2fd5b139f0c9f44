"""Bounds of columns estimated with a part of the budget: two noisy histograms.

The first has cells whose limits are powers of two, on both sides of zero, which tells the
order of magnitude; the second divides what the first found into equal parts. Each record
adds 1/sqrt(k) to one cell of each of the k columns: a vector of length at most 1. A
bound is the outermost cell beyond which no more than a small part of the records, or than
noise would show, lies.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError, ParameterError
from dpscd.plan import BOUND_CELLS, Plan
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.sums import noisy_sum

__all__ = ["count_cells", "magnitude_limits", "release_bounds", "release_counted"]

Floats = npt.NDArray[np.float64]

# Limits of the first histogram: 0 and +-2^_LOWEST, ..., +-2^highest.
_SIDE = (BOUND_CELLS - 2) // 2
_LOWEST = -16
_OUTSIDE = 0.005  # part of the records that may lie beyond each bound
_STANDARD_ERRORS = 4.0  # a tail must be so many times its noise to be seen
_MARGIN = 1.0 - 2.0**-20  # as for the moments: more than rounding can lengthen


def release_bounds(
    plan: Plan, columns: Sequence[Floats], source: Source
) -> list[tuple[float, float]]:
    """Release a lower and an upper bound for each column of numbers.

    Parameters
    ----------
    plan : Plan
        With bounds_noise, for as many columns.
    columns : list of float arrays
        The values; NaN adds nothing. A secret.
    source : Source
        Randomness of this fit.

    Notes
    -----
    Guarantee: the release "bounds" of ``plan.releases()``.
    Proof: docs/proofs/bounds.md.
    """
    if not plan.bounds_noise or len(columns) != plan.bounded:
        raise ParameterError("the plan does not release bounds of these columns.")
    if max(len(values) for values in columns) > plan.capacity:
        raise DataError("there are far more records than the declared n.")
    return release_counted(plan, lambda limits: count_cells(columns, limits), source)


def release_counted(
    plan: Plan, count: Callable[[Sequence[Floats]], Floats], source: Source
) -> list[tuple[float, float]]:
    """Release bounds as :func:`release_bounds` does, of values that others count.

    Parameters
    ----------
    plan : Plan
        With bounds_noise.
    count : callable
        Given the limits of the cells of each column, returns the sum of :func:`count_cells`
        over all records, of which there are no more than ``plan.capacity``.
    source : Source
        Randomness of this fit.
    """
    magnitudes = magnitude_limits()
    rough = _release(plan, count, [magnitudes] * plan.bounded, source, time=0)
    coarse = [_found(plan, counts, magnitudes) for counts in rough]
    limits = [np.linspace(low, high, BOUND_CELLS + 1) for low, high in coarse]
    fine = _release(plan, count, limits, source, time=1)
    return [_found(plan, counts, own) for counts, own in zip(fine, limits, strict=True)]


def count_cells(columns: Sequence[Floats], limits: Sequence[Floats]) -> Floats:
    """Return how many values of each column lie in each cell; NaN in none: not yet noisy."""
    total = np.zeros((len(columns), BOUND_CELLS))
    for row, values, own in zip(total, columns, limits, strict=True):
        known = values[~np.isnan(values)]
        places = np.searchsorted(own, known, side="right") - 1
        places = np.clip(places, 0, BOUND_CELLS - 1)
        row += np.bincount(places, minlength=BOUND_CELLS)
    return total


def magnitude_limits() -> Floats:
    """Return the limits of the first histogram, the same for every column."""
    powers = 2.0 ** np.arange(_LOWEST, _LOWEST + _SIDE + 1)
    return np.concatenate([-powers[::-1], [0.0], powers])


def _release(
    plan: Plan,
    count: Callable[[Sequence[Floats]], Floats],
    limits: Sequence[Floats],
    source: Source,
    time: int,
) -> Floats:
    """Release how many values of each column lie in each cell, noisy."""
    cell = plan.cell_of(1.0)
    whole = math.floor(_MARGIN / math.sqrt(plan.bounded) / cell)
    total = count(limits) * float(whole)
    noisy = noisy_sum(plan.bounds_noise, cell, total.ravel(), source, Purpose.BOUNDS, time)
    return noisy.reshape(total.shape) * math.sqrt(plan.bounded)


def _found(plan: Plan, counts: Floats, limits: Floats) -> tuple[float, float]:
    """Return the limits between which, as far as noise lets see, nearly all values lie."""
    noise = plan.bounds_noise * math.sqrt(plan.bounded)
    low = _end(plan.n, counts, noise)
    high = BOUND_CELLS - _end(plan.n, counts[::-1], noise)
    if high <= low:  # nothing to be seen: all that the limits hold
        low, high = 0, BOUND_CELLS
    return float(limits[low]), float(limits[high])


def _end(n: int, counts: Floats, noise: float) -> int:
    """Return how many cells from the first on hold next to nothing."""
    tails = np.cumsum(counts)
    errors = noise * np.sqrt(np.arange(1, len(counts) + 1))
    seen = tails > np.maximum(_OUTSIDE * n, _STANDARD_ERRORS * errors)
    return int(np.argmax(seen)) if seen.any() else 0
