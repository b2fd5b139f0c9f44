"""The features of a pair of columns: products of what each of the two has."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.preprocessing.column_features import (
    Bounds,
    Slot,
    category_slot,
    column_names,
    column_width,
    hats,
    scaled_cells,
)
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.knots import between, intervals_of

__all__ = [
    "grows",
    "listed_knots",
    "pair_names",
    "pair_slots",
    "pair_slots_count",
    "pair_width",
    "side_width",
    "sides_of",
]

Floats = npt.NDArray[np.float64]
Slots = list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]

#: Intervals of a side of which nothing is declared, where epsilon and n are not known: the
#: features of two such sides are about as many as those of one column then has.
_INTERVALS = 4


def grows(column: Column) -> bool:
    """Return whether a side has the more features, the more intervals its pair has."""
    if column.kind == "number":
        return (column.bent or column.bins is not None) and not column.knots
    return column.kind == "ordinal" and len(column.values) > 2


def sides_of(pair: Cross) -> tuple[Column, Column]:
    """Return both columns as they are within the pair.

    A number has steps if it has them alone, else hats at its knots, and no feature that grows
    with it: hats add up to it. A plain line has two knots, the bounds, and is a line for each
    feature of the other side. Ordinals and booleans have hats at some or all of their values.
    """
    return _side(pair.first, pair.bins), _side(pair.second, pair.bins)


def _side(column: Column, bins: int | None) -> Column:
    wished = (bins or _INTERVALS) if grows(column) else 1
    if column.kind == "category":
        return column
    if column.kind != "number":
        return dataclasses.replace(column, bins=min(wished, _top(column)))
    if column.knots:
        return column
    steps = column.shape == "steps" or (column.bins is not None and column.shape is None)
    shape, least = ("steps", 2) if steps else ("smooth", 1)
    return dataclasses.replace(column, shape=shape, bins=max(wished, least))


def side_width(side: Column) -> int:
    """Return the number of features of one side of a pair, as :func:`sides_of` has it."""
    if side.kind == "category":
        return column_width(side)
    return intervals_of(side) + int(side.shape != "steps") + int(side.missing == "column")


def pair_width(pair: Cross) -> int:
    """Return the number of features of a pair."""
    first, second = sides_of(pair)
    return side_width(first) * side_width(second)


def pair_slots_count(pair: Cross) -> int:
    """Return how many features of a pair a record can have."""
    first, second = (
        1 + int(side.kind != "category" and side.shape != "steps") for side in sides_of(pair)
    )
    return first * second


def pair_slots(
    pair: Cross, first: npt.NDArray[Any], second: npt.NDArray[Any], bounds: Bounds
) -> list[Slot]:
    """Return the features of a pair that each record has, with their values, from parsed cells.

    Notes
    -----
    Guarantee: what a record has is a function of its own two cells. It is not negative, and
    adds up to at most 1, as it does on either side; so does the sum of its squares.
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
        return [category_slot(side, cells)]
    scaled, absent = scaled_cells(side, cells, bounds)
    signed = side.missing == "column"
    there = np.where(absent, 0.0, 1.0) if signed else np.ones(len(cells))
    found: Slots
    if side.kind == "number":
        found = [*hats(side, scaled, there, bounds)]
    else:
        knots = np.array(listed_knots(side)) * (2.0 / _top(side)) - 1.0
        place, along = between(scaled, knots)
        found = [(place, (1.0 - along) * there), (place + 1, along * there)]
    if signed:
        # A record without a value has no knot, so the sign may stand in the first one's slot.
        place, size = found[0]
        found[0] = (
            np.where(absent, side_width(side) - 1, place),
            np.where(absent, 1.0, size),
        )
    return found


def _top(column: Column) -> int:
    """Return the place of the last value of an ordinal or a boolean."""
    return max(len(column.values), 2) - 1


def listed_knots(side: Column) -> list[int]:
    """Return the places of those values of an ordinal or a boolean that are knots."""
    even = np.linspace(0.0, _top(side), intervals_of(side) + 1)
    return [int(place) for place in np.floor(even + 0.5)]


def pair_names(pair: Cross, bounds: Bounds) -> list[str]:
    """Return the names of a pair's features, those of the second column side by side."""
    first, second = (_side_names(side, bounds) for side in sides_of(pair))
    return [f"{a} x {b}" for a in first for b in second]


def _side_names(side: Column, bounds: Bounds) -> list[str]:
    if side.kind == "category":
        return column_names(side, bounds)
    if side.kind == "number":
        return column_names(side, bounds)[1:]
    values = side.values or ("false", "true")
    names = [f"{side.name}={values[place]}" for place in listed_knots(side)]
    return [*names, f"{side.name}=(missing)"] if side.missing == "column" else names
