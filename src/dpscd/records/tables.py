"""Tables in files or in memory: names and count of records first, cells when asked for.

Rows are made when the bounds of columns are known.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError, ParameterError
from dpscd.persons import PersonFacts, PersonRows, training_weights
from dpscd.preprocessing.column_features import width_of
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.draws import check_capacity
from dpscd.privacy.random import Source
from dpscd.problem import Problem
from dpscd.records import refusals
from dpscd.records.cells import as_column
from dpscd.records.encoding import Parsed, check_columns, encode, is_sparse, parse, used_columns
from dpscd.records.files import open_table, paths_of
from dpscd.records.identifiers import (
    Numbering,
    count_of,
    keyed_hashes,
    order_of,
    person_codes,
    person_keys,
)
from dpscd.records.labels import (
    ClassLabels,
    CountLabels,
    NumberLabels,
    exposures_in,
    label_column,
    trained_labels,
)
from dpscd.records.refusals import redact_errors
from dpscd.records.rows import Triples, Unread, table_of
from dpscd.releases.base import Observer, Query, Residuals, sum_over
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
        own = table.persons if person else None
        return Unread(len(table) if own is None else count_of(own), 0, lambda: table)
    if paths := paths_of(table):
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

    return Unread(len(frame) if codes is None else count_of(codes), 0, read)


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

    return Unread(rows if codes is None else count_of(codes), 0, read)


@dataclass(frozen=True)
class TableReader:
    """Records of a table, by its schema."""

    labels: ClassLabels | NumberLabels  # encoding of targets
    schema: Schema  # encoding of columns
    # released bounds of columns with private ones, by name
    bounds: Mapping[str, tuple[float, float]]
    # if persons are the unit of privacy, identified by the schema's column
    persons: PersonFacts | None = None

    @property
    def features(self) -> int:
        """Number of features."""
        return sum(width_of(part) for part in self.schema.parts)

    @property
    def sparse(self) -> bool:
        """Whether rows are sparse."""
        return is_sparse(self.schema)

    def count(self, part: Any) -> int:
        """Return the number of persons, or of records, of a partition."""
        if self.persons is not None:
            return count_of(self._codes(part))
        return len(part)

    def keys(self, part: Any, key: bytes) -> Codes:
        """Return a keyed hash of every person's identifier, in the order of their numbers."""
        missing = self.schema.layout.missing
        return keyed_hashes(person_keys(self._identifiers(part), missing)[1], key)

    def columns(self, part: Any) -> tuple[Sequence[Floats], PersonRows | None]:
        """Return the values of the columns with private bounds, in the schema's order."""
        parsed, persons = self.grouped(part)
        values = [
            parsed.target if column is self.schema.target else parsed.columns[column.name]
            for column in self.schema.private
        ]
        return values, persons

    def with_bounds(self, pairs: Sequence[tuple[float, float]]) -> "TableReader":
        """Return the reader with released bounds, in the schema's order."""
        names = [column.name for column in self.schema.private]
        bounds = dict(zip(names, pairs, strict=True))
        target = bounds.get(self.schema.target.name)
        labels = self.labels if target is None else NumberLabels(*target)
        return TableReader(labels, self.schema, bounds, self.persons)

    def records(self, part: Any) -> Triples:
        """Return the triples of a table, or of a partition of one.

        Guarantee: the triple of a record is a function of its own cells. No cell refuses
        anything.
        Proof: docs/proofs/records.md.
        """
        parsed, persons = self.grouped(part)
        rows = encode(self.schema, parsed, self.bounds, as_sparse=self.sparse)
        labels, weights = self.labels.weighed(trained_labels(self.schema.target, parsed.target))
        if isinstance(self.labels, CountLabels) and self.schema.target.exposure is not None:
            exposures, known = exposures_in(self.schema.target, parsed.columns)
            weights = np.where(known, weights, 0.0)
            labels, weights = self.labels.exposed(labels, weights, exposures, len(parsed))
        if persons is not None and self.persons is not None:
            own = training_weights(persons.starts, None, weights, self.persons.weight)
            persons = replace(persons, weights=own)
        return Triples(rows, labels, weights, persons)

    def grouped(self, part: Any) -> tuple[Parsed, PersonRows | None]:
        """Return the numbers of a table, and the persons' rows, if any, all with weight 1."""
        given = isinstance(part, Parsed)
        parsed = part if given else parse(self.schema, part)
        if self.persons is None:
            return parsed, None
        codes = part.persons if given else self._codes(part)
        order, starts = order_of(codes)
        parsed = parsed if order is None else parsed.taken(order)
        return parsed, PersonRows(starts, np.ones(len(parsed)), self.persons.most)

    def _codes(self, part: Any) -> Codes:
        return person_codes(self._identifiers(part), self.schema.layout.missing)

    def _identifiers(self, part: Any) -> Any:
        return part.set_axis([str(name) for name in part.columns], axis=1)[self.schema.person]


@dataclass(frozen=True, repr=False)
class TableRows(LocalRecords):
    """The records of a table as training rows, made with these bounds of columns."""

    bounds: tuple[tuple[float, float], ...] = ()


def training_rows(
    reader: TableReader, parsed: Parsed, threads: int, engine: str = "numba"
) -> TableRows:
    """Return the training rows of a table; no error says anything about a record."""
    triples = redact_errors(lambda: reader.records(parsed))
    bounds = tuple(reader.bounds.values())
    return TableRows(*triples[:3], threads, triples.persons, engine, bounds)


class TableRecords:
    """Records whose bounds are released first: a :class:`~dpscd.releases.base.RecordStore`."""

    def __init__(self, reader: TableReader, parsed: Parsed, threads: int) -> None:
        self._reader, self._parsed, self._threads = reader, parsed, threads
        self._engine, self.dense = "numba", not reader.sparse
        #: Values of the columns whose bounds are not declared.
        self.columns, self.persons = redact_errors(lambda: reader.columns(parsed))
        self._rows: TableRows | None = None

    @property
    def rows(self) -> TableRows:
        """The records as training rows, made when they are first asked for."""
        if self._rows is None:
            made = training_rows(self._reader, self._parsed, self._threads, self._engine)
            self._rows = made
        return self._rows

    def on(self, engine: str) -> "TableRecords":
        """Return the same records, to be trained on by another engine."""
        self._engine, self._rows = engine, None
        return self

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all records."""
        if not query.reads_columns:
            return self.rows.total(query)
        check_capacity(query.n, len(self._parsed) if not self.persons else self.persons.count)
        return sum_over(query, [self])

    def bound(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Read records with released bounds of columns from now on."""
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
