"""Gradient steps over lots: stochastic gradient descent, plain and private.

The model here is ``w = shared / strength``, one row an output; the gradient of record i is
``slope(x_i . w) x_i`` for each output, clipped jointly.
"""

import math

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit
from dpscd.kernels.dual import Records, StepConstants, release, shorten
from dpscd.kernels.rows import Rows, add, add_truncated, dot
from dpscd.losses import Loss, slope

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# What slopes_of found.
_SILENT, _WHOLE, _CLIPPED = 0, 1, 2


@jit
def slopes_of(
    loss: Loss, rows: Rows, records: Records, clip: float, model: Floats, i: int, slopes: Floats
) -> int:
    """Compute record i's slopes for all outputs, its gradient clipped jointly.

    Guarantee: ``|slopes| |record i| <= clip (1 - 2^-21)`` for every input, NaN and
    infinity included; the slopes depend on record i and the released `model` alone.
    Proof: docs/proofs/shared_vector.md, "The contribution of one record": the steps there are
    any functions of the record and of what was released.
    """
    weight = records.weights[i]
    norm = rows.norm[i]
    if not (norm > 0.0 and weight > 0.0):
        return _SILENT
    outputs = slopes.shape[0]
    squares = 0.0
    for k in range(outputs):
        label = records.labels[i]
        if outputs > 1:
            label = 1.0 if label == k else -1.0
        slopes[k] = weight * slope(loss, dot(rows, i, model[k]), label)
        squares += slopes[k] * slopes[k]
    if not shorten(slopes, norm, clip):
        return _SILENT
    return _CLIPPED if math.sqrt(squares) * norm > clip else _WHOLE


@jit
def _move(
    model: Floats, gradient: Floats, decay: float, rate: float, average: Floats, keep: bool
) -> None:
    """Take one step against the gradient and the ridge; add the model to the average."""
    for k in range(model.shape[0]):
        for j in range(model.shape[1]):
            model[k, j] = decay * model[k, j] - rate * gradient[k, j]
            if keep:
                average[k, j] += model[k, j]


@jit
def descend(
    loss: Loss,
    rows: Rows,
    records: Records,
    clip: float,
    std: float,
    decay: float,
    rate: float,
    ids: Ints,
    starts: Ints,
    normals: Floats,
    average_from: int,
    model: Floats,
    average: Floats,
) -> int:
    """Run a chunk of steps in plain floats; return how many gradients were clipped."""
    outputs, width = model.shape
    slopes = np.empty(outputs)
    total = np.empty((outputs, width))
    clipped = 0
    for t in range(starts.shape[0] - 1):
        for k in range(outputs):
            for j in range(width):
                total[k, j] = std * normals[t, k * width + j]
        for p in range(starts[t], starts[t + 1]):
            i = ids[p]
            found = slopes_of(loss, rows, records, clip, model, i, slopes)
            if found != _SILENT:
                clipped += found == _CLIPPED
                for k in range(outputs):
                    add(rows, i, slopes[k], total[k])
        _move(model, total, decay, rate, average, t >= average_from)
    return clipped


@jit
def descend_private(
    loss: Loss,
    rows: Rows,
    records: Records,
    numbers: StepConstants,
    decay: float,
    rate: float,
    ids: Ints,
    starts: Ints,
    normals: Floats,
    average_from: int,
    model: Floats,
    average: Floats,
) -> int:
    """Run a chunk of steps of DP-SGD; return how many gradients were clipped.

    Guarantee: one step releases the noisy sum of a lot, the mechanism of
    docs/proofs/shared_vector.md with steps that have no memory; the model is computed from what
    was released.
    Requires: lots are Poisson and whole; normals are fresh.
    """
    outputs, width = model.shape
    slopes = np.empty(outputs)
    total = np.empty((outputs, width))
    released = np.empty((outputs, width))
    clipped = 0
    for t in range(starts.shape[0] - 1):
        total[:] = 0.0
        for p in range(starts[t], starts[t + 1]):
            i = ids[p]
            found = slopes_of(loss, rows, records, numbers.clip, model, i, slopes)
            if found != _SILENT:
                clipped += found == _CLIPPED
                for k in range(outputs):
                    add_truncated(rows, i, slopes[k] / numbers.cell, total[k])
        released[:] = 0.0
        for k in range(outputs):
            noise = normals[t, k * width : (k + 1) * width]
            release(total[k], noise, numbers, released[k])
        _move(model, released, decay, rate, average, t >= average_from)
    return clipped
