"""From cells to numbers: what a schema says a cell means, never what the data say.

Whatever a cell holds, parsing goes on in silence: a value outside the bounds is moved to
them, one that is not listed is "other", one that cannot be read is missing. An error would
tell that such a record is there.
"""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import ParameterError, SchemaError
from dpscd.preprocessing.cells import MISSING, OTHER, Listed, NumberCells, TruthCells
from dpscd.preprocessing.columns import codes, numbers
from dpscd.preprocessing.declarations import Column, Layout, Target
from dpscd.preprocessing.groups import Grouped
from dpscd.preprocessing.identifiers import Numbering
from dpscd.preprocessing.schema import Schema
from dpscd.preprocessing.separators import other_delimiter

__all__ = [
    "MISSING",
    "OTHER",
    "Parsed",
    "check_columns",
    "parse",
    "parse_column",
    "used_columns",
]


Group = tuple[()] | tuple[str, int | tuple[tuple[str, str], ...]]


class Parsed:
    """The cells of the columns of a schema as numbers; a secret like the table itself."""

    def __init__(
        self,
        # floats (NaN where missing), or codes: places in the list, OTHER or MISSING
        columns: dict[str, npt.NDArray[Any]],
        target: Any,  # the same for the target
        count: int,
        # number of each row's person, -1 if none; None if not asked for
        persons: npt.NDArray[np.int64] | None = None,
        numbering: object = None,  # the token of the Numbering, which is not an identifier
    ) -> None:
        self.columns = columns
        self.target = target
        self.count = count
        self.persons = persons
        self.numbering = numbering

    def __len__(self) -> int:
        return self.count

    @classmethod
    def joined(cls, parts: "Sequence[Parsed]") -> "Parsed":
        """Return the records of all parts, in order.

        Notes
        -----
        Requires: persons of all parts were numbered together, else one number would stand for
        two of them; it is refused if not.
        """
        first = parts[0]
        if any(part.numbering is not first.numbering for part in parts):
            raise ParameterError("the persons of these parts were not numbered together.")
        columns = {
            name: np.concatenate([part.columns[name] for part in parts])
            for name in first.columns
        }
        target = first.target
        if target is not None:
            target = np.concatenate([part.target for part in parts])
        persons = None if first.numbering is None else _all_persons(parts)
        return cls(columns, target, sum(map(len, parts)), persons, first.numbering)

    def taken(self, order: npt.NDArray[np.int64]) -> "Parsed":
        """Return the records of these rows, in this order, without their persons."""
        columns = {name: values[order] for name, values in self.columns.items()}
        target = None if self.target is None else self.target[order]
        return Parsed(columns, target, len(order))


def _all_persons(parts: Sequence[Parsed]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.asarray(part.persons, dtype=np.int64) for part in parts])


def used_columns(schema: Schema, *, target: bool, person: bool = False) -> list[str]:
    """Return the names of the columns that are read."""
    names = [column.name for column in schema.features]
    names += [schema.target.name] if target else []
    return [*names, schema.person] if person and schema.person is not None else names


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


def parse(
    schema: Schema,
    frame: pd.DataFrame,
    *,
    target: bool = True,
    person: bool | Numbering = False,
) -> Parsed:
    """Return the numbers of a table, or raise SchemaError if columns are missing or double.

    Columns that the schema ignores or does not name may be absent. Persons are returned if
    wanted and if the schema names their column; parts of a table that are joined must be given
    one :class:`Numbering`.
    """
    names = [str(name) for name in frame.columns]
    check_columns(schema, names, target=target, person=person is not False)
    frame = frame.set_axis(names, axis=1)
    columns = {
        column.name: parse_column(column, frame[column.name], schema.layout)
        for column in schema.features
    }
    labels = (
        parse_column(schema.target, frame[schema.target.name], schema.layout)
        if target
        else None
    )
    if person is False or schema.person is None:
        return Parsed(columns, labels, len(frame))
    numbering = Numbering(schema.layout.missing) if person is True else person
    codes = numbering.codes(frame[schema.person])
    return Parsed(columns, labels, len(frame), codes, numbering.token)


def parse_column(column: Column | Target, cells: pd.Series, layout: Layout) -> npt.NDArray[Any]:
    """Return the numbers or codes of one column.

    Notes
    -----
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
    group = _hashable(column.group) if isinstance(column, Column) else ()
    return codes(cells, _listed(values, tuple(column.rename.items()), missing, group))


@functools.lru_cache(maxsize=256)  # records may come one by one
def _listed(
    values: tuple[str, ...],
    rename: tuple[tuple[str, str], ...],
    missing: tuple[str, ...],
    group: Group,
) -> Listed:
    places = {value: place for place, value in enumerate(values)}
    every = places | {other: places[value] for other, value in rename}
    if not group:
        return Listed(every, missing)
    key, own = group
    return Grouped(every, missing, {key: own if isinstance(own, int) else dict(own)})


def _hashable(group: Mapping[str, Any]) -> Group:
    """Return a declared group as a key and its value, with which results are remembered."""
    for key, own in group.items():
        return key, own if isinstance(own, int) else tuple(own.items())
    return ()
