"""Lots of the paper's algorithms: noise on duals or coordinates, and on what they add up to."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows, add, dot
from dpscd.losses import Loss, curvature, dual_step, project, slope

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class PublishedNumbers(NamedTuple):
    """The public numbers of a chunk, in the paper's own terms."""

    # ``lam n`` in the dual: predictions are ``x . shared / strength``; n in the primal.
    strength: float
    separability: float  # the lot size L of the subproblem, equation (5)
    clip: float  # the scaling factor C: largest step of a dual or coordinate
    # Standard deviation of the noise on each of the lot and on the shared vector.
    std: float


@jit
def _step(
    loss: Loss,
    rows: Rows,
    records: Records,
    numbers: PublishedNumbers,
    shared: Floats,
    a: float,
    i: int,
) -> float:
    """Return record i's step, not yet scaled: the minimiser of equation (5)."""
    # A record that was zeroed out still has its label and hence a step: that is what makes
    # Lemma 1 fail (docs/understanding/published_argument.md).
    weight = records.weights[i]
    norm = rows.norm[i]
    if not (norm >= 0.0 and weight > 0.0):
        return 0.0
    label = records.labels[i]
    bend = weight * numbers.separability * norm * norm / numbers.strength
    prediction = dot(rows, i, shared) / numbers.strength
    # The box is enforced on a copy, before the step: appendix A.2.
    inside = project(loss, a / weight, label)
    return weight * dual_step(loss, prediction, inside, label, bend)


@jit
def advance_published(
    loss: Loss,
    rows: Rows,
    records: Records,
    numbers: PublishedNumbers,
    sequential: bool,
    ids: Ints,
    starts: Ints,
    dual_normals: Floats,
    normals: Floats,
    dual: Floats,
    shared: Floats,
) -> int:
    """Run a chunk of steps as published; return how many steps were scaled down."""
    total = np.empty(shared.shape[0])
    target = shared if sequential else total
    clipped = 0
    for t in range(starts.shape[0] - 1):
        total[:] = 0.0
        for p in range(starts[t], starts[t + 1]):
            i = ids[p]
            # Alg. 1, lines 7 and 8; Alg. 3, lines 6 and 7
            step = _step(loss, rows, records, numbers, shared, dual[i], i)
            if abs(step) > numbers.clip:
                step *= numbers.clip / abs(step)
                clipped += 1
            # Alg. 1, lines 9 and 12: a member appears once, so nobody reads this dual
            # again before the lot ends and its noise may come along.
            dual[i] += step + numbers.std * dual_normals[p]
            add(rows, i, step, target)
        for j in range(shared.shape[0]):  # Alg. 1, line 13
            shared[j] += total[j] + numbers.std * normals[t, j]
    return clipped


@jit
def advance_primal(
    loss: Loss,
    features: Rows,
    records: Records,
    numbers: PublishedNumbers,
    ridge: Floats,
    ids: Ints,
    starts: Ints,
    coef_normals: Floats,
    normals: Floats,
    coef: Floats,
    predictions: Floats,
) -> int:
    """Run a chunk of steps of Algorithm 2; return how many steps were scaled down."""
    # A feature is a row here: the matrix is transposed. Predictions are the shared vector.
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
            gradient = gradient / numbers.strength + ridge[j] * coef[j]
            hessian = numbers.separability * hessian / numbers.strength + ridge[j]
            step = -gradient / hessian
            if abs(step) > numbers.clip:
                step *= numbers.clip / abs(step)
                clipped += 1
            add(features, j, step, total)  # line 9
            coef[j] += step + numbers.std * coef_normals[p]  # lines 10 and 12
        for i in range(count):  # line 13
            predictions[i] += total[i] + numbers.std * normals[t, i]
    return clipped


@jit
def combine(rows: Rows, dual: Floats, total: Floats) -> None:
    """Add ``X dual``, the shared vector that belongs to the duals, to `total`: not private."""
    for i in range(dual.shape[0]):
        if rows.norm[i] >= 0.0:
            add(rows, i, dual[i], total)


@jit
def project_all(loss: Loss, records: Records, dual: Floats) -> Floats:
    """Return the feasible duals nearest to `dual`."""
    nearest = np.empty(dual.shape[0])
    for i in range(dual.shape[0]):
        weight = records.weights[i]
        nearest[i] = 0.0
        if weight > 0.0:
            nearest[i] = weight * project(loss, dual[i] / weight, records.labels[i])
    return nearest
