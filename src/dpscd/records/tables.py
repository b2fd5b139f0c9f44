"""Tables in files or in memory: names and count of records first, cells when asked for.

Rows are made when the bounds of columns are known.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError, DataTypeError, ParameterError
from dpscd.preprocessing.columns import as_column
from dpscd.preprocessing.containers import as_frame
from dpscd.preprocessing.identifiers import count_of, person_codes
from dpscd.preprocessing.parsing import Parsed, check_columns, parse
from dpscd.preprocessing.reading import TableFiles
from dpscd.preprocessing.refusals import redact_errors
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.noise import check_capacity
from dpscd.privacy.random import Source
from dpscd.problem import Problem
from dpscd.records.door import TableDoor
from dpscd.records.labels import label_column
from dpscd.releases.base import Observer
from dpscd.releases.query import Query, Residuals, sum_over
from dpscd.releases.training import Training
from dpscd.solvers.local import LocalRecords

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Held:
    """Records in memory."""

    count: int  # of persons, if they are asked for
    parsed: Callable[[], Parsed]


def table_source(
    table: Any, schema: Schema, y: Any = None, *, target: bool = True, person: bool = False
) -> TableFiles | _Held:
    """Return the records of a table; no cell is read, except for identifiers if `person`."""
    person = person and schema.person is not None
    if isinstance(table, Parsed):
        if not person:
            return _Held(len(table), lambda: table)
        if table.persons is None:
            raise ParameterError("these records were read without their persons.")
        return _Held(count_of(table.persons), lambda: table)
    paths = table if isinstance(table, list) else [table]
    if paths and all(isinstance(path, str | os.PathLike) for path in paths):
        if y is not None:
            raise ParameterError("y goes with a table in memory: files must have the target.")
        return redact_errors(lambda: TableFiles(paths, schema, target=target, person=person))
    frame = as_frame(table)
    if not isinstance(frame, pd.DataFrame):
        raise DataTypeError("a schema goes with a table: give a path or a pandas DataFrame.")
    if y is not None:
        labels = as_column(label_column(y))
        if len(frame) != len(labels):
            raise DataError("the table and y have different numbers of records.")
        frame = frame.assign(**{schema.target.name: labels.set_axis(frame.index)})
    return _held(frame, schema, target=target, person=person)


def _held(frame: pd.DataFrame, schema: Schema, *, target: bool, person: bool) -> _Held:
    names = [str(name) for name in frame.columns]
    check_columns(schema, names, target=target, person=person)
    persons = None
    if person and schema.person is not None:
        own = frame.iloc[:, names.index(schema.person)]
        persons = person_codes(own, schema.layout.missing)

    def parsed() -> Parsed:
        found = parse(schema, frame, target=target)
        found.persons = persons
        return found

    return _Held(len(frame) if persons is None else count_of(persons), parsed)


class TableRecords:
    """Parsed records: a :class:`~dpscd.releases.query.RecordStore`.

    Rows are made at once where all bounds are declared, else when they were released; no error
    of this class says anything about a record either way.
    """

    def __init__(self, door: TableDoor, parsed: Parsed, threads: int) -> None:
        self._door, self._parsed, self._threads = door, parsed, threads
        self._engine = "numba"
        self.bounds: tuple[tuple[float, float], ...] = ()
        self.persons = redact_errors(lambda: door.grouped(parsed)[1])
        self._rows = None if door.schema.private else self._encoded()

    def _encoded(self) -> LocalRecords:
        triples = redact_errors(lambda: self._door.records(self._parsed))
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
        return not self._door.sparse

    @property
    def columns(self) -> Sequence[Floats]:
        """Values of the columns whose bounds are not declared."""
        return redact_errors(lambda: self._door.columns(self._parsed)[0])

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all records."""
        check_capacity(query.n, len(self._parsed) if not self.persons else self.persons.count)
        return sum_over(query, [self])

    def bound(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Read records with released bounds of columns from now on."""
        self.bounds = tuple(pairs)
        self._door, self._rows = self._door.with_bounds(pairs), None

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
