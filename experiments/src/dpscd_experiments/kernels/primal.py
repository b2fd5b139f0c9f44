"""Lots of Algorithm 2 of the paper: coordinates of the model instead of records.

A feature is a row here: the matrix is transposed, and the functions of rows.py give access
to dense and sparse features alike.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows, add
from dpscd.losses import Loss, curvature, slope

__all__ = ["PrimalNumbers", "advance_primal"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class PrimalNumbers(NamedTuple):
    """The public numbers of a chunk, in the paper's own terms."""

    n: float  # the mean of the losses is their sum divided by it
    separability: float  # the lot size L: number of coordinates computed in parallel
    clip: float  # the scaling factor C: largest step of a coordinate
    # Standard deviation of the noise on each coordinate of the lot and on each entry of the
    # auxiliary vector.
    std: float


@jit
def advance_primal(
    loss: Loss,
    features: Rows,
    records: Records,
    numbers: PrimalNumbers,
    ridge: Floats,
    ids: Ints,
    starts: Ints,
    coef_normals: Floats,
    normals: Floats,
    coef: Floats,
    predictions: Floats,
) -> int:
    """Run a chunk of steps of Algorithm 2; return how many steps were scaled down."""
    count = predictions.shape[0]
    slopes, curvatures = np.zeros(count), np.zeros(count)
    column, total = np.empty(count), np.empty(count)
    clipped = 0
    for t in range(starts.shape[0] - 1):
        for i in range(count):
            weight, label = records.weights[i], records.labels[i]
            if weight > 0.0:
                slopes[i] = weight * slope(loss, predictions[i], label)
                curvatures[i] = weight * curvature(loss, predictions[i], label)
        total[:] = 0.0
        for p in range(starts[t], starts[t + 1]):
            j = ids[p]
            column[:] = 0.0
            add(features, j, 1.0, column)
            gradient, hessian = 0.0, 0.0
            for i in range(count):
                gradient += column[i] * slopes[i]
                hessian += column[i] * column[i] * curvatures[i]
            # Alg. 2, lines 7 and 8, on the second-order model of the objective, its
            # coupling between coordinates bounded by their number as in equation (5).
            gradient = gradient / numbers.n + ridge[j] * coef[j]
            hessian = numbers.separability * hessian / numbers.n + ridge[j]
            step = -gradient / hessian
            if abs(step) > numbers.clip:
                step *= numbers.clip / abs(step)
                clipped += 1
            add(features, j, step, total)  # line 9
            coef[j] += step + numbers.std * coef_normals[p]  # lines 10 and 12
        for i in range(count):  # line 13
            predictions[i] += total[i] + numbers.std * normals[t, i]
    return clipped
