"""Tables in files or in memory: names and count of records first, cells when asked for."""

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError, DataTypeError, ParameterError
from dpscd.preprocessing.columns import as_column
from dpscd.preprocessing.containers import as_frame
from dpscd.preprocessing.identifiers import count_of, person_codes
from dpscd.preprocessing.parsing import Parsed, check_columns, parse
from dpscd.preprocessing.reading import TableFiles
from dpscd.preprocessing.schema import Schema
from dpscd.records.labels import label_column
from dpscd.records.redaction import redact_errors

__all__ = ["TableSource", "table_source"]


class TableSource(Protocol):
    """Records with unread cells, except for identifiers where persons are counted."""

    count: int  # number of records, or of persons where these are wanted

    def parsed(self) -> Parsed:
        """Return the numbers of all records."""


class _Read:
    """Records that were read before."""

    def __init__(self, parsed: Parsed, *, person: bool) -> None:
        self._parsed = parsed
        self.count = len(parsed)
        if person:
            if parsed.persons is None:
                raise ParameterError("these records were read without their persons.")
            self.count = count_of(parsed.persons)

    def parsed(self) -> Parsed:
        return self._parsed


class _Frame:
    """A table in memory."""

    def __init__(
        self, frame: pd.DataFrame, schema: Schema, *, target: bool, person: bool
    ) -> None:
        names = [str(name) for name in frame.columns]
        check_columns(schema, names, target=target, person=person)
        self._frame, self._schema, self._target = frame, schema, target
        self._codes: npt.NDArray[np.int64] | None = None
        self.count = len(frame)
        if person and schema.person is not None:
            own = frame.iloc[:, names.index(schema.person)]
            self._codes = person_codes(own, schema.layout.missing)
            self.count = count_of(self._codes)

    def parsed(self) -> Parsed:
        found = parse(self._schema, self._frame, target=self._target)
        found.persons = self._codes
        return found


def table_source(
    table: Any,
    schema: Schema,
    y: Any = None,
    *,
    target: bool = True,
    person: bool = False,
) -> TableSource:
    """Return the records of a table; no cell is read, except for identifiers if `person`.

    `y` is the target, when the table does not have it; `target` says whether it is wanted. With
    `person`, and if the schema names their column, persons are counted first, and every record
    comes with the number of its person.
    """
    person = person and schema.person is not None
    if isinstance(table, Parsed):
        return _Read(table, person=person)
    if _is_path(table) or (isinstance(table, list) and table and all(map(_is_path, table))):
        if y is not None:
            raise ParameterError("y goes with a table in memory: files must have the target.")
        paths: Sequence[Any] = table if isinstance(table, list) else [table]
        return redact_errors(lambda: TableFiles(paths, schema, target=target, person=person))
    frame = as_frame(table)
    if not isinstance(frame, pd.DataFrame):
        raise DataTypeError("a schema goes with a table: give a path or a pandas DataFrame.")
    if y is not None:
        labels = as_column(label_column(y))
        if len(frame) != len(labels):
            raise DataError("the table and y have different numbers of records.")
        frame = frame.assign(**{schema.target.name: labels.set_axis(frame.index)})
    return _Frame(frame, schema, target=target, person=person)


def _is_path(table: Any) -> bool:
    return isinstance(table, str | os.PathLike)
