"""Shapes of numeric columns: hats and steps between knots, which bounds alone determine."""

import math
from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dpscd.preprocessing.declarations import Column

__all__ = [
    "INTERVALS",
    "MOST_INTERVALS",
    "MOST_IN_PAIRS",
    "between",
    "intervals_of",
    "scaled_knots",
    "told_apart",
    "written",
]

Floats = npt.NDArray[np.float64]

#: Intervals of a shape of which nothing else is declared.
INTERVALS = 16
_MOST_DIGITS = 17  # of a number: all that it has
#: Intervals that a shape, and a side of a pair, get from epsilon and n at most.
MOST_INTERVALS, MOST_IN_PAIRS = 32, 16


def _plain(value: float, digits: int) -> str:
    return f"{value:.{digits}g}"


def intervals_of(column: Column) -> int:
    """Return the number of intervals of a column with bins or a shape."""
    return len(column.knots) + 1 if column.knots else column.bins or INTERVALS


def scaled_knots(column: Column, low: float, high: float) -> Floats:
    """Return the knots of a column, its bounds the first and the last, from -1 to 1.

    Notes
    -----
    Guarantee: they follow from what is declared, and from bounds that are declared or
    released; never from a record.
    """
    if not column.knots:
        return np.linspace(-1.0, 1.0, intervals_of(column) + 1)
    own = np.array([low, *column.knots, high])
    if column.transform:
        own, low, high = np.log1p(own), math.log1p(low), math.log1p(high)
    half = high / 2.0 - low / 2.0
    scaled: Floats = (own / 2.0 - low / 2.0) / half * 2.0 - 1.0
    scaled[0], scaled[-1] = -1.0, 1.0
    return scaled


def told_apart(column: Column) -> bool:
    """Return whether declared knots still grow when they are scaled."""
    low, high = cast("tuple[float, float]", column.bounds)
    return bool((np.diff(scaled_knots(column, low, high)) > 0.0).all())


def written(
    values: Iterable[Any], digits: int, write: Callable[[float, int], str] = _plain
) -> dict[Any, str]:
    """Return values as text: numbers with as many digits as tell them apart, or with more."""
    found = {x: write(x, digits) if isinstance(x, float) else str(x) for x in values}
    while len(set(found.values())) < len(found) and digits < _MOST_DIGITS:
        digits += 1
        found = {x: write(x, digits) if isinstance(x, float) else str(x) for x in found}
    return found


def between(scaled: Floats, knots: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the interval each value lies in, and how far along it, from 0 to 1.

    Notes
    -----
    Requires: knots that grow, as a schema's do.
    Guarantee: both are functions of the value itself, to the last bit, whatever stands beside
    it: no interpolation of numpy's, which may compute slopes beforehand for many values.
    """
    place = np.searchsorted(knots, scaled, side="right") - 1
    place = np.clip(place, 0, len(knots) - 2)
    along = (scaled - knots[place]) / (knots[place + 1] - knots[place])
    return place, np.clip(along, 0.0, 1.0)
