"""Where the records of a fit come from: arrays or a table, here or on a Dask cluster."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError, ParameterError
from dpscd.persons import PersonFacts
from dpscd.preprocessing import refusals
from dpscd.preprocessing.containers import RowSource
from dpscd.preprocessing.identifiers import count_of, person_codes
from dpscd.preprocessing.parsing import check_columns, used_columns
from dpscd.preprocessing.refusals import redact_errors
from dpscd.preprocessing.schema import Schema, shaped
from dpscd.records.door import ArrayDoor, TableDoor
from dpscd.records.labels import ClassLabels, NumberLabels
from dpscd.records.tables import TableRecords, table_source
from dpscd.solvers.local import LocalRecords

Floats = npt.NDArray[np.float64]
Labels = ClassLabels | NumberLabels


@dataclass(frozen=True, repr=False)
class Opened:
    """Records that can be read."""

    count: int  # records, or persons
    features: int
    read: Callable[[], Any]  # returns the record store; cells are read here and not before
    workers: int = 0  # of the cluster that holds the records; 0 if they are here
    dense: bool = True  # whether rows are dense: a public fact of their layout


class RecordSource(Protocol):
    """Unread records; only their layout is known."""

    schema: Schema | None  # of a table; with the shape of every number once it was opened
    on_dask: bool  # whether they stay on the workers of a cluster
    any_length: bool  # whether rows may exceed the row bound; those of a schema are made to fit
    weighted: bool  # whether records have weights of their own
    persons: PersonFacts | None  # if persons are the unit of privacy

    def opened(self, labels: Labels, threads: int) -> AbstractContextManager[Opened]:
        """Return the records as they can be read, labels having a given meaning."""


class Given(NamedTuple):
    """What may be given for each record besides its row and label; None where it is not."""

    sample_weight: Any = None
    exposure: Any = None
    groups: Any = None

    def __repr__(self) -> str:
        return "Given()"  # identifiers are not for a traceback


class Arrays:
    """Rows of numbers in the memory of this process."""

    schema: Schema | None = None
    on_dask = False
    any_length = True

    def __init__(
        self, rows: RowSource, labels: pd.Series, given: Given, persons: PersonFacts | None
    ) -> None:
        self._rows, self._labels, self._given = rows, labels, given
        self.weighted = given.sample_weight is not None
        self.persons = persons

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        rows, given = self._rows, self._given
        door = ArrayDoor(labels, rows.features, rows.sparse, self.persons)
        codes = codes_of(given.groups, rows.count)

        def read() -> LocalRecords:
            triples = door.whole(rows, self._labels, given.sample_weight, given.exposure, codes)
            return LocalRecords(*triples[:3], threads, triples.persons)

        yield Opened(units_in(codes, rows.count), rows.features, read, dense=not rows.sparse)


class DaskArrays:
    """Rows of numbers where the partitions of Dask collections are."""

    schema: Schema | None = None
    on_dask = True
    any_length = True

    def __init__(self, X: Any, y: Any, given: Given, persons: PersonFacts | None) -> None:
        from dpscd.distributed.collections import columns_of, partitions_of

        self._parts = partitions_of(X, y, *given)
        self.weighted = given.sample_weight is not None
        self.persons = persons
        self.names, self.features, self._sparse = columns_of(X)

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        del threads
        from dpscd.distributed.workers import workers_with

        door = ArrayDoor(labels, self.features, self._sparse, self.persons)
        with workers_with(self._parts, door) as workers:
            dense = not self._sparse
            yield Opened(
                workers.count, self.features, workers.held, workers.workers, dense=dense
            )


@dataclass(eq=False, repr=False)
class Table:
    """Records of a table in the memory of this process.

    `y` is the target when the table does not have it, `n` the declared number of persons or
    records (None if the true one is public), `groups` the identifiers of persons if the schema
    names no column of them. Undeclared bounds are released; at infinite epsilon they are read.
    Once opened, `schema` has the shape of every number.
    """

    table: Any
    y: Any
    schema: Schema
    epsilon: float
    n: Any
    persons: PersonFacts | None = None
    groups: Any = None

    on_dask = False
    any_length = False
    weighted = False

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        person = self.persons is not None and self.persons.column is not None
        records = table_source(self.table, self.schema, self.y, person=person)
        codes = codes_of(self.groups, records.count)
        found = units_in(codes, records.count)
        count = found if self.n is None else int(self.n)
        self.schema = shaped(self.schema, self.epsilon, count)
        door = TableDoor(labels, self.schema, {}, self.persons)

        def read() -> TableRecords:
            parsed = records.parsed()
            if codes is not None:
                if len(parsed) != len(codes):
                    raise DataError(refusals.CHANGED)
                parsed = copy.copy(parsed)
                parsed.persons = codes
            held = TableRecords(door, parsed, threads)
            if self.schema.private and math.isinf(self.epsilon):
                held.bound(_ranges(held.columns))
            return held

        yield Opened(found, door.features, read, dense=not door.sparse)


@dataclass(eq=False, repr=False)
class DaskTable(Table):
    """Records of a table where the partitions of a Dask dataframe are."""

    on_dask = True

    def __post_init__(self) -> None:
        """Look at the columns' names, and note the partitions."""
        from dpscd.distributed.collections import partitions_of

        if self.y is not None:
            raise ParameterError("y is not available on Dask: the table must have the target.")
        if self.groups is not None:
            raise ParameterError(
                "groups is not available on Dask: name the column in the schema, person = ..."
            )
        asked = {"target": True, "person": self.persons is not None}
        check_columns(self.schema, [str(name) for name in self.table.columns], **asked)
        self._parts = partitions_of(self.table[used_columns(self.schema, **asked)])

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        del threads
        from dpscd.distributed.workers import workers_with

        first = TableDoor(labels, self.schema, {}, self.persons)
        with workers_with(self._parts, first) as workers:
            count = workers.count if self.n is None else int(self.n)
            self.schema = shaped(self.schema, self.epsilon, count)
            door = TableDoor(labels, self.schema, {}, self.persons)
            workers.read_with(door)
            dense = not door.sparse
            yield Opened(
                workers.count, door.features, workers.held, workers.workers, dense=dense
            )


def codes_of(groups: Any, count: int) -> npt.NDArray[np.int64] | None:
    """Return the number of each row's person, below 0 if it has none; None without groups."""
    if groups is None:
        return None
    codes = redact_errors(lambda: person_codes(groups))
    if len(codes) != count:
        raise DataError(refusals.UNEQUAL)
    return codes


def units_in(codes: npt.NDArray[np.int64] | None, rows: int) -> int:
    """Return how many persons there are, or records if those are what is protected."""
    return rows if codes is None else count_of(codes)


def _ranges(columns: Sequence[Floats]) -> list[tuple[float, float]]:
    """Return the range of each column's values, for a training without privacy."""
    found = []
    for values in columns:
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        found.append((low, high if low < high else low + 1.0))
    return found
