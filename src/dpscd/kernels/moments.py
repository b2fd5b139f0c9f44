"""Sums of features and of their squares over all records, exact and order-free."""

import math

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit, jit_inlined, jit_uncounted
from dpscd.kernels.rows import (
    MARGIN,
    Rows,
    add,
    add_squares,
    add_squares_truncated,
    add_truncated,
    move_out,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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

    Rows are at most 1 long and have no constant column. A record counts once if its weight is
    positive. Contributions are cut toward zero to multiples of the power of two `cell`;
    `total`, of shape (2, width), is in cells.

    Guarantee: a record adds a vector of length at most 1, whatever it holds, and sums are exact
    while they stay below 2^53 cells.
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
    such vectors, cut toward zero once. A person of one row adds what a record adds, to the last
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

    `each` has shape (numbers, rows), `out` (numbers, persons); a person's rows begin at
    `starts`.

    Guarantee: a function of the person's own rows to the last bit, added in their order; of one
    row, the number itself.
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
