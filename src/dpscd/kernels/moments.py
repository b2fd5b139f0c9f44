"""Sums of features and of their squares over all records, exact and order-free."""

import math

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit
from dpscd.kernels.margin import MARGIN
from dpscd.kernels.rows import Rows, add_squares_truncated, add_truncated

__all__ = ["add_moments"]

Floats = npt.NDArray[np.float64]


@jit
def add_moments(rows: Rows, weights: Floats, cell: float, total: Floats) -> None:
    """Add every record's ``(x, x * x) / sqrt(2)``, in multiples of `cell`, to `total`.

    Parameters
    ----------
    rows : Rows
        Records of length at most 1, without a constant column.
    weights : array of float
        A record counts once if its weight is positive, else not at all.
    cell : float
        A power of two to multiples of which contributions are cut, toward zero.
    total : array of shape (2, width)
        Sums of features and of their squares, in cells.

    Notes
    -----
    Guarantee: a record adds a vector of length at most 1, whatever it holds, and sums are
    exact while they stay below 2^53 cells.
    Proof: docs/proofs/moments.md.
    """
    scale = MARGIN * math.sqrt(0.5) / cell
    for i in range(weights.shape[0]):
        # A norm of NaN marks a record that cannot be used.
        if rows.norm[i] <= 1.0 + 2.0**-30 and weights[i] > 0.0:
            add_truncated(rows, i, scale, total[0])
            add_squares_truncated(rows, i, scale, total[1])
