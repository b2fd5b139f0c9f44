"""The records of a search: one part to train on, another to score on, whole units each."""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from dpscd.errors import DataError, ParameterError
from dpscd.estimators.sources import Given, codes_of, units_in
from dpscd.plan import Plan
from dpscd.preprocessing import refusals
from dpscd.preprocessing.containers import RowSource
from dpscd.preprocessing.refusals import redact_errors
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.relation import Relation
from dpscd.records.labels import label_column
from dpscd.records.tables import table_source

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_BITS = 64


def part_sizes(n: int, holdout: float) -> tuple[int, int]:
    """Return how many of n units are trained on, and how many are kept apart."""
    apart = round(n * holdout)
    if not 0 < apart < n:
        raise DataError("there are too few records to keep some apart.")
    return n - apart, apart


def split_units(source: Source, count: int, holdout: float, relation: Relation) -> Flags:
    """Return which units, by their numbers, are kept apart: a part `holdout` of them.

    `count` is the true number of units: records, or persons.

    Guarantee: the bits do not depend on any record. Where the number of units is public they
    are a uniformly random set of a public size, so that their law is the same whatever the
    order of the units; where it is secret they are independent coins, so that a unit more or
    less leaves those of the others as they are.
    Proof: docs/proofs/search.md, "Two parts".
    """
    if relation.needs_n:
        words = source.words(Purpose.SPLIT, 0, count, 1)[:, 0]
        coins: Flags = words < np.uint64(int(holdout * 2.0**_BITS))
        return coins
    attempt = 0
    while True:
        # Equal words would favour the unit that comes first: then all are drawn again.
        words = source.words(Purpose.SPLIT, attempt * count, count, 1)[:, 0]
        if len(np.unique(words)) == count:
            break
        attempt += 1
    apart = np.zeros(count, dtype=bool)
    apart[np.argsort(words)[: part_sizes(count, holdout)[1]]] = True
    return apart


@dataclass(frozen=True, repr=False)
class Parts:
    """What `fit` and scores are given of one part: a secret."""

    X: Any
    y: Any
    groups: Any


class SearchedRecords(ABC):
    """Unread records; only their layout, and the count of units, is known."""

    count: int
    _given: Parts

    def planned(self, candidate: Any, count: int) -> Plan:
        """Return the plan of a fit of `candidate` on `count` units."""
        X, y, groups = self._given.X, self._given.y, self._given.groups
        found: Plan
        if hasattr(candidate, "schema"):
            found = candidate.planned(X, y, groups, count)
        else:
            source, classes = candidate._source_of(X, y, Given(groups=groups))
            found = candidate.planned(source, classes, count)
        return found

    def read(self, candidate: Any) -> None:
        """Read all cells by the schema of `candidate`, unless each fit reads its own."""
        del candidate

    @abstractmethod
    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units."""

    def scored(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units to score on."""
        return self.part(candidate, kept)


class ArrayParts(SearchedRecords):
    """Rows of numbers in memory."""

    def __init__(self, X: Any, y: Any, groups: Any) -> None:
        if y is None:
            raise ParameterError("y=None: estimators of arrays need labels.")
        self._rows, self._labels = RowSource(X), label_column(y)
        if len(self._labels) != self._rows.count:
            raise DataError(refusals.UNEQUAL)
        self._given = Parts(X, y, groups)
        self._codes = codes_of(groups, self._rows.count)
        self.count = units_in(self._codes, self._rows.count)

    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units."""
        del candidate
        rows, codes = _rows_of(self._codes, kept)
        return Parts(_taken(self._rows, rows), self._labels.iloc[rows], codes)


class TableParts(SearchedRecords):
    """A table in memory or in files, read once for all fits."""

    def __init__(self, table: Any, y: Any, groups: Any, schema: Schema) -> None:
        self._given = Parts(table, y, groups)
        self._person = schema.person is not None
        first = table_source(table, schema, y, person=self._person)
        self._codes = codes_of(groups, first.count)
        self.count = units_in(self._codes, first.count)
        self._parsed: list[tuple[Schema, Any, Ints | None]] = []

    def read(self, candidate: Any) -> None:
        """Read all cells, by the schema of `candidate`; a secret from here on."""
        schema: Schema = candidate.schema
        if any(schema == known for known, _, _ in self._parsed):
            return
        source = table_source(self._given.X, schema, self._given.y, person=self._person)
        found = redact_errors(source.parsed)
        codes = found.persons if self._person else self._codes
        if units_in(codes, len(found)) != self.count:
            raise DataError(refusals.CHANGED)
        self._parsed.append((schema, found, codes))

    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units."""
        found, codes = next(x[1:] for x in self._parsed if x[0] == candidate.schema)
        rows, codes = _rows_of(codes, kept)
        part = copy.copy(found.taken(rows))
        if not self._person:
            return Parts(part, None, codes)
        part.persons = codes
        return Parts(part, None, None)


class DaskParts(SearchedRecords):
    """Records where the partitions of Dask collections are; those to score on are fetched."""

    def __init__(self, X: Any, y: Any) -> None:
        from dpscd.distributed.collections import row_counts

        self._given = Parts(X, y, None)
        self._ends = np.cumsum(row_counts(X))
        self.count = int(self._ends[-1])
        self._fetched: Parts | None = None

    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units, where they are."""
        del candidate
        from dpscd.distributed.collections import some_rows

        return self._mapped(some_rows, kept)

    def scored(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units in the memory of this process, fetched once."""
        del candidate
        from dpscd.distributed.collections import fetched_rows

        if self._fetched is None:
            self._fetched = redact_errors(lambda: self._mapped(fetched_rows, kept))
        return self._fetched

    def _mapped(self, take: Any, kept: Flags) -> Parts:
        pieces = np.split(kept, self._ends[:-1])
        rows = [np.flatnonzero(piece) for piece in pieces]
        X, y = self._given.X, self._given.y
        return Parts(take(X, rows), None if y is None else take(y, rows), None)


def _rows_of(codes: Ints | None, kept: Flags) -> tuple[Ints, Ints | None]:
    """Return the rows of some units, and the numbers of those that are persons, from 0 on."""
    if codes is None:
        return np.flatnonzero(kept), None
    rows = np.flatnonzero((codes >= 0) & kept[codes])
    numbers = np.cumsum(kept) - 1
    return rows, numbers[codes[rows]].astype(np.int64)


def _taken(source: RowSource, rows: Ints) -> Any:
    """Return some rows in a container of the same kind, whose cells are what they were."""
    X = source.X
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    if sparse.issparse(X) or isinstance(X, list | tuple):  # none of a list has no width
        return redact_errors(lambda: source.read(finite=False))[rows]
    return X[rows]
