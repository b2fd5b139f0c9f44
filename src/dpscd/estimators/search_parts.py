"""The records of a search: one part to train on, another to score on, whole units each."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from dpscd.errors import DataError, ParameterError
from dpscd.estimators.sources import Given, codes_of
from dpscd.preprocessing import refusals
from dpscd.preprocessing.containers import RowSource
from dpscd.preprocessing.identifiers import count_of
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.relation import Relation
from dpscd.records.labels import label_column
from dpscd.records.redaction import redact_errors
from dpscd.records.tables import table_source

__all__ = ["ArrayParts", "DaskParts", "Parts", "TableParts", "part_sizes", "split_units"]

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

    Notes
    -----
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


class ArrayParts:
    """Unread rows of numbers in memory; only their layout, and the count of units, is known."""

    def __init__(self, X: Any, y: Any, groups: Any) -> None:
        if y is None:
            raise ParameterError("y=None: estimators of arrays need labels.")
        self._rows, self._labels = RowSource(X), label_column(y)
        if len(self._labels) != self._rows.count:
            raise DataError(refusals.UNEQUAL)
        self._given = Parts(X, y, groups)
        self._codes: Ints | None = None
        if groups is not None:
            self._codes = redact_errors(lambda: codes_of(groups, self._rows.count))
        self.count = self._rows.count if self._codes is None else count_of(self._codes)

    def planned_releases(self, candidate: Any, count: int) -> Any:
        """Return what a fit of `candidate` on `count` units would release."""
        given = self._given
        source, classes = candidate._source_of(
            given.X, given.y, Given(None, None, given.groups)
        )
        return candidate.planned_releases(source, classes, count)

    def read(self, candidate: Any) -> None:
        """Arrays are read by each fit: nothing is to be done."""
        del candidate

    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units."""
        del candidate
        if self._codes is None:
            rows, codes = np.flatnonzero(kept), None
        else:
            rows, codes = _rows_of(self._codes, kept)
        return Parts(_taken(self._rows, rows), self._labels.iloc[rows], codes)

    def scored(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units to score on."""
        return self.part(candidate, kept)


class TableParts:
    """An unread table; only names and the number of records, or persons, are known."""

    def __init__(self, table: Any, y: Any, groups: Any, schema: Schema) -> None:
        self._given = Parts(table, y, groups)
        self._person = schema.person is not None
        first = table_source(table, schema, y, person=self._person)
        self._codes: Ints | None = None
        if groups is not None:
            self._codes = redact_errors(lambda: codes_of(groups, first.count))
        self.count = first.count if self._codes is None else count_of(self._codes)
        self._parsed: list[tuple[Schema, Any, Ints | None]] = []

    def planned_releases(self, candidate: Any, count: int) -> Any:
        """Return what a fit of `candidate` on `count` units would release."""
        given = self._given
        return candidate.planned_releases(given.X, given.y, given.groups, count)

    def read(self, candidate: Any) -> None:
        """Read all cells, by the schema of `candidate`; a secret from here on."""
        schema: Schema = candidate.schema
        if any(schema == known for known, _, _ in self._parsed):
            return
        source = table_source(self._given.X, schema, self._given.y, person=self._person)
        found = redact_errors(source.parsed)
        codes = found.persons if self._person else self._codes
        if (len(found) if codes is None else count_of(codes)) != self.count:
            raise DataError(refusals.CHANGED)
        self._parsed.append((schema, found, codes))

    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units."""
        found, codes = next(x[1:] for x in self._parsed if x[0] == candidate.schema)
        if codes is None:
            return Parts(found.taken(np.flatnonzero(kept)), None, None)
        rows, codes = _rows_of(codes, kept)
        part = copy.copy(found.taken(rows))
        if not self._person:
            return Parts(part, None, codes)
        part.persons = codes
        return Parts(part, None, None)

    def scored(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units to score on."""
        return self.part(candidate, kept)


class DaskParts:
    """Records where the partitions of Dask collections are; those to score on are fetched."""

    def __init__(self, X: Any, y: Any) -> None:
        from dpscd.distributed.rows import row_counts

        self._given = Parts(X, y, None)
        self._ends = np.cumsum(row_counts(X))
        self.count = int(self._ends[-1])
        self._fetched: Parts | None = None

    def planned_releases(self, candidate: Any, count: int) -> Any:
        """Return what a fit of `candidate` on `count` units would release."""
        X, y = self._given.X, self._given.y
        if hasattr(candidate, "schema"):
            return candidate.planned_releases(X, y, None, count)
        source, classes = candidate._source_of(X, y, Given())
        return candidate.planned_releases(source, classes, count)

    def read(self, candidate: Any) -> None:
        """Partitions are read by each fit: nothing is to be done."""
        del candidate

    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units, where they are."""
        del candidate
        from dpscd.distributed.rows import some_rows

        return self._mapped(some_rows, kept)

    def scored(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units in the memory of this process, fetched once."""
        del candidate
        from dpscd.distributed.rows import fetched_rows

        if self._fetched is None:
            self._fetched = redact_errors(lambda: self._mapped(fetched_rows, kept))
        return self._fetched

    def _mapped(self, take: Any, kept: Flags) -> Parts:
        pieces = np.split(kept, self._ends[:-1])
        rows = [np.flatnonzero(piece) for piece in pieces]
        X, y = self._given.X, self._given.y
        return Parts(take(X, rows), None if y is None else take(y, rows), None)


def _rows_of(codes: Ints, kept: Flags) -> tuple[Ints, Ints]:
    """Return the rows of some persons, and these persons' numbers, counted anew."""
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
