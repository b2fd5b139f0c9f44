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
    column_width,
    slots_count,
)
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.pair_features import (
    pair_names,
    pair_slots,
    pair_slots_count,
    pair_width,
)
from dpscd.preprocessing.parsing import Parsed
from dpscd.preprocessing.schema import Schema

__all__ = ["encode", "feature_names", "is_sparse", "unit_of", "width_of"]

_SPARSE_FACTOR = 8
"""CSR must be so many times smaller than float32: byte for byte the dense kernel is faster."""

_BLOCK = 65536  # records encoded at a time, so that temporaries stay small


def width_of(part: Column | Cross) -> int:
    """Return the number of features of a column or a pair: a fact of the schema alone."""
    return pair_width(part) if isinstance(part, Cross) else column_width(part)


def unit_of(schema: Schema) -> float:
    """Return by what columns and pairs are multiplied, so that a row's length is at most 1."""
    return 1.0 / math.sqrt(len(schema.parts))


def is_sparse(schema: Schema) -> bool:
    """Return whether rows are better kept sparse: a public fact of the schema."""
    used = sum(
        pair_slots_count(part) if isinstance(part, Cross) else slots_count(part)
        for part in schema.parts
    )
    width = sum(width_of(part) for part in schema.parts)
    return 4 * width >= _SPARSE_FACTOR * 8 * used


def feature_names(schema: Schema, bounds: Bounds | None = None) -> list[str]:
    """Return the name of every feature; bins are named by their limits."""
    own = dict(bounds or {})
    return [
        name
        for part in schema.parts
        for name in (
            pair_names(part, own) if isinstance(part, Cross) else column_names(part, own)
        )
    ]


def encode(
    schema: Schema,
    parsed: Parsed,
    bounds: Bounds | None = None,
    *,
    as_sparse: bool,
    short: bool = True,
) -> Any:
    """Return the features of every record, float32, dense or CSR.

    `bounds` are those released, of the columns whose bounds are private. With `short` rows are
    brought to a length of at most 1; without it every column is as large as it is.

    Notes
    -----
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
    parts = []
    for first in range(0, count, _BLOCK):
        block = slice(first, min(first + _BLOCK, count))
        found = [
            (places + start, values)
            for part, start in zip(schema.parts, starts, strict=False)
            for places, values in _slots(part, parsed, block, bounds)
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
