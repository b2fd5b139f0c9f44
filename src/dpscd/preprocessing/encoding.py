"""From numbers to rows of features, of length at most 1, by declared or released bounds."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.errors import SchemaError
from dpscd.preprocessing.declarations import PRIVATE, Column, default_missing
from dpscd.preprocessing.knots import between, intervals_of, scaled_knots
from dpscd.preprocessing.parsing import MISSING, OTHER, Parsed
from dpscd.preprocessing.schema import Schema

__all__ = [
    "Bounds",
    "encode",
    "feature_names",
    "is_sparse",
    "knots_of",
    "slots_of",
    "width_of",
]

Bounds = Mapping[str, tuple[float, float]]
"""Released bounds of the columns that have private ones, by name."""

Slot = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""For each record one feature of a column, and its value."""

_SPARSE_FACTOR = 8
"""CSR must be so many times smaller than float32: byte for byte the dense kernel is faster."""

_BLOCK = 65536  # records encoded at a time, so that temporaries stay small


def width_of(column: Column) -> int:
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


def is_sparse(schema: Schema) -> bool:
    """Return whether rows are better kept sparse: a public fact of the schema."""
    used = sum(slots_count(column) for column in schema.features)
    width = sum(width_of(column) for column in schema.features)
    return 4 * width >= _SPARSE_FACTOR * 8 * used


def feature_names(schema: Schema, bounds: Bounds | None = None) -> list[str]:
    """Return the name of every feature; bins are named by their limits."""
    return [name for column in schema.features for name in _names(column, dict(bounds or {}))]


def encode(
    schema: Schema,
    parsed: Parsed,
    bounds: Bounds | None = None,
    *,
    as_sparse: bool,
    short: bool = True,
) -> Any:
    """Return the features of every record, float32, dense or CSR.

    Parameters
    ----------
    schema : Schema
        What the columns mean.
    parsed : Parsed
        The records.
    bounds : dict, optional
        Released bounds of the columns whose bounds are private.
    as_sparse : bool
        Whether to return CSR.
    short : bool, default=True
        Whether rows are brought to a length of at most 1; without it every column is as
        large as it is.

    Notes
    -----
    A record's row is a function of that record, the schema and the bounds alone. Each column
    adds at most 1 to the squared length before scaling: a value and its missing sign
    exclude each other.
    """
    bounds = dict(bounds or {})
    columns = schema.features
    starts = np.cumsum([0, *(width_of(column) for column in columns)])
    count, width = len(parsed), int(starts[-1])
    unit = 1.0 / math.sqrt(len(columns)) if short else 1.0
    dense = None if as_sparse else np.zeros((count, width), dtype=np.float32)
    parts = []
    for first in range(0, count, _BLOCK):
        block = slice(first, min(first + _BLOCK, count))
        found = [
            (places + start, values)
            for column, start in zip(columns, starts, strict=False)
            for places, values in slots_of(column, parsed.columns[column.name][block], bounds)
        ]
        length = block.stop - block.start
        factor = np.full(length, unit, dtype=np.float32)
        if schema.rows == "normalise":
            squares = sum(values.astype(np.float64) ** 2 for _, values in found)
            factor = (1.0 / np.sqrt(np.maximum(squares, 1e-30))).astype(np.float32)
        if dense is None:
            parts.append(_csr(found, factor, width))
        else:
            own = np.arange(first, block.stop)
            for places, values in found:
                dense[own, places] += values * factor
    if dense is not None:
        return dense
    return (
        sparse.vstack(parts, format="csr")
        if parts
        else sparse.csr_array((0, width), dtype=np.float32)
    )


def slots_of(column: Column, cells: npt.NDArray[Any], bounds: Bounds) -> list[Slot]:
    """Return the features of a column that each record has, with their values."""
    if column.kind == "category":
        return [_category(column, cells)]
    scaled, absent = _scaled(column, cells, bounds)
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
    sign = np.full(len(cells), width_of(column) - 1, dtype=np.int32)
    return [(places, own.astype(np.float32)), (sign, absent.astype(np.float32))]


def _bent(
    column: Column,
    scaled: npt.NDArray[np.float64],
    absent: npt.NDArray[np.bool_],
    bounds: Bounds,
) -> list[Slot]:
    """Return the value itself and its interval, or the two knots around it."""
    place, along = between(scaled, scaled_knots(column, *declared_bounds(column, bounds)))
    # The value and its shape share the length that a column may have: each at most a half of
    # its square.
    there = np.full(len(scaled), math.sqrt(0.5))
    if column.missing == "column":
        there = np.where(absent, 0.0, there)
    first = np.zeros(len(scaled), dtype=np.intp)
    parts: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = [(first, scaled * there)]
    if column.shape == "steps":
        parts.append((place + 1, there))
    else:
        parts += [(place + 1, (1.0 - along) * there), (place + 2, along * there)]
    if column.missing == "column":
        parts.append((first + (width_of(column) - 1), absent.astype(np.float64)))
    return [(own.astype(np.int32), values.astype(np.float32)) for own, values in parts]


def _category(column: Column, codes: npt.NDArray[np.int32]) -> Slot:
    others = len(column.values)
    there = np.ones(len(codes), dtype=np.float32)
    if column.complete:
        codes = np.where(codes == OTHER, MISSING, codes)
    if column.missing == "column":
        stand_in = width_of(column) - 1
    elif column.missing != default_missing(column.kind, complete=column.complete):
        stand_in = column.values.index(str(column.missing))
    elif column.complete:
        stand_in, there = 0, (codes != MISSING).astype(np.float32)
    else:
        stand_in = others
    places = np.where(codes == MISSING, stand_in, np.where(codes == OTHER, others, codes))
    return places.astype(np.int32), there


def _scaled(
    column: Column, cells: npt.NDArray[Any], bounds: Bounds
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
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


def _csr(found: Sequence[Slot], factor: npt.NDArray[np.float32], width: int) -> Any:
    places = np.column_stack([slot[0] for slot in found])
    values = np.column_stack([slot[1] for slot in found]) * factor[:, None]
    starts = np.arange(len(factor) + 1, dtype=np.int64) * len(found)
    rows = sparse.csr_array(
        (values.ravel(), places.ravel(), starts), shape=(len(factor), width)
    )
    rows.eliminate_zeros()
    return rows


def _names(column: Column, bounds: dict[str, tuple[float, float]]) -> list[str]:
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


def _limits(column: Column, bounds: dict[str, tuple[float, float]]) -> list[str]:
    """Return what the intervals of a column are called: their limits, or places if unknown."""
    edges = knots_of(column, bounds)
    if edges is None:
        return [f"bin {place}" for place in range(1, intervals_of(column) + 1)]
    return [f"{a:.6g} to {b:.6g}" for a, b in pairwise(edges)]


def _knots(column: Column, bounds: dict[str, tuple[float, float]]) -> list[str]:
    """Return what the knots of a column are called: where they are, or places if unknown."""
    edges = knots_of(column, bounds)
    if edges is None:
        return [f"knot {place}" for place in range(1, intervals_of(column) + 2)]
    return [f"at {edge:.6g}" for edge in edges]


def knots_of(column: Column, bounds: Bounds) -> npt.NDArray[np.float64] | None:
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
