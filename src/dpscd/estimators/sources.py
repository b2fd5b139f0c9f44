"""Where the records of a fit come from: arrays or a table, here or on a Dask cluster."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import ParameterError
from dpscd.preprocessing.containers import RowSource
from dpscd.preprocessing.levels import levels_of
from dpscd.preprocessing.parsing import check_columns, used_columns
from dpscd.preprocessing.resolution import shaped
from dpscd.preprocessing.schema import Schema
from dpscd.records.door import ArrayDoor, TableDoor
from dpscd.records.labels import ClassLabels, NumberLabels
from dpscd.records.table_records import TableRecords
from dpscd.records.tables import table_source
from dpscd.solvers.local import LocalRecords
from dpscd.standard import Levels

__all__ = ["Arrays", "DaskArrays", "DaskTable", "Opened", "RecordSource", "Table"]

Floats = npt.NDArray[np.float64]
Labels = ClassLabels | NumberLabels


@dataclass(frozen=True, repr=False)
class Opened:
    """Records that can be read.

    Attributes
    ----------
    count, features : int
        How many records and features there are.
    read : callable
        Returns the record store; cells are read here and not before.
    workers : int
        Number of workers of the cluster that holds the records; 0 if they are here.
    levels : Levels, optional
        Which features are levels of categories: a public fact of the schema.
    """

    count: int
    features: int
    read: Callable[[], Any]
    workers: int = 0
    levels: Levels | None = None


class RecordSource(Protocol):
    """Records of which nothing but the layout has been looked at.

    Attributes
    ----------
    bounded : int
        Number of columns whose bounds are released first.
    on_dask : bool
        Whether they stay on the workers of a cluster.
    any_length : bool
        Whether rows may be longer than the row bound; those of a schema are made to fit.
    weighted : bool
        Whether records have weights of their own.
    """

    bounded: int
    on_dask: bool
    any_length: bool
    weighted: bool

    def opened(self, labels: Labels, threads: int) -> AbstractContextManager[Opened]:
        """Return the records as they can be read, labels having a given meaning."""


class Arrays:
    """Rows of numbers in the memory of this process."""

    bounded = 0
    on_dask = False
    any_length = True

    def __init__(self, rows: RowSource, labels: pd.Series, *others: Any) -> None:
        self._rows, self._labels, self._others = rows, labels, others
        self.weighted = any(x is not None for x in others)

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        rows = self._rows
        door = ArrayDoor(labels, rows.features, rows.sparse)

        def read() -> LocalRecords:
            triples = door.whole(rows, self._labels, *self._others)
            return LocalRecords(*triples, labels, threads)

        yield Opened(rows.count, rows.features, read)


class DaskArrays:
    """Rows of numbers where the partitions of Dask collections are.

    Attributes
    ----------
    names : sequence of str, or None
        Names of the columns, if they have any.
    """

    bounded = 0
    on_dask = True
    any_length = True

    def __init__(self, X: Any, y: Any, *others: Any) -> None:
        from dpscd.distributed.collections import columns_of, partitions_of

        self._parts = partitions_of(X, y, *others)
        self.weighted = any(x is not None for x in others)
        self.names, self.features, self._sparse = columns_of(X)

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        del threads
        from dpscd.distributed.workers import workers_with

        door = ArrayDoor(labels, self.features, self._sparse)
        with workers_with(self._parts, door) as workers:
            yield Opened(workers.count, self.features, workers.held, workers.workers)


class Table:
    """Records of a table in the memory of this process.

    Parameters
    ----------
    table : path, list of paths or DataFrame
        The records.
    y : array-like or None
        The target, when the table does not have it.
    schema : Schema
        What the columns mean.
    epsilon : float
        Of the fit. Bounds that are not declared are released; without privacy they are read.
    n : int or None
        The declared number of records; None if the true one is public.

    Attributes
    ----------
    schema : Schema
        Once the records have been opened, with the shape of every number.
    seen : list of pairs of float
        The bounds that were read without privacy, in the schema's order.
    """

    on_dask = False
    any_length = False
    weighted = False

    def __init__(self, table: Any, y: Any, schema: Schema, epsilon: float, n: Any) -> None:
        self._table, self._y, self._epsilon, self._n = table, y, epsilon, n
        self.schema, self.bounded = schema, len(schema.private)
        self.seen: list[tuple[float, float]] = []

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        records = table_source(self._table, self.schema, self._y)
        count = records.count if self._n is None else int(self._n)
        self.schema = shaped(self.schema, self._epsilon, count)
        door = TableDoor(labels, self.schema, {})

        def read() -> TableRecords:
            held = TableRecords(door, records.parsed(), threads)
            if self.bounded and math.isinf(self._epsilon):
                self.seen = _ranges(held.columns)
                held.bound(self.seen)
            return held

        yield Opened(records.count, door.features, read, levels=levels_of(self.schema))


class DaskTable:
    """Records of a table where the partitions of a Dask dataframe are; see :class:`Table`."""

    on_dask = True
    any_length = False
    weighted = False

    def __init__(self, table: Any, y: Any, schema: Schema, epsilon: float, n: Any) -> None:
        from dpscd.distributed.collections import partitions_of

        if y is not None:
            raise ParameterError("y is not available on Dask: the table must have the target.")
        check_columns(schema, [str(name) for name in table.columns], target=True)
        self._parts = partitions_of(table[used_columns(schema, target=True)])
        self._epsilon, self._n = epsilon, n
        self.schema, self.bounded = schema, len(schema.private)

    @contextmanager
    def opened(self, labels: Labels, threads: int) -> Iterator[Opened]:
        """Yield the records, as :class:`RecordSource` says."""
        del threads
        from dpscd.distributed.workers import workers_with

        with workers_with(self._parts, TableDoor(labels, self.schema, {})) as workers:
            count = workers.count if self._n is None else int(self._n)
            self.schema = shaped(self.schema, self._epsilon, count)
            door = TableDoor(labels, self.schema, {})
            workers.read_with(door)
            levels = levels_of(self.schema)
            yield Opened(
                workers.count, door.features, workers.held, workers.workers, levels=levels
            )


def _ranges(columns: Sequence[Floats]) -> list[tuple[float, float]]:
    """Return the range of each column's values, for a training without privacy."""
    found = []
    for values in columns:
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        found.append((low, high if low < high else low + 1.0))
    return found
