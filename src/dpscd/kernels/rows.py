"""Rows of a data matrix, dense or CSR, behind the same few operations.

A record enters the mechanism as ``(factor x, tail)``: ``factor`` scales its row into
the declared ball and the ball to the unit ball, ``tail`` is the constant column of the
intercept (0 without one). ``norm`` is an upper bound of that vector's length, up to
2^-40 of it. Vectors that meet rows have one more entry when there is a tail.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import overload, register_jitable

from dpscd.kernels._jit import REORDERED, jit
from dpscd.kernels._memory import LINE, prefetch

__all__ = [
    "CsrRows",
    "DenseRows",
    "Rows",
    "add",
    "add_squares_truncated",
    "add_truncated",
    "dot",
    "largest_of",
    "look_ahead",
    "measure_rows",
    "ordered_dot",
    "row_width",
]

Floats = npt.NDArray[np.float64]

# Lengths below this are not told from it: squares of smaller numbers underflow.
_SHORTEST = 2.0**-300

# All bits of a double but its sign.
_SIZE_BITS = np.int64(2**63 - 1)

# How many records ahead their own numbers are asked for, then their rows, then what sparse
# rows meet; and bytes of a row, after which the memory goes on by itself.
_NUMBERS_AHEAD, _ROWS_AHEAD, _ENTRIES_AHEAD = 16, 8, 2
_ROW_BYTES, _ENTRIES = 16 * LINE, LINE

# Squares that are added without compensation: 64 by each of four sums, off by 2^-53 each time.
_BLOCK = 256


class DenseRows(NamedTuple):
    """A C-contiguous matrix, one record a row."""

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


def _entries_dense(rows, i):
    return rows.values[i]


def _entries_csr(rows, i):
    return rows.values[rows.indptr[i] : rows.indptr[i + 1]]


def _well_formed_dense(rows, i):
    return True


def _well_formed_csr(rows, i):
    first, last = rows.indptr[i], rows.indptr[i + 1]
    if not 0 <= first <= last <= min(rows.indices.shape[0], rows.values.shape[0]):
        return False
    previous = -1
    for p in range(first, last):
        index = rows.indices[p]
        if not previous < index < rows.width:
            return False
        previous = index
    return True


def dot(rows: Rows, i: int, vector: Floats) -> float:
    """Return the inner product of record `i` with `vector`, its terms in any order.

    For what is not private: the order may differ between types of numbers.
    """
    return _pick(rows, _dot_dense, _dot_csr)(rows, i, vector)


def ordered_dot(rows: Rows, i: int, vector: Floats) -> float:
    """Return the inner product of record `i` with `vector`, in one order of its terms.

    Notes
    -----
    Guarantee: a function of the record's values and of `vector` to the last bit, whatever
    type the values are kept in and wherever the row stands.
    Requires: strict floating point; no fastmath.
    """
    return _pick(rows, _ordered_dot_dense, _dot_csr)(rows, i, vector)


def add(rows: Rows, i: int, scale: float, vector: Floats) -> None:
    """Add `scale` times record `i` to `vector`."""
    _pick(rows, _add_dense, _add_csr)(rows, i, scale, vector)


def add_truncated(rows: Rows, i: int, scale: float, vector: Floats) -> None:
    """Add `scale` times record `i` to `vector`, each entry cut to a whole number.

    Notes
    -----
    Guarantee: the vector that is added is no longer than ``|scale| |record i|`` (up to
    the rounding of one product, 2^-51), and sums of such vectors are exact, so they do
    not depend on the order of the records, while they stay below 2^53.
    Requires: strict floating point; no fastmath.
    """
    _pick(rows, _add_truncated_dense, _add_truncated_csr)(rows, i, scale, vector)


def add_squares_truncated(rows: Rows, i: int, scale: float, vector: Floats) -> None:
    """Add `scale` times the squares of record `i`'s features, each cut to a whole number.

    Notes
    -----
    Guarantee: as for :func:`add_truncated`, of the vector of squares (up to the rounding of
    three products); the constant column is left out.
    Requires: strict floating point; no fastmath.
    """
    pick = _pick(rows, _add_squares_truncated_dense, _add_squares_truncated_csr)
    pick(rows, i, scale, vector)


def look_ahead(rows: Rows, ids: npt.NDArray[np.int64], p: int, vector: Floats) -> None:
    """Ask the memory for what records after ``ids[p]`` need that will meet `vector`."""
    _pick(rows, _look_ahead_dense, _look_ahead_csr)(rows, ids, p, vector)


def _entries(rows: Rows, i: int) -> npt.NDArray[Any]:
    return _pick(rows, _entries_dense, _entries_csr)(rows, i)


def _well_formed(rows: Rows, i: int) -> bool:
    return _pick(rows, _well_formed_dense, _well_formed_csr)(rows, i)


def row_width(rows: Rows) -> int:
    """Return the number of features, the constant column not counted."""
    return int(rows.values.shape[1]) if isinstance(rows, DenseRows) else rows.width


def _pick(rows: Any, dense: Any, csr: Any) -> Any:
    # Called with a value by Python and with a Numba type (instance_class) by overloads.
    kind = getattr(rows, "instance_class", None) or type(rows)
    return dense if kind is DenseRows else csr


@overload(dot, jit_options={"fastmath": REORDERED})
def _dot(rows, i, vector):
    return _pick(rows, _dot_dense, _dot_csr)


@overload(ordered_dot)
def _ordered_dot(rows, i, vector):
    return _pick(rows, _ordered_dot_dense, _dot_csr)


@overload(add)
def _add(rows, i, scale, vector):
    return _pick(rows, _add_dense, _add_csr)


@overload(add_truncated)
def _add_truncated(rows, i, scale, vector):
    return _pick(rows, _add_truncated_dense, _add_truncated_csr)


@overload(add_squares_truncated)
def _add_squares_truncated(rows, i, scale, vector):
    return _pick(rows, _add_squares_truncated_dense, _add_squares_truncated_csr)


@overload(look_ahead)
def _look_ahead(rows, ids, p, vector):
    return _pick(rows, _look_ahead_dense, _look_ahead_csr)


@overload(_entries)
def _entries_overload(rows, i):
    return _pick(rows, _entries_dense, _entries_csr)


@overload(_well_formed)
def _well_formed_overload(rows, i):
    return _pick(rows, _well_formed_dense, _well_formed_csr)


@jit
def largest_of(x: npt.NDArray[Any]) -> float:
    """Return the largest absolute value of `x`; infinity or NaN if one is no number."""
    # Bits of positive doubles are ordered as the doubles are, with NaN above infinity:
    # unlike a maximum of floats this becomes vector instructions.
    largest = np.int64(0)
    for j in range(x.shape[0]):
        bits = np.float64(np.float64(x[j])).view(np.int64) & _SIZE_BITS
        largest = max(largest, bits)
    return np.int64(largest).view(np.float64)


@register_jitable
def _square_product(x: npt.NDArray[Any], unit: float) -> float:
    """Return the sum of the squares of ``unit x``, every fourth one by itself.

    Written out, because an order that the compiler may choose differs between single and
    double precision, and between processors.
    """
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    whole = x.shape[0] - x.shape[0] % 4
    for j in range(0, whole, 4):
        a, b = unit * np.float64(x[j]), unit * np.float64(x[j + 1])
        c, d = unit * np.float64(x[j + 2]), unit * np.float64(x[j + 3])
        first += a * a
        second += b * b
        third += c * c
        fourth += d * d
    total = (first + second) + (third + fourth)
    for j in range(whole, x.shape[0]):
        a = unit * np.float64(x[j])
        total += a * a
    return total


@register_jitable
def _squares(x: npt.NDArray[Any], unit: float) -> float:
    """Return the sum of the squares of ``unit x``, within 2^-45 of it for any width.

    A block is off by less than 2^-46; the blocks are added with compensation.
    """
    squares, lost = 0.0, 0.0
    for first in range(0, x.shape[0], _BLOCK):
        term = _square_product(x[first : first + _BLOCK], unit) - lost
        after = squares + term
        lost = (after - squares) - term
        squares = after
    return squares


@jit
def measure_rows(rows: Rows, row_bound: float, scale: float) -> None:
    """Fill ``rows.factor`` and ``rows.norm`` from the values.

    Parameters
    ----------
    rows : Rows
        Rows whose ``factor`` and ``norm`` are to be written.
    row_bound : float
        Longer rows are scaled down to this length.
    scale : float
        Length of the longest possible ``(row, constant)``; all are divided by it.

    Notes
    -----
    Guarantee: ``norm[i] (1 + 2^-40)`` is at least the length of ``(factor x_i, tail)``
    as later operations compute it, for every input. Both numbers are a function of the row's
    values and the public ones, to the last bit: not of the other rows, nor of whether the
    values are kept in single or double precision. A row that holds a NaN, an infinity
    or, in CSR, a pointer or index that is out of range or not larger than the one before it
    (a duplicate would count twice) gets norm NaN: every kernel then lets it contribute
    nothing.
    Requires: strict floating point; no fastmath.
    Proof: docs/proofs/shared_vector.md, "The contribution of one record".
    """
    for i in range(rows.factor.shape[0]):
        rows.factor[i], rows.norm[i] = 0.0, np.nan
        if not _well_formed(rows, i):
            continue
        x = _entries(rows, i)
        largest = largest_of(x)
        if not largest < np.inf:
            continue
        factor, length = 1.0 / scale, 0.0
        if largest > 0.0:
            # A power of two that brings the largest entry near 1: no square is lost.
            unit = math.ldexp(1.0, min(max(-math.frexp(largest)[1], -1000), 1000))
            relative = math.sqrt(_squares(x, unit))
            if relative > row_bound * unit:
                factor = row_bound / scale * unit / relative
            length = factor / unit * relative
        rows.factor[i] = factor
        empty = largest == 0.0 and rows.tail == 0.0
        norm = math.sqrt(length * length + rows.tail * rows.tail)
        rows.norm[i] = 0.0 if empty else max(norm, _SHORTEST)
