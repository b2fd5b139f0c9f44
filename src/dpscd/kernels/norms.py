"""Row lengths: the factor that scales a row into the declared ball, and a bound of its norm."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit
from dpscd.kernels.rows import Rows, by_layout
from dpscd.late import register_jitable

# Lengths below this count as this: squares of smaller numbers underflow.
_SHORTEST = 2.0**-300

# All bits of a double but its sign.
_SIZE_BITS = np.int64(2**63 - 1)

# Squares that are added without compensation: 64 by each of four sums, off by 2^-53 each time.
_BLOCK = 256


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


@by_layout(_entries_dense, _entries_csr)
def _entries(rows: Rows, i: int) -> npt.NDArray[Any]:
    """Return the values of a row."""


@by_layout(_well_formed_dense, _well_formed_csr)
def _well_formed(rows: Rows, i: int) -> bool:
    """Return whether the indices of a row are in range and rise."""


@jit
def largest_of(x: npt.NDArray[Any]) -> float:
    """Return the largest absolute value of `x`; infinity or NaN if it holds one."""
    # Bits of positive doubles are ordered as the doubles are, with NaN above infinity:
    # unlike a maximum of floats this becomes vector instructions.
    largest = np.int64(0)
    for j in range(x.shape[0]):
        bits = np.float64(np.float64(x[j])).view(np.int64) & _SIZE_BITS
        largest = max(largest, bits)
    return np.int64(largest).view(np.float64)


@register_jitable
def _square_product(x: npt.NDArray[Any], unit: float) -> float:
    """Return the sum of the squares of ``unit x``, in four interleaved sums.

    The order is fixed: one that the compiler chose would differ between types of numbers.
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

    Rows longer than `row_bound` are scaled down to it; all are divided by `scale`, the length
    of the longest possible ``(row, constant)``.

    Guarantee: ``norm[i] (1 + 2^-40)`` is at least the length of ``(factor x_i, tail)`` as later
    operations compute it, for every input. Both numbers are a function of the row's values and
    the public ones, to the last bit, in single or double precision. A row that holds a NaN, an
    infinity or, in CSR, a pointer or index that is out of range or does not rise gets norm NaN:
    every kernel then lets it contribute nothing.
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
