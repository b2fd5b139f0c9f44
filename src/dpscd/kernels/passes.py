"""Passes over the records: lengths of rows, predictions, probabilities, and exact moments."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit, jit_inlined, jit_uncounted
from dpscd.kernels.rows import (
    MARGIN,
    Floats,
    Ints,
    Rows,
    add,
    add_squares,
    add_squares_truncated,
    add_truncated,
    by_layout,
    move_out,
    ordered_dot,
)
from dpscd.late import register_jitable
from dpscd.losses.logistic import plain_exp

# Lengths below this count as this: squares of smaller numbers underflow.
_SHORTEST = 2.0**-300

# All bits of a double but its sign.
_SIZE_BITS = np.int64(2**63 - 1)

# Squares that are added without compensation: 64 by each of four sums, off by 2^-53 each time.
_BLOCK = 256

_HIGHEST = 700.0  # exponentials of larger numbers leave the range of doubles


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
    """Return the sum of squares of ``unit x``, in four interleaved sums of a fixed order."""
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
    """Return the sum of squares of ``unit x``, within 2^-45: blocks are compensated."""
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
    operations compute it, for every input. Both are a function of the row's values and public
    numbers, to the last bit, in either precision. A row that holds a NaN, an infinity or, in
    CSR, a pointer or index that is out of range or does not rise gets norm NaN: it contributes
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


@jit
def predictions(rows: Rows, shared: Floats, strength: float, out: Floats) -> None:
    """Fill in predictions by one output's shared vector, NaN for an unusable record."""
    for i in range(out.shape[0]):
        out[i] = np.nan
        if rows.norm[i] >= 0.0:
            out[i] = ordered_dot(rows, i, shared) / strength


@jit_uncounted
def fill_probabilities(
    rows: Rows, parts: Floats, coef: Floats, intercept: float, scale: float, caps: Floats,
    probabilities: Floats, slopes: Floats,
) -> None:  # fmt: skip
    """Fill in each record's probability of the second class, and its slope in the decision.

    Products of `rows`, cut to some length, with `coef` are divided by `parts`, the part of each
    row that is left, and decisions multiplied by `scale`; `caps` are those of
    :class:`dpscd.link.Link`.

    Guarantee: both are functions of the record's own row, to the last bit, NaN where there is
    no decision. No library is called, which might round otherwise on another processor.
    """
    for i in range(probabilities.shape[0]):
        probabilities[i] = slopes[i] = np.nan
        if not rows.norm[i] >= 0.0:
            continue
        away = scale * (ordered_dot(rows, i, coef) / parts[i] + intercept)
        if math.isnan(away):
            continue
        small = plain_exp(-abs(away)) if abs(away) < _HIGHEST else 0.0
        likely, unlikely = 1.0 / (1.0 + small), small / (1.0 + small)
        second, first = (likely, unlikely) if away >= 0.0 else (unlikely, likely)
        # How fast the logarithm of the odds grows: of each class only below its cap.
        growth = 0.0
        if second < caps[0]:
            growth += first
        if first < caps[1]:
            growth += second
        odds, against = min(second, caps[0]), min(first, caps[1])
        probability = odds / (odds + against)
        probabilities[i] = probability
        slopes[i] = scale * growth * probability * (against / (odds + against))


@jit_uncounted
def fill_means(
    rows: Rows, parts: Floats, coef: Floats, intercept: float, means: Floats
) -> None:
    """Fill in expected counts under a log link, as :func:`fill_probabilities` does."""
    for i in range(means.shape[0]):
        means[i] = np.nan
        if not rows.norm[i] >= 0.0:
            continue
        line = ordered_dot(rows, i, coef) / parts[i] + intercept
        if not math.isnan(line):
            means[i] = plain_exp(min(line, _HIGHEST))


@jit_inlined
def _scale(cell: float) -> float:
    """Return the factor that makes features and squares together at most 1 long."""
    return MARGIN * math.sqrt(0.5) / cell


@jit_inlined
def _counts(rows: Rows, weights: Floats, i: int) -> bool:
    """Return whether record i counts; a norm of NaN marks one that cannot be used."""
    return rows.norm[i] <= 1.0 + 2.0**-30 and weights[i] > 0.0


@jit_uncounted
def add_moments(rows: Rows, weights: Floats, cell: float, total: Floats) -> None:
    """Add every record's ``(x, x * x) / sqrt(2)``, in multiples of `cell`, to `total`.

    Rows are at most 1 long and have no constant column; a record counts if its weight is
    positive.

    Guarantee: a record adds a vector of length at most 1, cut toward zero, whatever it holds;
    sums are exact while they stay below 2^53 cells.
    Proof: docs/proofs/moments.md.
    """
    scale = _scale(cell)
    for i in range(weights.shape[0]):
        if _counts(rows, weights, i):
            add_truncated(rows, i, scale, total[0])
            add_squares_truncated(rows, i, scale, total[1])


@jit
def add_person_moments(
    rows: Rows, weights: Floats, starts: Ints, cell: float, total: Floats
) -> None:
    """Add every person's mean of ``(x, x * x) / sqrt(2)``, in multiples of `cell`, to `total`.

    Guarantee: a person adds a vector of length at most 1, however many rows it has: a mean of
    such vectors, cut toward zero once. A person of one row adds what a record does, to the last
    bit.
    Proof: docs/proofs/persons.md, "Other releases".
    """
    scale = _scale(cell)
    width = total.shape[1]
    sums = np.zeros((2, width))
    places, entries = np.empty(width, np.int64), np.empty(width)
    for g in range(starts.shape[0] - 1):
        first, last = starts[g], starts[g + 1]
        usable = 0
        for i in range(first, last):
            if _counts(rows, weights, i):
                usable += 1
        for i in range(first, last):
            if not _counts(rows, weights, i):
                continue
            if last - first == 1:
                add_truncated(rows, i, scale, total[0])
                add_squares_truncated(rows, i, scale, total[1])
            else:
                add(rows, i, scale / usable, sums[0])
                add_squares(rows, i, scale / usable, sums[1])
        for k in range(2 if last - first > 1 else 0):
            for i in range(first, last):
                if _counts(rows, weights, i):
                    count = move_out(rows, i, sums[k], places, entries, 0)
                    for q in range(count):
                        total[k, places[q]] += np.trunc(entries[q])


@jit_uncounted
def fill_person_means(
    each: Floats, usable: npt.NDArray[np.bool_], starts: Ints, out: Floats
) -> None:
    """Fill in every person's mean of numbers of its usable rows, or 0 if none is usable.

    Guarantee: a function of the person's own rows to the last bit, added in their order.
    Requires: strict floating point; no fastmath.
    """
    for k in range(each.shape[0]):
        for g in range(starts.shape[0] - 1):
            total, count = 0.0, 0
            for i in range(starts[g], starts[g + 1]):
                if usable[i]:
                    total += each[k, i]
                    count += 1
            out[k, g] = total / count if count else 0.0
