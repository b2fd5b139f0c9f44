"""Tables in files or in memory: names and count of records first, cells when asked for."""

import os
from collections.abc import Sequence
from typing import Any, Protocol

import pandas as pd

from dpscd.errors import DataError, DataTypeError, ParameterError
from dpscd.preprocessing.columns import as_column
from dpscd.preprocessing.containers import as_frame
from dpscd.preprocessing.parsing import Parsed, check_columns, parse
from dpscd.preprocessing.reading import TableFiles
from dpscd.preprocessing.schema import Schema
from dpscd.records.labels import label_column

__all__ = ["TableSource", "table_source"]


class TableSource(Protocol):
    """Records whose cells have not been read."""

    count: int

    def parsed(self) -> Parsed:
        """Return the numbers of all records."""


class _Read:
    """Records that were read before."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self.count = len(parsed)

    def parsed(self) -> Parsed:
        return self._parsed


class _Frame:
    """A table in memory."""

    def __init__(self, frame: pd.DataFrame, schema: Schema, *, target: bool) -> None:
        check_columns(schema, [str(name) for name in frame.columns], target=target)
        self._frame, self._schema, self._target = frame, schema, target
        self.count = len(frame)

    def parsed(self) -> Parsed:
        return parse(self._schema, self._frame, target=self._target)


def table_source(
    table: Any, schema: Schema, y: Any = None, *, target: bool = True
) -> TableSource:
    """Return the records of a table; no cell is looked at.

    Parameters
    ----------
    table : path, list of paths, DataFrame or Parsed
        The records.
    schema : Schema
        What the columns mean.
    y : array-like, optional
        The target, when the table does not have it.
    target : bool, default=True
        Whether the target is wanted.
    """
    if isinstance(table, Parsed):
        return _Read(table)
    if _is_path(table) or (isinstance(table, list) and table and all(map(_is_path, table))):
        if y is not None:
            raise ParameterError("y goes with a table in memory: files must have the target.")
        paths: Sequence[Any] = table if isinstance(table, list) else [table]
        return TableFiles(paths, schema, target=target)
    frame = as_frame(table)
    if not isinstance(frame, pd.DataFrame):
        raise DataTypeError("a schema goes with a table: give a path or a pandas DataFrame.")
    if y is not None:
        labels = as_column(label_column(y))
        if len(frame) != len(labels):
            raise DataError("the table and y have different numbers of records.")
        frame = frame.assign(**{schema.target.name: labels.set_axis(frame.index)})
    return _Frame(frame, schema, target=target)


def _is_path(table: Any) -> bool:
    return isinstance(table, str | os.PathLike)
