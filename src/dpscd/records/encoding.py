"""From numbers to rows of features, of length at most 1, by declared or released bounds."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.preprocessing.column_features import (
    Bounds,
    Slot,
    column_names,
    column_slots,
    pair_slots,
    slots_count,
    width_of,
)
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.schema import Schema
from dpscd.records.parsing import Parsed
from dpscd.standard import Levels

_SPARSE_FACTOR = 8
"""CSR must be so many times smaller than float32: byte for byte the dense kernel is faster."""

_BLOCK = 65536  # records encoded at a time, so that temporaries stay small


def unit_of(schema: Schema) -> float:
    """Return by what columns and pairs are multiplied, so that a row's length is at most 1."""
    return 1.0 / math.sqrt(len(schema.parts))


def is_sparse(schema: Schema) -> bool:
    """Return whether rows are better kept sparse: a public fact of the schema."""
    used = sum(slots_count(part) for part in schema.parts)
    width = sum(width_of(part) for part in schema.parts)
    return 4 * width >= _SPARSE_FACTOR * 8 * used


def feature_names(schema: Schema, bounds: Bounds | None = None) -> list[str]:
    """Return the name of every feature; bins are named by their limits."""
    return [name for part in schema.parts for name in column_names(part, bounds or {})]


def levels_of(schema: Schema) -> Levels | None:
    """Return which features are levels of categories or pairs, or signs of missing values."""
    if schema.rows != "scale":
        return None  # their value depends on the rest of the record
    unit = unit_of(schema)
    found = []
    for part in schema.parts:
        # A record has one such feature or none, always of the same size.
        columns = (part,) if isinstance(part, Column) else (part.first, part.second)
        listed = all(column.kind == "category" for column in columns)
        own = np.full(width_of(part), unit if listed else 0.0)
        if isinstance(part, Column) and part.missing == "column":
            own[-1] = unit
        found.append(own)
    owners = np.repeat(np.arange(len(found)), [len(own) for own in found])
    return Levels(np.concatenate(found), owners)


def schema_facts(schema: Schema) -> dict[str, Any]:
    """Return a schema with what follows from it, as fields of `Facts`."""
    return {
        "schema": schema,
        "levels": levels_of(schema),
        "private": tuple(column.name for column in schema.private),
        "target": schema.target.name,
    }


def encode(
    schema: Schema,
    parsed: Parsed,
    bounds: Bounds | None = None,
    *,
    as_sparse: bool,
    short: bool = True,
) -> Any:
    """Return the features of every record, float32, dense or CSR.

    `bounds` are those released; if not `short`, every column is as large as it is.

    Guarantee: a record's row is a function of that record, the schema and the bounds alone.
    Each column adds at most 1 to the squared length before scaling: a value and its missing
    sign exclude each other. So does each pair: its features are products of numbers that are
    not negative and add up to at most 1 on either side.
    """
    bounds = dict(bounds or {})
    starts = np.cumsum([0, *(width_of(part) for part in schema.parts)])
    count, width = len(parsed), int(starts[-1])
    unit = unit_of(schema) if short else 1.0
    dense = None if as_sparse else np.zeros((count, width), dtype=np.float32)
    pieces = []
    for first in range(0, max(count, 1), _BLOCK):
        block = slice(first, min(first + _BLOCK, count))
        found = [
            (places + start, values)
            for part, start in zip(schema.parts, starts, strict=False)
            for places, values in _slots(part, parsed, block, bounds)
        ]
        factor = np.full(block.stop - first, unit, dtype=np.float32)
        if schema.rows == "normalise":
            squares = sum(values.astype(np.float64) ** 2 for _, values in found)
            factor = (1.0 / np.sqrt(np.maximum(squares, 1e-30))).astype(np.float32)
        if dense is None:
            pieces.append(_csr(found, factor, width))
        else:
            own = np.arange(first, block.stop)
            for places, values in found:
                dense[own, places] += values * factor
    return sparse.vstack(pieces, format="csr") if dense is None else dense


def _slots(part: Column | Cross, parsed: Parsed, block: slice, bounds: Bounds) -> list[Slot]:
    """Return the features of a column or a pair that each record of a block has."""
    if isinstance(part, Column):
        return column_slots(part, parsed.columns[part.name][block], bounds)
    first, second = (parsed.columns[x.name][block] for x in (part.first, part.second))
    return pair_slots(part, first, second, bounds)


def _csr(found: Sequence[Slot], factor: npt.NDArray[np.float32], width: int) -> Any:
    places = np.column_stack([slot[0] for slot in found])
    values = np.column_stack([slot[1] for slot in found]) * factor[:, None]
    starts = np.arange(len(factor) + 1, dtype=np.int64) * len(found)
    rows = sparse.csr_array(
        (values.ravel(), places.ravel(), starts), shape=(len(factor), width)
    )
    rows.eliminate_zeros()
    return rows
