"""Tables in files or in memory: names and count of records first, cells when asked for.

Rows are made when the bounds of columns are known.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError, ParameterError
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.noise import check_capacity
from dpscd.privacy.random import Source
from dpscd.problem import Problem
from dpscd.records import refusals
from dpscd.records.columns import as_column
from dpscd.records.files import open_table
from dpscd.records.identifiers import Numbering, count_of, person_codes
from dpscd.records.labels import label_column
from dpscd.records.parsing import Parsed, check_columns, parse, used_columns
from dpscd.records.readers import TableReader
from dpscd.records.refusals import redact_errors
from dpscd.records.rows import Unread, table_of
from dpscd.releases.base import Observer
from dpscd.releases.query import Query, Residuals, sum_over
from dpscd.releases.training import Training
from dpscd.solvers.local import LocalRecords

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


def open_parsed(
    table: Any, schema: Schema, y: Any = None, *, target: bool = True, person: bool = False
) -> Unread:
    """Return the unread records of a table, whose `read` returns them as :class:`Parsed`.

    No cell is read, except for identifiers if `person`: then persons are counted.
    """
    person = person and schema.person is not None
    if isinstance(table, Parsed):
        if person and table.persons is None:
            raise ParameterError("these records were read without their persons.")
        return _unread(len(table), table.persons if person else None, lambda: table)
    paths = table if isinstance(table, list) else [table]
    if paths and all(isinstance(path, str | os.PathLike) for path in paths):
        if y is not None:
            raise ParameterError("y goes with a table in memory: files must have the target.")
        return redact_errors(lambda: _in_files(paths, schema, target=target, person=person))
    frame = table_of(table)
    if y is not None:
        labels = as_column(label_column(y))
        if len(frame) != len(labels):
            raise DataError("the table and y have different numbers of records.")
        frame = frame.assign(**{schema.target.name: labels.set_axis(frame.index)})
    return _in_memory(frame, schema, target=target, person=person)


def _unread(rows: int, codes: Codes | None, read: Callable[[], Parsed]) -> Unread:
    return Unread(rows if codes is None else count_of(codes), 0, read)


def _in_memory(frame: pd.DataFrame, schema: Schema, *, target: bool, person: bool) -> Unread:
    names = [str(name) for name in frame.columns]
    check_columns(schema, names, target=target, person=person)
    codes = None
    if person:
        own = frame.iloc[:, names.index(str(schema.person))]
        codes = person_codes(own, schema.layout.missing)

    def read() -> Parsed:
        found = parse(schema, frame, target=target)
        found.persons = codes
        return found

    return _unread(len(frame), codes, read)


def _in_files(
    paths: Sequence[str | os.PathLike[str]], schema: Schema, *, target: bool, person: bool
) -> Unread:
    files = [open_table(path, schema.layout) for path in paths]
    for file in files:
        check_columns(schema, file.names(), target=target, person=person)
    missing, name, codes = schema.layout.missing, str(schema.person), None
    if person:
        first = Numbering(missing)
        for file in files:
            for frame in file.frames([name]):
                first.add(frame[name])
        codes = first.codes()
    rows = sum(file.count() for file in files) if codes is None else len(codes)
    wanted = used_columns(schema, target=target, person=person)

    def read() -> Parsed:
        again, parts = Numbering(missing), []
        for file in files:
            for frame in file.frames(wanted):
                parts.append(parse(schema, frame, target=target))
                if person:
                    again.add(frame[name])
        found = Parsed.joined(parts)
        if codes is not None and not np.array_equal(codes, again.codes()):
            raise DataError(refusals.CHANGED)
        if not len(found):
            raise DataError(refusals.NO_RECORDS)
        if len(found) != rows:
            raise DataError(refusals.CHANGED)
        found.persons = codes
        return found

    return _unread(rows, codes, read)


class TableRecords:
    """Parsed records: a :class:`~dpscd.releases.query.RecordStore`.

    Rows are made at once where all bounds are declared, else when they were released; no error
    of this class says anything about a record either way.
    """

    def __init__(self, reader: TableReader, parsed: Parsed, threads: int) -> None:
        self._reader, self._parsed, self._threads = reader, parsed, threads
        self._engine = "numba"
        self.bounds: tuple[tuple[float, float], ...] = ()
        self.persons = redact_errors(lambda: reader.grouped(parsed)[1])
        self._rows = None if reader.schema.private else self._encoded()

    def _encoded(self) -> LocalRecords:
        triples = redact_errors(lambda: self._reader.records(self._parsed))
        return LocalRecords(*triples[:3], self._threads, triples.persons, self._engine)

    def on(self, engine: str) -> "TableRecords":
        """Return the same records, to be trained on by another engine."""
        self._engine = engine
        self._rows = self._rows and self._rows.on(engine)
        return self

    @property
    def rows(self) -> LocalRecords:
        """The records as training rows."""
        if self._rows is None:
            self._rows = self._encoded()
        return self._rows

    @property
    def X(self) -> Any:  # noqa: N802 - as everywhere
        """Rows, dense or CSR."""
        return self.rows.X

    @property
    def labels(self) -> Floats:
        """Labels in the user's units."""
        return self.rows.labels

    @property
    def weights(self) -> Floats:
        """Weight of each record."""
        return self.rows.weights

    @property
    def training_weights(self) -> Floats:
        """Weight of each row in training."""
        return self.rows.training_weights

    @property
    def dense(self) -> bool:
        """Whether rows are dense."""
        return not self._reader.sparse

    @property
    def columns(self) -> Sequence[Floats]:
        """Values of the columns whose bounds are not declared."""
        return redact_errors(lambda: self._reader.columns(self._parsed)[0])

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all records."""
        check_capacity(query.n, len(self._parsed) if not self.persons else self.persons.count)
        return sum_over(query, [self])

    def bound(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Read records with released bounds of columns from now on."""
        self.bounds = tuple(pairs)
        self._reader, self._rows = self._reader.with_bounds(pairs), None

    def train(
        self,
        problem: Problem,
        plan: Training,
        source: Source,
        residuals: Residuals | None,
        progress: Callable[[int], None] | None,
        observer: Observer | None,
    ) -> Floats:
        """Return the shared vector of a training, on labels or on a pilot's residuals."""
        return self.rows.train(problem, plan, source, residuals, progress, observer)
