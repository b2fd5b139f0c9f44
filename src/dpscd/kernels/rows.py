"""Rows of a data matrix, dense or CSR, behind the same few operations.

A record enters the mechanism as ``(factor x, tail)``: ``factor`` scales its row into the
declared ball and the ball to the unit ball, ``tail`` is the constant column of the intercept (0
without one): vectors that meet rows then have one more entry. ``norm`` is an upper bound of
that vector's length, up to 2^-40 of it.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import REORDERED
from dpscd.kernels._memory import LINE, prefetch
from dpscd.late import overload

F = TypeVar("F", bound=Callable[..., Any])
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Contributions are shortened to this part of what is allowed, so that rounding in norms,
#: scales, squares and products can never lift one above its bound.
MARGIN = 1.0 - 2.0**-20

# How many records ahead their own numbers are asked for, then their rows, then what sparse
# rows meet; and bytes of a row, after which the memory goes on by itself.
_NUMBERS_AHEAD, _ROWS_AHEAD, _ENTRIES_AHEAD = 16, 8, 2
_ROW_BYTES, _ENTRIES = 16 * LINE, LINE


class DenseRows(NamedTuple):
    """A C-contiguous matrix, one record per row."""

    values: npt.NDArray[Any]
    factor: Floats
    norm: Floats
    tail: float


class CsrRows(NamedTuple):
    """A matrix in compressed sparse row format."""

    values: npt.NDArray[Any]
    indices: npt.NDArray[Any]
    indptr: npt.NDArray[Any]
    width: int
    factor: Floats
    norm: Floats
    tail: float


Rows = DenseRows | CsrRows


def _dot_dense(rows, i, vector):
    x = rows.values[i]
    total = 0.0
    for j in range(x.shape[0]):
        total += np.float64(x[j]) * vector[j]
    total *= rows.factor[i]
    if rows.tail != 0.0:
        total += rows.tail * vector[x.shape[0]]
    return total


def _dot_csr(rows, i, vector):
    total = 0.0
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        total += np.float64(rows.values[p]) * vector[rows.indices[p]]
    total *= rows.factor[i]
    if rows.tail != 0.0:
        total += rows.tail * vector[rows.width]
    return total


def _ordered_dot_dense(rows, i, vector):
    x = rows.values[i]
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    whole = x.shape[0] - x.shape[0] % 4
    for j in range(0, whole, 4):
        first += np.float64(x[j]) * vector[j]
        second += np.float64(x[j + 1]) * vector[j + 1]
        third += np.float64(x[j + 2]) * vector[j + 2]
        fourth += np.float64(x[j + 3]) * vector[j + 3]
    total = (first + second) + (third + fourth)
    for j in range(whole, x.shape[0]):
        total += np.float64(x[j]) * vector[j]
    total *= rows.factor[i]
    if rows.tail != 0.0:
        total += rows.tail * vector[x.shape[0]]
    return total


def _add_dense(rows, i, scale, vector):
    x = rows.values[i]
    scaled = scale * rows.factor[i]
    for j in range(x.shape[0]):
        vector[j] += scaled * np.float64(x[j])
    if rows.tail != 0.0:
        vector[x.shape[0]] += scale * rows.tail


def _add_csr(rows, i, scale, vector):
    scaled = scale * rows.factor[i]
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        vector[rows.indices[p]] += scaled * np.float64(rows.values[p])
    if rows.tail != 0.0:
        vector[rows.width] += scale * rows.tail


def _add_truncated_dense(rows, i, scale, vector):
    x = rows.values[i]
    scaled = scale * rows.factor[i]
    for j in range(x.shape[0]):
        vector[j] += np.trunc(scaled * np.float64(x[j]))
    if rows.tail != 0.0:
        vector[x.shape[0]] += np.trunc(scale * rows.tail)


def _add_truncated_csr(rows, i, scale, vector):
    scaled = scale * rows.factor[i]
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        vector[rows.indices[p]] += np.trunc(scaled * np.float64(rows.values[p]))
    if rows.tail != 0.0:
        vector[rows.width] += np.trunc(scale * rows.tail)


def _add_squares_truncated_dense(rows, i, scale, vector):
    x = rows.values[i]
    for j in range(x.shape[0]):
        part = rows.factor[i] * np.float64(x[j])
        vector[j] += np.trunc(scale * part * part)


def _add_squares_truncated_csr(rows, i, scale, vector):
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        part = rows.factor[i] * np.float64(rows.values[p])
        vector[rows.indices[p]] += np.trunc(scale * part * part)


def _add_squares_dense(rows, i, scale, vector):
    x = rows.values[i]
    for j in range(x.shape[0]):
        part = rows.factor[i] * np.float64(x[j])
        vector[j] += scale * part * part


def _add_squares_csr(rows, i, scale, vector):
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        part = rows.factor[i] * np.float64(rows.values[p])
        vector[rows.indices[p]] += scale * part * part


def _move_out_dense(rows, i, vector, places, entries, count):
    for j in range(vector.shape[0]):
        if vector[j] != 0.0:
            places[count], entries[count] = j, vector[j]
            vector[j] = 0.0
            count += 1
    return count


def _move_out_csr(rows, i, vector, places, entries, count):
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        j = rows.indices[p]
        if vector[j] != 0.0:
            places[count], entries[count] = j, vector[j]
            vector[j] = 0.0
            count += 1
    if rows.tail != 0.0 and vector[rows.width] != 0.0:
        places[count], entries[count] = rows.width, vector[rows.width]
        vector[rows.width] = 0.0
        count += 1
    return count


def _look_ahead_dense(rows, ids, p, vector):
    if p + _ROWS_AHEAD < ids.shape[0]:
        i = ids[p + _ROWS_AHEAD]
        prefetch(rows.norm, i, 8)
        prefetch(rows.factor, i, 8)
        size = rows.values.itemsize * rows.values.shape[1]
        prefetch(rows.values, i, min(size, _ROW_BYTES))


def _look_ahead_csr(rows, ids, p, vector):
    if p + _NUMBERS_AHEAD < ids.shape[0]:
        i = ids[p + _NUMBERS_AHEAD]
        prefetch(rows.norm, i, 8)
        prefetch(rows.factor, i, 8)
        prefetch(rows.indptr, i, 16)
    # Pointers of a row that is not well formed lead anywhere: its norm is NaN.
    if p + _ROWS_AHEAD < ids.shape[0]:
        i = ids[p + _ROWS_AHEAD]
        if rows.norm[i] > 0.0:
            prefetch(rows.indices, rows.indptr[i], 2 * LINE)
            prefetch(rows.values, rows.indptr[i], 2 * LINE)
    if p + _ENTRIES_AHEAD < ids.shape[0]:
        i = ids[p + _ENTRIES_AHEAD]
        if rows.norm[i] > 0.0:
            first = rows.indptr[i]
            for q in range(first, min(rows.indptr[i + 1], first + _ENTRIES)):
                prefetch(vector, rows.indices[q], 8)


def pick_layout(rows: Any, dense: Any, csr: Any) -> Any:
    """Return the operation for the layout of `rows`, a value or Numba's type of one."""
    # Called with a value by Python and with a Numba type (instance_class) by overloads.
    kind = getattr(rows, "instance_class", None) or type(rows)
    return dense if kind is DenseRows else csr


def by_layout(dense: Any, csr: Any, **options: Any) -> Callable[[F], F]:
    """Return a decorator: call the operation of the rows' layout, in Python and compiled."""

    def declare(function: F) -> F:
        @wraps(function)
        def call(rows: Any, *others: Any) -> Any:
            return pick_layout(rows, dense, csr)(rows, *others)

        @overload(call, strict=False, jit_options=options)
        def choose(rows: Any, *others: Any) -> Any:  # pragma: no cover - runs in the compiler
            return pick_layout(rows, dense, csr)

        return cast(F, call)

    return declare


@by_layout(_dot_dense, _dot_csr, fastmath=REORDERED)
def dot(rows: Rows, i: int, vector: Floats) -> float:
    """Return the inner product of record `i` with `vector`, in any order: not private."""


@by_layout(_ordered_dot_dense, _dot_csr)
def ordered_dot(rows: Rows, i: int, vector: Floats) -> float:
    """Return the inner product of record `i` with `vector`, in one order of its terms.

    Guarantee: a function of the record's values and of `vector` to the last bit, whatever type
    the values are kept in and wherever the row stands.
    Requires: strict floating point; no fastmath.
    """


@by_layout(_add_dense, _add_csr)
def add(rows: Rows, i: int, scale: float, vector: Floats) -> None:
    """Add `scale` times record `i` to `vector`."""


@by_layout(_add_truncated_dense, _add_truncated_csr)
def add_truncated(rows: Rows, i: int, scale: float, vector: Floats) -> None:
    """Add `scale` times record `i` to `vector`, each entry cut to a whole number.

    Guarantee: the vector that is added is no longer than ``|scale| |record i|`` (up to the
    rounding of one product, 2^-51); sums of such vectors below 2^53 are exact in any order.
    Requires: strict floating point; no fastmath.
    """


@by_layout(_add_squares_truncated_dense, _add_squares_truncated_csr)
def add_squares_truncated(rows: Rows, i: int, scale: float, vector: Floats) -> None:
    """Add `scale` times the squares of record `i`'s features, each cut to a whole number.

    Guarantee: as for :func:`add_truncated`, of the vector of squares (up to the rounding of
    three products), without the constant column.
    Requires: strict floating point; no fastmath.
    """


@by_layout(_add_squares_dense, _add_squares_csr)
def add_squares(rows: Rows, i: int, scale: float, vector: Floats) -> None:
    """Add `scale` times the squares of record `i`'s features to `vector`."""


@by_layout(_move_out_dense, _move_out_csr)
def move_out(
    rows: Rows, i: int, vector: Floats, places: Any, entries: Floats, count: int
) -> int:
    """Move the entries of `vector` at record `i` into a list, and leave zeros.

    Dense rows have all entries. The list is `count` long before and holds no place twice;
    returned is its new length.
    """


@by_layout(_look_ahead_dense, _look_ahead_csr)
def look_ahead(rows: Rows, ids: Ints, p: int, vector: Floats) -> None:
    """Prefetch what records after ``ids[p]`` need to meet `vector`."""


def row_width(rows: Rows) -> int:
    """Return the number of features, without the constant column."""
    return int(rows.values.shape[1]) if isinstance(rows, DenseRows) else rows.width
