"""The features of columns and pairs: how many, what they are called, and those of a cell."""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import SchemaError
from dpscd.preprocessing.declarations import PRIVATE, QUARTERS, Column, Cross
from dpscd.records.cells import MISSING, OTHER

INTERVALS = 16  # of a shape of which nothing else is declared
#: Intervals that a shape, and a side of a pair, get from epsilon and n at most.
MOST_INTERVALS, MOST_IN_PAIRS = 32, 16
_SIDE_INTERVALS = 4  # of a side of a pair where neither bins nor epsilon and n are known
_MOST_DIGITS = 17  # of a number: all that it has
_FEWEST_ROUND = 3  # hats around a circle: two would be one hill and one valley, at fixed places

Bounds = Mapping[str, tuple[float, float]]
"""Released bounds of the columns that have private ones, by name."""

Slot = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""For each record one feature of a column, and its value."""

Floats = npt.NDArray[np.float64]
Slots = list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]


def width_of(column: Column | Cross) -> int:
    """Return the number of features of a column or a pair: a fact of the schema alone."""
    if isinstance(column, Cross):
        first, second = sides_of(column)
        return side_width(first) * side_width(second)
    extra = int(column.missing == "column")
    if column.kind == "category":
        return len(column.values) + (not column.complete) + extra
    if column.bent:
        return 1 + intervals_of(column) + int(column.shape == "smooth") + extra
    return (intervals_of(column) if column.bins or column.cyclic else 1) + extra


def slots_count(column: Column | Cross) -> int:
    """Return how many features of a column or a pair a record can have."""
    if isinstance(column, Cross):
        bent = [x.kind != "category" and x.shape != "steps" for x in sides_of(column)]
        return math.prod(1 + own for own in bent)
    signs = int(column.missing == "column" and column.kind != "category")
    used = 2 if column.cyclic else {"steps": 2, "smooth": 3}.get(str(column.shape), 1)
    return signs + used


def column_slots(column: Column, cells: npt.NDArray[Any], bounds: Bounds) -> list[Slot]:
    """Return the features of a column that each record has, with their values."""
    if column.kind == "category":
        return [_category_slot(column, cells)]
    scaled, absent = scaled_cells(column, cells, bounds)
    signed = column.missing == "column"
    # The value itself and its shape share the length that a column may have: each at most a
    # half of its square.
    silent = absent & (column.missing in ("column", "average"))
    there = np.where(silent, 0.0, math.sqrt(0.5) if column.bent else 1.0)
    first = np.zeros(len(cells), dtype=np.intp)
    found: Slots = [(first, scaled * there)]
    if column.bent:
        found += [(k + 1, values) for k, values in hats(column, scaled, there, bounds)]
    elif column.cyclic or (column.bins and column.integer):
        found = [*hats(column, scaled, there, bounds)]
    elif column.bins:
        inside = np.floor((scaled + 1.0) * (column.bins / 2.0))
        found = [(np.clip(inside, 0, column.bins - 1), there)]
    if signed:
        found.append((first + (width_of(column) - 1), absent))
    return [(place.astype(np.int32), values.astype(np.float32)) for place, values in found]


def hats(
    column: Column, scaled: Floats, there: Floats, bounds: Bounds
) -> list[tuple[npt.NDArray[np.intp], Floats]]:
    """Return the interval of each value, or the two knots around it, of size `there`."""
    if column.kind == "number":
        knots = scaled_knots(column, *declared_bounds(column, bounds))
    else:
        knots = np.array(_listed_knots(column)) * (2.0 / _top(column)) - 1.0
    place, along = _between(scaled, knots)
    if column.cyclic:
        return [(place, (1.0 - along) * there), ((place + 1) % (len(knots) - 1), along * there)]
    if column.shape == "steps" or (column.kind == "number" and column.shape is None):
        return [(place, there)]
    return [(place, (1.0 - along) * there), (place + 1, along * there)]


def _category_slot(column: Column, codes: npt.NDArray[np.int32]) -> Slot:
    """Return the level of each cell; of size 0 where it has none."""
    others = len(column.values)
    absent = codes == MISSING
    if column.complete:
        absent |= codes == OTHER
    there = np.ones(len(codes), dtype=np.float32)
    if column.missing == "column":
        stand_in = width_of(column) - 1
    elif column.missing != column.usual_missing:
        stand_in = column.values.index(str(column.missing))
    elif column.complete:
        stand_in, there = 0, (~absent).astype(np.float32)
    else:
        stand_in = others
    places = np.where(absent, stand_in, np.where(codes == OTHER, others, codes))
    return places.astype(np.int32), there


def scaled_cells(
    column: Column, cells: npt.NDArray[Any], bounds: Bounds
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return values between -1 and 1, missing ones filled in, and which those are."""
    if column.kind == "number":
        low, high = declared_bounds(column, bounds)
        absent = np.isnan(cells)
        stand_in = math.nan if isinstance(column.missing, str) else column.missing
        values = np.clip(np.where(absent, stand_in, cells), low, high)
        if column.transform:
            low, high, values = math.log1p(low), math.log1p(high), np.log1p(values)
        high += _step_round(column)
        scaled = np.clip(_scaled(values, low, high), -1.0, 1.0)
    else:
        top = 1 if column.kind == "boolean" else len(column.values) - 1
        absent = cells < 0
        stand_in = math.nan
        if column.missing in column.values:
            stand_in = float(column.values.index(str(column.missing)))
        scaled = np.where(absent, stand_in, cells) * (2.0 / top) - 1.0
    return np.where(np.isnan(scaled), 0.0, scaled), absent


def _scaled(values: Floats, low: float, high: float) -> Floats:
    # Halves, because the difference of large bounds may not be a finite number.
    half = high / 2.0 - low / 2.0
    return (values / 2.0 - low / 2.0) / half * 2.0 - 1.0


def declared_bounds(column: Column, bounds: Bounds) -> tuple[float, float]:
    """Return the bounds of a number: declared, or released."""
    if column.bounds == PRIVATE:
        if column.name not in bounds:
            raise SchemaError(
                f"column {column.name!r} has private bounds, which a fit with a budget "
                "estimates first: use TableModel, or declare bounds."
            )
        return bounds[column.name]
    low, high = cast(tuple[float, float], column.bounds)
    return low, high


def column_names(column: Column | Cross, bounds: Bounds) -> list[str]:
    """Return the names of a column's features, or of a pair's; bins are named by limits."""
    name = column.name
    if isinstance(column, Cross):  # those of the second column side by side
        first, second = (_side_names(side, bounds) for side in sides_of(column))
        return [f"{a} x {b}" for a in first for b in second]
    if column.kind == "category":
        others = () if column.complete else ("(other)",)
        names = [f"{name}={value}" for value in (*column.values, *others)]
    else:
        names = [] if column.cyclic or (column.bins and not column.bent) else [name]
        if column.bent or not names:
            names += [f"{name} {part}" for part in _shape_names(column, bounds)]
    return [*names, f"{name}=(missing)"] if column.missing == "column" else names


def _shape_names(column: Column, bounds: Bounds) -> list[str]:
    """Return what knots or intervals are called: where they are, or places if unknown."""
    edges, smooth = knots_of(column, bounds), column.shape == "smooth" or column.cyclic
    if edges is None:
        places = range(1, intervals_of(column) + 1 + smooth)
        return [f"knot {place}" if smooth else f"bin {place}" for place in places]
    if not smooth and column.integer:
        whole = written([x for pair in whole_steps(edges) for x in pair], 6)
        both = [(whole[a], whole[b]) for a, b in whole_steps(edges)]
        return [a if a == b else f"{a} to {b}" for a, b in both]
    texts = written(edges[: intervals_of(column) + (not column.cyclic)].tolist(), 6).values()
    return [f"at {x}" for x in texts] if smooth else [f"{a} to {b}" for a, b in pairwise(texts)]


def knots_of(column: Column, bounds: Bounds) -> Floats | None:
    """Return the knots in the column's own unit; None while its bounds are not known."""
    if column.private_bounds and column.name not in bounds:
        return None
    low, high = declared_bounds(column, bounds)
    if column.knots:
        return np.array([low, *column.knots, high])
    high += _step_round(column)
    count = intervals_of(column) + 1
    if column.transform:
        even = np.expm1(np.linspace(math.log1p(low), math.log1p(high), count))
    else:
        even = np.linspace(low, high, count)
    return _whole(column, even) if column.integer else even


def _step_round(column: Column) -> float:
    """Return how far above its upper bound a column comes back to the lower one."""
    return 1.0 if column.integer and column.cyclic else 0.0


def _whole(column: Column, even: Floats) -> Floats:
    """Return even knots moved to different whole numbers, or ends of steps between them."""
    last = len(even) - 1
    places = np.arange(last + 1)
    if column.shape == "smooth" or column.cyclic:
        apart = np.maximum.accumulate(np.floor(even + 0.5) - places)
        whole: Floats = np.minimum(apart, np.round(even[-1]) - last) + places
        return whole
    # The first whole number of each step but the first.
    apart = np.maximum.accumulate(np.floor(even) - places)[1:-1] + 1.0
    firsts = np.minimum(apart, np.round(even[-1]) - last + 1.0) + places[1:-1]
    return np.array([round(even[0]), *(firsts - 0.5), round(even[-1])])


def whole_steps(edges: Floats) -> list[tuple[float, float]]:
    """Return the first and the last whole number of each step of a column of integers."""
    return [(float(math.ceil(a)), float(math.floor(b))) for a, b in pairwise(edges)]


def intervals_of(column: Column) -> int:
    """Return the number of intervals of a column with bins or a shape."""
    if column.knots:
        return len(column.knots) + 1
    if column.cyclic and not column.bins:
        return min(QUARTERS if column.undecided else INTERVALS, _most_whole(column))
    return min(column.bins or INTERVALS, _most_whole(column))


def _most_whole(column: Column) -> int:
    """Return how many intervals a column of integers can have; of others any number."""
    if not column.integer:
        return sys.maxsize
    low, high = cast(tuple[float, float], column.bounds)
    return int(high - low) + int(column.cyclic or column.shape != "smooth")


def scaled_knots(column: Column, low: float, high: float) -> Floats:
    """Return the knots of a column, its bounds the first and the last, from -1 to 1.

    Guarantee: they follow from what is declared, and from declared or released bounds.
    """
    if not (column.knots or column.integer):
        return np.linspace(-1.0, 1.0, intervals_of(column) + 1)
    own = cast("Floats", knots_of(column, {column.name: (low, high)}))
    high += _step_round(column)
    if column.transform:
        own, low, high = np.log1p(own), math.log1p(low), math.log1p(high)
    scaled = _scaled(own, low, high)
    scaled[0], scaled[-1] = -1.0, 1.0
    return scaled


def written(
    values: Iterable[Any],
    digits: int,
    write: Callable[[float, int], str] = lambda value, digits: f"{value:.{digits}g}",
) -> dict[Any, str]:
    """Return values as text: numbers with as many digits as tell them apart, or with more."""
    found = {x: write(x, digits) if isinstance(x, float) else str(x) for x in values}
    while len(set(found.values())) < len(found) and digits < _MOST_DIGITS:
        digits += 1
        found = {x: write(x, digits) if isinstance(x, float) else str(x) for x in found}
    return found


def _between(scaled: Floats, knots: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the interval each value lies in, and how far along it, from 0 to 1.

    Requires: knots that grow.
    Guarantee: both are functions of the value itself, to the last bit: no interpolation of
    numpy's, which may compute slopes beforehand for many values.
    """
    place = np.searchsorted(knots, scaled, side="right") - 1
    place = np.clip(place, 0, len(knots) - 2)
    along = (scaled - knots[place]) / (knots[place + 1] - knots[place])
    return place, np.clip(along, 0.0, 1.0)


def grows(column: Column) -> bool:
    """Return whether a side has the more features, the more intervals its pair has."""
    if column.kind == "number":
        shaped = column.bent or column.cyclic or column.bins is not None
        return shaped and not column.knots
    return column.kind == "ordinal" and len(column.values) > 2


def sides_of(pair: Cross) -> tuple[Column, Column]:
    """Return both columns as they are within the pair."""
    return _side(pair.first, pair.bins), _side(pair.second, pair.bins)


def _side(column: Column, bins: int | None) -> Column:
    # A number has steps if it has them alone, else hats, which add up to it; a line has two
    # knots, the bounds. Ordinals and booleans have hats at some or all of their values.
    wished = (bins or _SIDE_INTERVALS) if grows(column) else 1
    if column.kind == "category":
        return column
    if column.kind != "number":
        return replace(column, bins=min(wished, _top(column)))
    if column.knots:
        return column
    if column.cyclic:
        return replace(column, shape="smooth", bins=max(wished, _FEWEST_ROUND))
    steps = column.shape == "steps" or (column.bins is not None and column.shape is None)
    shape, least = ("steps", 2) if steps else ("smooth", 1)
    return replace(column, shape=shape, bins=max(wished, least))


def side_width(side: Column) -> int:
    """Return the number of features of one side of a pair, as :func:`sides_of` has it."""
    if side.kind == "category":
        return width_of(side)
    ends = int(side.shape != "steps" and not side.cyclic)
    return intervals_of(side) + ends + int(side.missing == "column")


def pair_slots(
    pair: Cross, first: npt.NDArray[Any], second: npt.NDArray[Any], bounds: Bounds
) -> list[Slot]:
    """Return the features of a pair that each record has, with their values.

    Guarantee: what a record has is a function of its own two cells. It is not negative, and
    adds up to at most 1, and so do its squares.
    """
    left, right = sides_of(pair)
    width = side_width(right)
    return [
        ((a * width + b).astype(np.int32), (x * y).astype(np.float32))
        for a, x in _side_slots(left, first, bounds)
        for b, y in _side_slots(right, second, bounds)
    ]


def _side_slots(side: Column, cells: npt.NDArray[Any], bounds: Bounds) -> Slots:
    if side.kind == "category":
        return [_category_slot(side, cells)]
    scaled, absent = scaled_cells(side, cells, bounds)
    signed = side.missing == "column"
    there = np.where(absent & (signed or side.missing == "average"), 0.0, 1.0)
    found: Slots = [*hats(side, scaled, there, bounds)]
    if signed:
        # A record without a value has no knot, so the sign may stand in the first one's slot.
        place, size = found[0]
        found[0] = (np.where(absent, side_width(side) - 1, place), np.where(absent, 1.0, size))
    return found


def _top(column: Column) -> int:
    """Return the place of the last value of an ordinal or a boolean."""
    return max(len(column.values), 2) - 1


def _listed_knots(side: Column) -> list[int]:
    """Return the places of those values of an ordinal or a boolean that are knots."""
    even = np.linspace(0.0, _top(side), intervals_of(side) + 1)
    return [int(place) for place in np.floor(even + 0.5)]


def _side_names(side: Column, bounds: Bounds) -> list[str]:
    if side.kind in ("category", "number"):
        line = side.kind == "number" and not side.cyclic
        return column_names(side, bounds)[int(line) :]
    values = side.values or ("false", "true")
    names = [f"{side.name}={values[place]}" for place in _listed_knots(side)]
    return [*names, f"{side.name}=(missing)"] if side.missing == "column" else names
