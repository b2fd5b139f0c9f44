"""From cells to numbers: what a schema says a cell means, never what the data say.

Whatever a cell holds, parsing goes on in silence: a value outside the bounds is moved to
them, one that is not listed is "other", one that cannot be read is missing.
"""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import SchemaError
from dpscd.preprocessing.declarations import Column, Layout, Target
from dpscd.preprocessing.schema import Schema
from dpscd.records.cells import (
    Grouped,
    Listed,
    NumberCells,
    TruthCells,
    places_of,
)
from dpscd.records.columns import codes, numbers

Group = tuple[tuple[str, int | tuple[tuple[str, str], ...]], ...]  # hashable

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
    """Return what probably separates the cells of a table with one column, None if nothing.

    Guarantee: a function of the names of the columns and of `delimiter`, which are public.
    """
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

    Guarantee: the number or code of a record is a function of its own cell, of `column` and of
    `layout`, whatever the other cells and the type of the column are.
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
    own = column.group if isinstance(column, Column) else {}
    group = tuple((k, v if isinstance(v, int) else tuple(v.items())) for k, v in own.items())
    return codes(cells, _listed(values, tuple(column.rename.items()), missing, group))


@functools.lru_cache(maxsize=256)  # records may come one by one
def _listed(
    values: tuple[str, ...],
    rename: tuple[tuple[str, str], ...],
    missing: tuple[str, ...],
    group: Group,
) -> Listed:
    places = places_of(values, dict(rename))
    if not group:
        return Listed(places, missing)
    plain = {k: v if isinstance(v, int) else dict(v) for k, v in group}
    return Grouped(places, missing, plain)
