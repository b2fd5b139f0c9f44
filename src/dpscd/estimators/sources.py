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
from dpscd.preprocessing.levels import levels_of
from dpscd.preprocessing.parsing import check_columns, used_columns
from dpscd.preprocessing.resolution import shaped
from dpscd.preprocessing.schema import Schema
from dpscd.records.door import ArrayDoor, TableDoor
from dpscd.records.labels import ClassLabels, NumberLabels
from dpscd.records.redaction import redact_errors
from dpscd.records.table_records import TableRecords
from dpscd.records.tables import table_source
from dpscd.solvers.local import LocalRecords
from dpscd.standard import Levels

__all__ = ["Arrays", "DaskArrays", "DaskTable", "Given", "Opened", "RecordSource", "Table"]

Floats = npt.NDArray[np.float64]
Labels = ClassLabels | NumberLabels


@dataclass(frozen=True, repr=False)
class Opened:
    """Records that can be read."""

    count: int  # records, or persons
    features: int
    read: Callable[[], Any]  # returns the record store; cells are read here and not before
    workers: int = 0  # of the cluster that holds the records; 0 if they are here
    # which features are levels of categories: a public fact of the schema
    levels: Levels | None = None
    dense: bool = True  # whether rows are dense: a public fact of their layout


class RecordSource(Protocol):
    """Unread records; only their layout is known."""

    bounded: int  # columns whose bounds are released first
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

    @property
    def weighted(self) -> bool:
        """Whether records have weights of their own."""
        return self.sample_weight is not None


class Arrays:
    """Rows of numbers in the memory of this process."""

    bounded = 0
    on_dask = False
    any_length = True

    def __init__(
        self, rows: RowSource, labels: pd.Series, given: Given, persons: PersonFacts | None
    ) -> None:
        self._rows, self._labels, self._given = rows, labels, given
        self.weighted = given.weighted
        self.persons = persons

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        rows, given = self._rows, self._given
        door = ArrayDoor(labels, rows.features, rows.sparse, self.persons)
        codes = None
        if self.persons is not None:
            codes = redact_errors(lambda: codes_of(given.groups, rows.count))

        def read() -> LocalRecords:
            triples = door.whole(rows, self._labels, given.sample_weight, given.exposure, codes)
            return LocalRecords(*triples[:3], labels, threads, triples.persons)

        count = rows.count if codes is None else count_of(codes)
        yield Opened(count, rows.features, read, dense=not rows.sparse)


class DaskArrays:
    """Rows of numbers where the partitions of Dask collections are."""

    bounded = 0
    on_dask = True
    any_length = True

    def __init__(self, X: Any, y: Any, given: Given, persons: PersonFacts | None) -> None:
        from dpscd.distributed.collections import columns_of, partitions_of

        self._parts = partitions_of(X, y, *given)
        self.weighted = given.weighted
        self.persons = persons
        self.names, self.features, self._sparse = columns_of(X)

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        del threads
        from dpscd.distributed.workers import workers_with

        door = ArrayDoor(labels, self.features, self._sparse, self.persons)
        with workers_with(self._parts, door) as workers:
            yield Opened(workers.count, self.features, workers.held, workers.workers)


class Table:
    """Records of a table in the memory of this process.

    `y` is the target when the table does not have it, `n` the declared number of persons or
    records (None if the true one is public), `groups` the identifiers of persons if the schema
    names no column of them. Undeclared bounds are released; at infinite epsilon they are read,
    into `seen`, in the schema's order. Once opened, `schema` has the shape of every number.
    """

    on_dask = False
    any_length = False
    weighted = False

    def __init__(
        self,
        table: Any,
        y: Any,
        schema: Schema,
        epsilon: float,
        n: Any,
        persons: PersonFacts | None = None,
        groups: Any = None,
    ) -> None:
        self._table, self._y, self._epsilon, self._n = table, y, epsilon, n
        self._groups, self.persons = groups, persons
        self.schema, self.bounded = schema, len(schema.private)
        self.seen: list[tuple[float, float]] = []

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        person = self.persons is not None and self.persons.column is not None
        records = table_source(self._table, self.schema, self._y, person=person)
        found, codes = records.count, None
        if self._groups is not None:
            codes = redact_errors(lambda: codes_of(self._groups, records.count))
            found = count_of(codes)
        count = found if self._n is None else int(self._n)
        self.schema = shaped(self.schema, self._epsilon, count)
        door = TableDoor(labels, self.schema, {}, self.persons)

        def read() -> TableRecords:
            parsed = records.parsed()
            if codes is not None:
                if len(parsed) != len(codes):
                    raise DataError(refusals.CHANGED)
                parsed = copy.copy(parsed)
                parsed.persons = codes
            held = TableRecords(door, parsed, threads)
            if self.bounded and math.isinf(self._epsilon):
                self.seen = _ranges(held.columns)
                held.bound(self.seen)
            return held

        yield Opened(
            found, door.features, read, levels=levels_of(self.schema), dense=not door.sparse
        )


class DaskTable:
    """Records of a table where the partitions of a Dask dataframe are; see :class:`Table`."""

    on_dask = True
    any_length = False
    weighted = False

    def __init__(
        self,
        table: Any,
        y: Any,
        schema: Schema,
        epsilon: float,
        n: Any,
        persons: PersonFacts | None = None,
        groups: Any = None,
    ) -> None:
        from dpscd.distributed.collections import partitions_of

        if y is not None:
            raise ParameterError("y is not available on Dask: the table must have the target.")
        if groups is not None:
            raise ParameterError(
                "groups is not available on Dask: name the column in the schema, person = ..."
            )
        person = persons is not None
        names = [str(name) for name in table.columns]
        check_columns(schema, names, target=True, person=person)
        self.persons = persons
        self._parts = partitions_of(table[used_columns(schema, target=True, person=person)])
        self._epsilon, self._n = epsilon, n
        self.schema, self.bounded = schema, len(schema.private)

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        del threads
        from dpscd.distributed.workers import workers_with

        first = TableDoor(labels, self.schema, {}, self.persons)
        with workers_with(self._parts, first) as workers:
            count = workers.count if self._n is None else int(self._n)
            self.schema = shaped(self.schema, self._epsilon, count)
            door = TableDoor(labels, self.schema, {}, self.persons)
            workers.read_with(door)
            levels = levels_of(self.schema)
            yield Opened(
                workers.count, door.features, workers.held, workers.workers, levels=levels
            )


def codes_of(groups: Any, count: int) -> npt.NDArray[np.int64]:
    """Return the number of each row's person, below 0 if it has none."""
    codes = person_codes(groups)
    if len(codes) != count:
        raise DataError(refusals.UNEQUAL)
    return codes


def _ranges(columns: Sequence[Floats]) -> list[tuple[float, float]]:
    """Return the range of each column's values, for a training without privacy."""
    found = []
    for values in columns:
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        found.append((low, high if low < high else low + 1.0))
    return found
