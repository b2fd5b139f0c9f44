"""Rows of numbers in any container: shape and names first, values when asked for.

Lists, arrays, tables and sparse matrices of whatever type. The container chooses the route: a
record's row is what :func:`~dpscd.preprocessing.cells.number_of` says of its own cells, in
double precision, or in single precision if the whole container is.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from dpscd.errors import DataError, DataTypeError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.cells import NumberCells, number_of
from dpscd.preprocessing.columns import numbers
from dpscd.preprocessing.stored_rows import StoredRows

Floats = npt.NDArray[Any]

_BLOCK = 2**14  # rows looked at together
_FLAT = (
    "Expected 2D array, got {} instead. Reshape your data: one row per record, one column per "
    "feature; a table of one column is df[['name']]."
)


class RowSource:
    """Unread rows of numbers; count, width (a list's is that of its first record), sparsity."""

    def __init__(self, X: Any) -> None:
        X = as_frame(X)
        if isinstance(X, Sequence) and not isinstance(X, str | bytes | list | tuple):
            X = list(X)  # an array would give all records one type
        if not (sparse.issparse(X) or isinstance(X, pd.DataFrame | list | tuple | StoredRows)):
            X = _array(X)
        self.X = X
        self.sparse = bool(sparse.issparse(X))
        self.count, self.features = _shape(X)
        if self.features == 0:
            raise DataError(
                "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
            )

    def read(self, *, finite: bool = True) -> Any:
        """Return the rows: a C-contiguous array or a canonical CSR matrix.

        A cell that is not a finite number is refused, or if not `finite`, NaN or infinity.

        Guarantee: a row is a function of the record's own cells.
        """
        rows = _read(self.X, self.count, self.features)
        values = rows.data if self.sparse else rows
        if finite and not _all_finite(values):
            raise DataTypeError(refusals.NOT_NUMBERS)
        return rows

    def deferred(self) -> Any:
        """Return the rows as :meth:`read` does, but stored ones, and 16 bits, as StoredRows.

        Guarantee: as of :meth:`read`; which one it is follows from the type of the container.
        """
        X = self.X
        if isinstance(X, np.ndarray) and X.dtype == np.float16:
            X = StoredRows(X)
        if not isinstance(X, StoredRows):
            return self.read()
        if not X.all_finite():
            raise DataTypeError(refusals.NOT_NUMBERS)
        return X


def is_dask(*values: Any) -> bool:
    """Return whether one of `values` is a Dask collection, without importing Dask."""
    dask = sys.modules.get("dask")
    return dask is not None and any(map(dask.is_dask_collection, values))


def as_frame(X: Any) -> Any:
    """Return a table of another library that speaks Arrow as a DataFrame; all else as it is."""
    foreign = hasattr(X, "__arrow_c_stream__") and hasattr(X, "columns")
    if isinstance(X, pd.DataFrame) or not foreign:
        return X
    try:
        import pyarrow as pa
    except ImportError:
        raise DataTypeError(
            "tables of other libraries than pandas need pyarrow; install it with: "
            "pip install pyarrow"
        ) from None
    return pa.table(X).to_pandas(types_mapper=pd.ArrowDtype)


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
    if isinstance(X, pd.DataFrame):
        return _frame_rows(X)
    if isinstance(X, StoredRows):
        return X[:]
    if isinstance(X, np.ndarray) and X.dtype.kind in "biufc":
        return np.ascontiguousarray(_numbers_in(X))
    rows = np.empty((count, features))
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


def _frame_rows(X: pd.DataFrame) -> Floats:
    """Return the rows of a table, column by column."""
    kinds = set(X.dtypes)
    single = kinds == {np.dtype(np.float32)}
    rows = np.empty(X.shape, dtype=np.float32 if single else np.float64)
    meaning = NumberCells()
    for place in range(X.shape[1]):
        rows[:, place] = numbers(X.iloc[:, place], meaning)
    return rows


def _csr(X: Any, features: int) -> Any:
    """Return a matrix in which the columns of each row ascend, duplicates added up in order."""
    # Row by row: whether another row is in order must not move a sum's last bits, as it would
    # where a whole matrix is sorted or not.
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
    return rows if _ascends(rows) else _summed(rows)


def _numbers_in(values: Any) -> Any:
    if values.dtype.kind in "biuf":
        # In single precision where all is in single precision, else in double.
        kind = np.float32 if values.dtype == np.float32 else np.float64
        with np.errstate(all="ignore"):  # a warning would tell of large values
            return values.astype(kind, copy=False)
    if values.dtype.kind == "c":
        raise DataError(refusals.COMPLEX)
    return np.array([number_of(value) for value in values], dtype=np.float64)


def _ascends(rows: Any) -> bool:
    """Return whether the columns of every row ascend; looked at piece by piece."""
    for first in range(0, rows.shape[0], _BLOCK):
        starts = rows.indptr[first : first + _BLOCK + 1]
        columns = rows.indices[starts[0] : starts[-1]]
        rises = np.diff(columns) > 0
        ends = starts[1:-1] - starts[0]
        rises[ends[(ends > 0) & (ends < len(columns))] - 1] = True
        if not rises.all():
            return False
    return True


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


def _all_finite(values: npt.NDArray[Any]) -> bool:
    with np.errstate(all="ignore"):  # a warning would tell of large values
        total = np.sum(values, dtype=np.float64)
    return bool(np.isfinite(total) or np.isfinite(values).all())
