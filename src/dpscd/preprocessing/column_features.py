"""The features of one column: how many, what they are called, and those of a cell."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import SchemaError
from dpscd.preprocessing.cells import MISSING, OTHER
from dpscd.preprocessing.declarations import PRIVATE, Column, default_missing
from dpscd.preprocessing.knots import between, intervals_of, scaled_knots, written

__all__ = [
    "Bounds",
    "Slot",
    "category_slot",
    "column_names",
    "column_slots",
    "column_width",
    "declared_bounds",
    "hats",
    "knots_of",
    "scaled_cells",
    "slots_count",
]

Bounds = Mapping[str, tuple[float, float]]
"""Released bounds of the columns that have private ones, by name."""

Slot = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""For each record one feature of a column, and its value."""

Floats = npt.NDArray[np.float64]


def column_width(column: Column) -> int:
    """Return the number of features of a column, which depends on the schema alone."""
    extra = int(column.missing == "column")
    if column.kind == "category":
        return len(column.values) + (not column.complete) + extra
    if column.bent:
        return 1 + intervals_of(column) + int(column.shape == "smooth") + extra
    return (column.bins or 1) + extra


def slots_count(column: Column) -> int:
    """Return how many features of a column a record can have."""
    signs = int(column.missing == "column" and column.kind != "category")
    return signs + {"steps": 2, "smooth": 3}.get(str(column.shape), 1)


def column_slots(column: Column, cells: npt.NDArray[Any], bounds: Bounds) -> list[Slot]:
    """Return the features of a column that each record has, with their values."""
    if column.kind == "category":
        return [category_slot(column, cells)]
    scaled, absent = scaled_cells(column, cells, bounds)
    if column.bent:
        return _bent(column, scaled, absent, bounds)
    places = np.zeros(len(cells), dtype=np.int32)
    if column.bins:
        inside = np.floor((scaled + 1.0) * (column.bins / 2.0))
        places = np.clip(inside, 0, column.bins - 1).astype(np.int32)
        scaled = np.ones(len(cells))
    if column.missing != "column":
        return [(places, scaled.astype(np.float32))]
    own = np.where(absent, 0.0, scaled)
    sign = np.full(len(cells), column_width(column) - 1, dtype=np.int32)
    return [(places, own.astype(np.float32)), (sign, absent.astype(np.float32))]


def _bent(
    column: Column,
    scaled: Floats,
    absent: npt.NDArray[np.bool_],
    bounds: Bounds,
) -> list[Slot]:
    """Return the value itself and its interval, or the two knots around it."""
    # The value and its shape share the length that a column may have: each at most a half of
    # its square.
    there = np.full(len(scaled), math.sqrt(0.5))
    if column.missing == "column":
        there = np.where(absent, 0.0, there)
    first = np.zeros(len(scaled), dtype=np.intp)
    parts: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = [(first, scaled * there)]
    parts += [(place + 1, values) for place, values in hats(column, scaled, there, bounds)]
    if column.missing == "column":
        parts.append((first + (column_width(column) - 1), absent.astype(np.float64)))
    return [(own.astype(np.int32), values.astype(np.float32)) for own, values in parts]


def hats(
    column: Column, scaled: Floats, there: Floats, bounds: Bounds
) -> list[tuple[npt.NDArray[np.intp], Floats]]:
    """Return the interval of each value, or the two knots around it, of size `there`."""
    place, along = between(scaled, scaled_knots(column, *declared_bounds(column, bounds)))
    if column.shape == "steps":
        return [(place, there)]
    return [(place, (1.0 - along) * there), (place + 1, along * there)]


def category_slot(column: Column, codes: npt.NDArray[np.int32]) -> Slot:
    """Return the level of each cell; of size 0 where it has none."""
    others = len(column.values)
    there = np.ones(len(codes), dtype=np.float32)
    if column.complete:
        codes = np.where(codes == OTHER, MISSING, codes)
    if column.missing == "column":
        stand_in = column_width(column) - 1
    elif column.missing != default_missing(column.kind, complete=column.complete):
        stand_in = column.values.index(str(column.missing))
    elif column.complete:
        stand_in, there = 0, (codes != MISSING).astype(np.float32)
    else:
        stand_in = others
    places = np.where(codes == MISSING, stand_in, np.where(codes == OTHER, others, codes))
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
        # Halves, because the difference of large bounds may not be a finite number.
        half = high / 2.0 - low / 2.0
        scaled = (values / 2.0 - low / 2.0) / half * 2.0 - 1.0
        scaled = np.clip(scaled, -1.0, 1.0)
    else:
        top = 1 if column.kind == "boolean" else len(column.values) - 1
        absent = cells < 0
        stand_in = math.nan
        if column.missing in column.values:
            stand_in = float(column.values.index(str(column.missing)))
        scaled = np.where(absent, stand_in, cells) * (2.0 / top) - 1.0
    return np.where(np.isnan(scaled), 0.0, scaled), absent


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


def column_names(column: Column, bounds: Bounds) -> list[str]:
    """Return the names of a column's features; bins are named by their limits."""
    name = column.name
    if column.kind == "category":
        others = () if column.complete else ("(other)",)
        names = [f"{name}={value}" for value in (*column.values, *others)]
    elif column.bent:
        parts = _limits(column, bounds) if column.shape == "steps" else _knots(column, bounds)
        names = [name, *(f"{name} {part}" for part in parts)]
    elif column.bins:
        names = [f"{name} {part}" for part in _limits(column, bounds)]
    else:
        names = [name]
    return [*names, f"{name}=(missing)"] if column.missing == "column" else names


def _limits(column: Column, bounds: Bounds) -> list[str]:
    """Return what the intervals of a column are called: their limits, or places if unknown."""
    edges = knots_of(column, bounds)
    if edges is None:
        return [f"bin {place}" for place in range(1, intervals_of(column) + 1)]
    return [f"{a} to {b}" for a, b in pairwise(written(edges.tolist(), 6).values())]


def _knots(column: Column, bounds: Bounds) -> list[str]:
    """Return what the knots of a column are called: where they are, or places if unknown."""
    edges = knots_of(column, bounds)
    if edges is None:
        return [f"knot {place}" for place in range(1, intervals_of(column) + 2)]
    return [f"at {edge}" for edge in written(edges.tolist(), 6).values()]


def knots_of(column: Column, bounds: Bounds) -> Floats | None:
    """Return the knots in the column's own unit; None while its bounds are not known."""
    if column.private_bounds and column.name not in bounds:
        return None
    low, high = declared_bounds(column, bounds)
    if column.knots:
        return np.array([low, *column.knots, high])
    count = intervals_of(column) + 1
    if column.transform:
        return np.expm1(np.linspace(math.log1p(low), math.log1p(high), count))
    return np.linspace(low, high, count)
