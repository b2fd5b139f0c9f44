"""From cells to numbers, and from numbers to rows of features of length at most 1.

The schema says what a cell means, never the data. Whatever a cell holds, parsing goes on in
silence: a value outside the bounds is moved to them, one that is not listed is "other", one
that cannot be read is missing.
"""

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from dpscd.errors import SchemaError
from dpscd.preprocessing.column_features import (
    Bounds,
    Slot,
    column_names,
    column_slots,
    pair_slots,
    slots_count,
    width_of,
)
from dpscd.preprocessing.declarations import Column, Cross, Layout, Target
from dpscd.preprocessing.schema import Schema
from dpscd.records.cells import (
    Grouped,
    Listed,
    NumberCells,
    TruthCells,
    codes,
    numbers,
    places_of,
)
from dpscd.standard import Levels

_USUAL = (";", "\t", "|", ",")


@dataclass(eq=False, repr=False)
class Parsed:
    """The cells of the columns of a schema as numbers; a secret like the table itself."""

    # floats (NaN where missing), or codes: places in the list, OTHER or MISSING
    columns: dict[str, npt.NDArray[Any]]
    target: Any  # the same for the target
    count: int
    # number of each row's person, -1 if none; None if they were not asked for
    persons: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return self.count

    @classmethod
    def joined(cls, parts: "Sequence[Parsed]") -> "Parsed":
        """Return the records of all parts, in order, without their persons."""
        first = parts[0]
        columns = {
            name: np.concatenate([part.columns[name] for part in parts])
            for name in first.columns
        }
        target = first.target
        if target is not None:
            target = np.concatenate([part.target for part in parts])
        return cls(columns, target, sum(map(len, parts)))

    def taken(self, order: npt.NDArray[np.int64]) -> "Parsed":
        """Return the records of these rows, in this order, without their persons."""
        columns = {name: values[order] for name, values in self.columns.items()}
        target = None if self.target is None else self.target[order]
        return Parsed(columns, target, len(order))


def used_columns(schema: Schema, *, target: bool, person: bool = False) -> list[str]:
    """Return the names of the columns that are read."""
    names = [column.name for column in schema.features]
    names += [schema.target.name] if target else []
    names += [schema.target.exposure] if schema.target.exposure is not None else []
    return [*names, schema.person] if person and schema.person is not None else names


def other_delimiter(names: Sequence[str], delimiter: str) -> str | None:
    """Return what probably separates the cells of a table with one column, None if nothing."""
    if len(names) != 1:
        return None
    counts = {sign: names[0].count(sign) for sign in _USUAL if sign != delimiter}
    best = max(counts, key=lambda sign: counts[sign])
    return best if counts[best] else None


def check_columns(
    schema: Schema, names: Sequence[str], *, target: bool, person: bool = False
) -> None:
    """Raise SchemaError if a table with these names of columns lacks one or has it twice."""
    used = used_columns(schema, target=target, person=person)
    absent = [name for name in used if name not in set(names)]
    if absent:
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        other = other_delimiter(names, schema.layout.delimiter)
        why = (
            "is this the schema of another table, another delimiter, or is the line of names "
            "missing?"
            if other is None
            else f"all names are in one column: is delimiter = {json.dumps(other)} missing "
            "under [table]?"
        )
        raise SchemaError(
            f"the table has no column {', '.join(map(repr, absent[:3]))}{more}; {why}"
        )
    for name in used:
        if list(names).count(name) > 1:
            raise SchemaError(f"the table has two columns called {name!r}.")


def parse(schema: Schema, frame: pd.DataFrame, *, target: bool = True) -> Parsed:
    """Return the numbers of a table."""
    names = [str(name) for name in frame.columns]
    check_columns(schema, names, target=target)
    frame = frame.set_axis(names, axis=1)
    columns = {
        column.name: parse_column(column, frame[column.name], schema.layout)
        for column in schema.features
    }
    if (name := schema.target.exposure) is not None:
        columns[name] = parse_column(Column(name, "number"), frame[name], schema.layout)
    labels = None
    if target:
        labels = parse_column(schema.target, frame[schema.target.name], schema.layout)
    return Parsed(columns, labels, len(frame))


def parse_column(column: Column | Target, cells: pd.Series, layout: Layout) -> npt.NDArray[Any]:
    """Return the numbers or codes of one column.

    Guarantee: that of a record is a function of its own cell and of what is declared, whatever
    the other cells and the type of the column are.
    """
    if isinstance(column, Target):
        values, is_number = column.classes, not column.classes
    else:
        values, is_number = column.values, column.kind == "number"
    missing = (*layout.missing, *column.missing_values)
    if is_number:
        return numbers(cells, NumberCells(missing))
    if isinstance(column, Column) and column.kind == "boolean":
        return codes(cells, TruthCells(missing))
    group = json.dumps(column.group) if isinstance(column, Column) and column.group else ""
    return codes(cells, _listed(values, tuple(column.rename.items()), missing, group))


@functools.lru_cache(maxsize=256)  # records may come one by one
def _listed(
    values: tuple[str, ...],
    rename: tuple[tuple[str, str], ...],
    missing: tuple[str, ...],
    group: str,  # as JSON, which can be looked up
) -> Listed:
    places = places_of(values, dict(rename))
    return Grouped(places, missing, json.loads(group)) if group else Listed(places, missing)


# CSR must be so many times smaller than float32: byte for byte the dense kernel is faster.
_SPARSE_FACTOR = 8
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
    """Return the features of every record, float32, dense or CSR; not `short` for full columns.

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
