"""Tables in files: CSV and Parquet, piece by piece, every cell as it is written.

Messages say what is wrong with the file, never what is in it.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.containers import as_frame
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.delimited import CHUNK, CsvFile, intact
from dpscd.preprocessing.identifiers import Numbering, count_of
from dpscd.preprocessing.parsing import Parsed, check_columns, parse, used_columns
from dpscd.preprocessing.schema import Schema

_PARQUET = (".parquet", ".pq")
_JSON = (".json", ".jsonl", ".ndjson")
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_NO_PARQUET = "Parquet files need pyarrow; install it with: pip install pyarrow"

T = TypeVar("T")


class TableFiles:
    """Files of one schema: names and count first, cells, but identifiers, when asked for."""

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        schema: Schema,
        *,
        target: bool = True,
        person: bool = False,
    ) -> None:
        self._schema = schema
        self._target = target
        self._files = [open_table(path, schema.layout) for path in paths]
        for file in self._files:
            check_columns(schema, file.names(), target=target, person=person)
        self._codes = None
        if person and schema.person is not None:
            self._codes = self._persons(schema.person)
            self.count = count_of(self._codes)
        else:
            self.count = sum(file.count() for file in self._files)

    def _persons(self, column: str) -> npt.NDArray[np.int64]:
        """Return the number of each row's person; of all cells only these are looked at."""
        numbering = Numbering(self._schema.layout.missing)
        frames = (frame for file in self._files for frame in file.frames([column], CHUNK))
        return np.concatenate([numbering.codes(frame[column]) for frame in frames])

    def parsed(self) -> Parsed:
        """Return the numbers of all records."""
        schema, target = self._schema, self._target
        person = Numbering(schema.layout.missing) if self._codes is not None else False
        wanted = used_columns(schema, target=target, person=person is not False)
        frames = (frame for file in self._files for frame in file.frames(wanted, CHUNK))
        found = Parsed.joined(
            [parse(schema, frame, target=target, person=person) for frame in frames]
        )
        counted = self._codes
        if counted is not None and not np.array_equal(counted, np.asarray(found.persons)):
            raise DataError(refusals.CHANGED)
        if not len(found):
            raise DataError(refusals.NO_RECORDS)
        return found


def open_table(path: str | os.PathLike[str], layout: Layout) -> "CsvFile | ParquetTable":
    """Return a file of records; nothing of it is read yet but what comes through a pipe."""
    if str(path) == "-":  # kept in memory
        return CsvFile(sys.stdin.buffer.read(), "standard input", layout)
    file = Path(path)
    kind = file.suffix.lower()
    if file.is_dir():
        raise DataError(f"{file.name} is a folder; give its files.")
    if not file.exists():
        raise DataError(f"there is no file {str(path)!r}.")
    if file.stat().st_size == 0:
        raise DataError(f"{file.name} is empty.")
    if kind in _SPREADSHEETS:
        raise DataError(f"{file.name} is a spreadsheet: save it as CSV in UTF-8.")
    if kind in _JSON:
        raise DataError(f"{file.name} is JSON: save it as CSV in UTF-8, or as Parquet.")
    return ParquetTable(file) if kind in _PARQUET else CsvFile(file, file.name, layout)


class ParquetTable:
    """A Parquet file, with the types that it has, which do not depend on what is missing."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def names(self) -> list[str]:
        """Return the names of the columns, as the file states them."""
        return self._asked(lambda table: list(table.schema_arrow.names))

    def kinds(self) -> list[str]:
        """Return the kinds of the columns by the types that the file declares."""
        return self._asked(lambda table: [_kind(own.type) for own in table.schema_arrow])

    def count(self) -> int:
        """Return the number of records, as the file states it."""
        return self._asked(lambda table: int(table.metadata.num_rows))

    def frames(
        self, wanted: Sequence[str] | None = None, chunk: int = CHUNK
    ) -> Iterator[pd.DataFrame]:
        """Return the records in pieces, in order; at least one, of `wanted` columns."""
        return self._intact(self._frames(wanted, chunk))

    def _frames(self, wanted: Sequence[str] | None, chunk: int) -> Iterator[pd.DataFrame]:
        with _parquet_file(self._file) as table:
            names = table.schema_arrow.names
            columns = [name for name in names if wanted is None or name in wanted]
            typed = {"types_mapper": pd.ArrowDtype}
            yield table.schema_arrow.empty_table().select(columns).to_pandas(**typed)
            for batch in table.iter_batches(batch_size=chunk, columns=columns):
                yield batch.to_pandas(**typed)

    def _asked(self, question: Callable[[Any], T]) -> T:
        def answers() -> Iterator[T]:
            with _parquet_file(self._file) as table:
                yield question(table)

        return next(self._intact(answers()))

    def _intact(self, found: Iterator[T]) -> Iterator[T]:
        return intact(found, _is_damage, refusals.NOT_PARQUET.format(self._file.name))


def _parquet_file(path: Path) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(_NO_PARQUET) from None
    return ParquetFile(path)


def _is_damage(error: Exception) -> bool:
    """Return whether an error is about what is in a file, not the system's about the file."""
    from pyarrow import ArrowException

    about_file = isinstance(error, ArrowException | OSError)
    return about_file and getattr(error, "errno", None) is None


def names_of(table: Any, layout: Layout) -> list[str]:
    """Return the names of a table's columns, which are public; none if it is not one."""
    paths = table if isinstance(table, list) else [table]
    if paths and all(isinstance(path, str | os.PathLike) for path in paths):
        return open_table(paths[0], layout).names()
    return [str(name) for name in getattr(as_frame(table), "columns", ())]


def _kind(declared: Any) -> str:
    from pyarrow import types

    if types.is_boolean(declared):
        return "boolean"
    if types.is_integer(declared):
        return "integer"
    if types.is_floating(declared) or types.is_decimal(declared):
        return "number"
    if types.is_temporal(declared):
        return "date"
    text = types.is_string(declared) or types.is_large_string(declared)
    return "category" if text or types.is_dictionary(declared) else ""
