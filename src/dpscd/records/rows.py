"""Rows of numbers in any container: shape and names first, values when asked for.

The container, its type, its order in memory and its number of records choose the route, never
the result: a record's row is what :func:`~dpscd.records.cells.number_of` says of its own cells,
in double precision, or in single precision if the whole container is.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from dpscd.errors import DataError, DataTypeError, ParameterError
from dpscd.persons import PersonFacts, PersonRows, training_weights
from dpscd.preprocessing.schema import Schema
from dpscd.records import refusals
from dpscd.records.cells import NumberCells, number_of, numbers
from dpscd.records.identifiers import (
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
    label_column,
    weights_of,
)
from dpscd.records.stored_rows import StoredRows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_FLAT = (
    "Expected 2D array, got {} instead. Reshape your data: one row per record, one column per "
    "feature; a table of one column is df[['name']]."
)


@dataclass(frozen=True, repr=False, eq=False)
class Unread:
    """Records of which only the shape is known.

    Guarantee: `read` is the only way to a cell, except for identifiers of persons, which are
    counted first.
    """

    count: int  # of records; of persons, where they are what is protected
    features: int
    read: Callable[..., Any]
    sparse: bool = False  # whether rows are sparse, which is public
    X: Any = None  # the container, for those who ask it for names
    names: Sequence[str] | None = None  # of the features
    labels: Any = None  # a column of labels, unread too
    weighted: bool = False  # whether records have weights of their own
    schema: Schema | None = None  # of a table, with the shape of every number
    persons: PersonFacts | None = None  # if persons are the unit of privacy
    workers: int = 0  # of the cluster that holds the records; 0 if they are here


def open_rows(X: Any) -> Unread:
    """Return unread rows of numbers; the width of a list is that of its first record.

    `read(finite=True, stored=False)` returns a C-contiguous array or a canonical CSR matrix, or
    with `stored` stored rows, and rows of 16 bits, as StoredRows; `finite` refuses other cells.

    Guarantee: a row is a function of the record's own cells. Proof: docs/proofs/records.md.
    """
    X = as_frame(X)
    if isinstance(X, Sequence) and not isinstance(X, str | bytes | list | tuple):
        X = list(X)  # an array would give all records one type
    if not (sparse.issparse(X) or isinstance(X, pd.DataFrame | list | tuple | StoredRows)):
        X = _array(X)
    count, features = _shape(X)
    if features == 0:
        text = "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
        raise DataError(text)

    def read(*, finite: bool = True, stored: bool = False) -> Any:
        if stored and isinstance(X, np.ndarray) and X.dtype == np.float16:
            rows: Any = StoredRows(X)
        else:
            rows = X if stored and isinstance(X, StoredRows) else _read(X, count, features)
        if finite and not _all_finite(rows):
            raise DataTypeError(refusals.NOT_NUMBERS)
        return rows

    return Unread(count, features, read, bool(sparse.issparse(X)), X)


def is_dask(*values: Any) -> bool:
    """Return whether one of `values` is a Dask collection, without importing Dask."""
    dask = sys.modules.get("dask")
    return dask is not None and any(map(dask.is_dask_collection, values))


def as_frame(X: Any) -> Any:
    """Return a table of another library that speaks Arrow as a DataFrame; all else as it is."""
    foreign = hasattr(X, "columns") or not hasattr(X, "__array__")  # one column is no table
    if isinstance(X, pd.DataFrame) or not (hasattr(X, "__arrow_c_stream__") and foreign):
        return X
    try:
        import pyarrow as pa
    except ImportError:
        raise DataTypeError(refusals.NEEDS_ARROW) from None
    return pa.table(X).to_pandas(types_mapper=pd.ArrowDtype)


def table_of(table: Any) -> pd.DataFrame:
    """Return a table in memory as a DataFrame, or refuse what is none."""
    frame = as_frame(table)
    if not isinstance(frame, pd.DataFrame):
        raise DataTypeError(
            "a schema goes with a table, whose columns have names: give a path, or a table of "
            "pandas, polars or Arrow. Arrays are for the estimators, such as DPRidge."
        )
    return frame


def _array(X: Any) -> Any:
    """Return an array of whatever is one; the message of a failure holds no value."""
    if isinstance(X, pd.Series | pd.Index):
        raise DataError(_FLAT.format("one column"))
    found = None
    if not isinstance(X, str | bytes | dict | set):
        with suppress(ValueError, TypeError, ArithmeticError, RuntimeError):
            found = np.asarray(X)
    if found is None or (found.ndim == 0 and found.dtype.kind == "O"):
        raise DataTypeError("X must be a table or an array with two dimensions.")
    return found


def _shape(X: Any) -> tuple[int, int]:
    if isinstance(X, list | tuple):
        if not X:
            raise DataError("Found array with 0 sample(s); 1 is required.")
        cells = _cells(X[0])
        if cells is None:
            raise DataError(_FLAT.format("1D array"))
        return len(X), len(cells)
    if X.ndim != 2:
        words = {0: "scalar array", 1: "1D array"}
        if X.ndim in words:
            raise DataError(_FLAT.format(words[X.ndim]))
        raise DataError(f"Found array with dim {X.ndim}, while dim 2 is required.")
    return int(X.shape[0]), int(X.shape[1])


def _read(X: Any, count: int, features: int) -> Any:
    if sparse.issparse(X):
        return _csr(X, features)
    if isinstance(X, StoredRows):
        return X[:]
    if isinstance(X, np.ndarray) and X.dtype.kind in "biufc":
        return np.ascontiguousarray(_numbers_in(X))
    single = isinstance(X, pd.DataFrame) and set(X.dtypes) == {np.dtype(np.float32)}
    rows = np.empty((count, features), np.float32 if single else np.float64)
    if isinstance(X, pd.DataFrame):
        for place in range(features):
            rows[:, place] = numbers(X.iloc[:, place], NumberCells())
        return rows
    for row, record in zip(rows, X, strict=True):
        row[:] = _row(record, features)
    return rows


def _row(record: Any, features: int) -> Any:
    """Return the numbers of one record in a list or an array of objects."""
    if isinstance(record, np.ndarray) and record.dtype.kind in "biuf":
        if record.shape != (features,):
            raise DataError(refusals.RAGGED)
        with np.errstate(all="ignore"):  # a warning would tell of large values
            return record.astype(np.float64, copy=False)
    cells = _cells(record)
    if cells is None or len(cells) != features:
        raise DataError(refusals.RAGGED)
    return [number_of(cell) for cell in cells]


def _cells(record: Any) -> list[Any] | None:
    """Return the cells of one record in a list; None if it is not a row of them."""
    if isinstance(record, str | bytes | dict | set) or not hasattr(record, "__len__"):
        return None
    try:
        return list(record)
    except Exception:  # of an object's own methods, which may say whatever they like
        return None


def _csr(X: Any, features: int) -> Any:
    """Return a matrix in which the columns of each row ascend, duplicates added up in order.

    Guarantee: whether another row is in order does not move a sum's last bits.
    """
    if X.format == "csr":
        starts, columns, values = X.indptr, X.indices, X.data
        good = starts.dtype.kind in "iu" and len(starts) == X.shape[0] + 1
        good = good and starts[0] == 0 and starts[-1] <= len(columns)
        if not (good and (np.diff(starts) >= 0).all() and len(values) >= starts[-1]):
            raise DataError(refusals.NOT_CSR)
        columns, values = columns[: starts[-1]], values[: starts[-1]]
    else:
        given = None
        with suppress(Exception):  # scipy's messages would name a place
            given = X.tocoo()
        if given is None:
            raise DataError(refusals.NOT_CSR)
        order = np.argsort(given.row, kind="stable")
        columns, values = given.col[order], given.data[order]
        owner = given.row[order]
        if len(owner) and not (owner[0] >= 0 and owner[-1] < X.shape[0]):
            raise DataError(refusals.NOT_CSR)
        starts = np.searchsorted(owner, np.arange(X.shape[0] + 1))
    values = _numbers_in(values)
    whole = columns.dtype.kind in "iu"
    if not whole or (len(columns) and not (columns.min() >= 0 and columns.max() < features)):
        raise DataError(refusals.NOT_CSR)
    rows = sparse.csr_array((values, columns, starts), shape=X.shape)
    return rows if rows.has_canonical_format else _summed(rows)


def _numbers_in(values: Any) -> Any:
    if values.dtype.kind in "biuf":
        # In single precision where all is in single precision, else in double.
        kind = np.float32 if values.dtype == np.float32 else np.float64
        with np.errstate(all="ignore"):  # a warning would tell of large values
            return values.astype(kind, copy=False)
    if values.dtype.kind == "c":
        raise DataError(refusals.COMPLEX)
    return np.array([number_of(value) for value in values], dtype=np.float64)


def _summed(rows: Any) -> Any:
    """Return rows with columns in order; what is there twice is added in its order."""
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, owner))  # stable
    owner, columns = owner[order], rows.indices[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (owner[1:] != owner[:-1]) | (columns[1:] != columns[:-1])
    added = rows.data[order].astype(np.float64)
    values, twice = added[first], ~first  # sums begin with what is there: -0.0 stays -0.0
    with np.errstate(all="ignore"):  # a warning would tell of large values
        np.add.at(values, (np.cumsum(first) - 1)[twice], added[twice])
        # In the type of all rows: of another one, products of the others may end differently.
        values = values.astype(rows.dtype, copy=False)
    starts = np.searchsorted(owner[first], np.arange(rows.shape[0] + 1))
    return sparse.csr_array((values, columns[first], starts), shape=rows.shape)


def _all_finite(rows: Any) -> bool:
    if isinstance(rows, StoredRows):
        return rows.all_finite()
    values = rows.data if sparse.issparse(rows) else rows
    with np.errstate(all="ignore"):  # a warning would tell of large values
        total = np.sum(values, dtype=np.float64)
    return bool(np.isfinite(total) or np.isfinite(values).all())


class Triples(NamedTuple):
    """Rows, labels in the user's units, weights: a secret. A person's rows are adjacent."""

    X: Any
    labels: Floats
    weights: Floats
    persons: PersonRows | None = None


@dataclass(frozen=True)
class RowReader:
    """Rows of numbers with labels and weights, in any container."""

    labels: ClassLabels | NumberLabels  # encoding of labels
    features: int  # number of features
    sparse: bool  # whether rows are sparse
    persons: PersonFacts | None = None  # if persons are the unit of privacy

    def triples(
        self, X: Any, y: Any, sample_weight: Any, exposure: Any = None, codes: Any = None
    ) -> Triples:
        """Return the triples; `codes` are the persons of rows, below 0 where there is none.

        Guarantee: the triple of a record is a function of its own cells, label, weight and
        exposure. How much a row counts in training is one of the rows of the same person.
        Proof: docs/proofs/records.md, docs/proofs/persons.md.
        """
        source = X if isinstance(X, Unread) else open_rows(X)
        rows = source.read(stored=True)
        if source.features != self.features or source.sparse != self.sparse:
            raise DataError(refusals.NOT_AS_ANNOUNCED)
        given = weights_of(sample_weight, source.count)
        labels, weights = self.labels.coded(label_column(y))
        if len(labels) != source.count:
            raise DataError(refusals.UNEQUAL)
        if exposure is not None and isinstance(self.labels, CountLabels):
            labels, weights = self.labels.exposed(labels, weights, exposure, source.count)
        persons = None
        if self.persons is not None:
            if len(codes) != source.count:
                raise DataError(refusals.UNEQUAL)
            order, starts = order_of(codes)
            if order is not None:
                rows, labels = rows[order], labels[order]
                given, weights = given[order], weights[order]
            elif not self.sparse:
                rows = rows[:]  # parts of persons are not read by themselves
            own = training_weights(starts, given, weights, self.persons.weight)
            persons = PersonRows(starts, own, self.persons.most)
        with np.errstate(all="ignore"):  # a warning would tell of large weights
            both = np.minimum(given * weights, np.finfo(np.float64).max)
        return Triples(rows, labels, both, persons)

    def whole(
        self, X: Any, y: Any, sample_weight: Any, exposure: Any = None, codes: Any = None
    ) -> Triples:
        """Return the triples of all records, at least one with positive weight."""
        found = self.triples(X, y, sample_weight, exposure, codes)
        if not found.weights.any():
            raise DataError(refusals.NO_WEIGHT)
        return found

    def count(self, part: Sequence[Any]) -> int:
        """Return the number of persons, or of records, of a partition."""
        if self.persons is not None:
            return count_of(person_codes(part[-1]))
        return int(part[0].shape[0])

    def keys(self, part: Sequence[Any], key: bytes) -> Ints:
        """Return a keyed hash of every person's identifier, in the order of their numbers."""
        return keyed_hashes(person_keys(part[-1])[1], key)

    def columns(self, part: Sequence[Any]) -> tuple[Sequence[Floats], PersonRows | None]:
        """Return no column: only columns of tables can have private bounds."""
        del part
        return (), None

    def with_bounds(self, pairs: Sequence[tuple[float, float]]) -> "RowReader":
        """Refuse: arrays have no columns with private bounds."""
        raise ParameterError(f"there are no columns for {len(pairs)} released bounds.")

    def records(self, part: Sequence[Any]) -> Triples:
        """Return the triples of a partition."""
        if int(part[0].shape[0]) == 0:
            empty = (0, self.features)
            rows = sparse.csr_array(empty, dtype=np.float32) if self.sparse else np.empty(empty)
            nobody = PersonRows(np.zeros(1, np.int64), np.empty(0), 1)
            persons = None if self.persons is None else nobody
            return Triples(rows, np.empty(0), np.empty(0), persons)
        given = (own for own in part if own is not None)
        sizes = {own.shape[0] if sparse.issparse(own) else len(own) for own in given}
        if len(sizes) != 1:
            raise DataError("X, y, sample_weight and groups are not divided alike.")
        X, y, sample_weight, *more = part
        exposure, groups = (*more, None, None)[:2]
        codes = None if self.persons is None else person_codes(groups)
        found = self.triples(X, y, sample_weight, exposure, codes)
        # A shard has all its rows at hand.
        return found if self.sparse else found._replace(X=found.X[:])
