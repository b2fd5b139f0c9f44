"""SDCA without privacy: sweeps over the records, and their objectives."""

import numpy as np

from dpscd.kernels._jit import jit, jit_uncounted
from dpscd.kernels._memory import prefetch
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Floats, Ints, Rows, add, dot, look_ahead
from dpscd.losses import (
    Loss,
    conjugate,
    dual_step,
    joint_conjugate,
    joint_value,
    record_steps,
    value,
)

# How many records ahead of a sweep labels, weights and duals are asked for.
_AHEAD = 8


@jit_uncounted
def sweep(
    loss: Loss, rows: Rows, records: Records, strength: float, order: Ints, dual: Floats,
    shared: Floats,
) -> None:  # fmt: skip
    """Run one epoch of SDCA, one exact coordinate step after the other: not private."""
    outputs, count = shared.shape[0], order.shape[0]
    for p in range(count):
        look_ahead(rows, order, p, shared[0])
        if p + _AHEAD < count:
            i = order[p + _AHEAD]
            prefetch(records.labels, i, 8)
            prefetch(records.weights, i, 8)
            prefetch(dual, i, 8)
        i = order[p]
        weight = records.weights[i]
        norm = rows.norm[i]
        if not (norm >= 0.0 and weight > 0.0):
            continue
        curvature = weight * norm * norm / strength
        for k in range(outputs):
            label = records.labels[i]
            if outputs > 1:
                label = 1.0 if label == k else -1.0
            prediction = dot(rows, i, shared[k]) / strength
            step = weight * dual_step(loss, prediction, dual[i, k] / weight, label, curvature)
            dual[i, k] += step
            add(rows, i, step, shared[k])


@jit
def objectives(
    loss: Loss, rows: Rows, records: Records, strength: float, k: int, dual: Floats,
    shared: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Return the sums of losses and of conjugates of output k: not private."""
    losses = 0.0
    conjugates = 0.0
    outputs = shared.shape[0]
    for i in range(records.labels.shape[0]):
        weight = records.weights[i]
        if not (rows.norm[i] >= 0.0 and weight > 0.0):
            continue
        label = records.labels[i]
        if outputs > 1:
            label = 1.0 if label == k else -1.0
        prediction = dot(rows, i, shared[k]) / strength
        losses += weight * value(loss, prediction, label)
        conjugates += weight * conjugate(loss, dual[i, k] / weight, label)
    return losses, conjugates


@jit_uncounted
def joint_sweep(
    loss: Loss, rows: Rows, records: Records, strength: float, order: Ints, dual: Floats,
    shared: Floats, steps: Floats,
) -> None:  # fmt: skip
    """Run one epoch of SDCA with a joint loss, one record after another: not private."""
    for p in range(order.shape[0]):
        i = order[p]
        weight = records.weights[i]
        norm = rows.norm[i]
        if not (norm >= 0.0 and weight > 0.0):
            continue
        for k in range(steps.shape[0]):
            steps[k] = dot(rows, i, shared[k]) / strength
        curvature = weight * norm * norm / strength
        record_steps(loss, records.labels[i], weight, curvature, dual[i], steps)
        for k in range(steps.shape[0]):
            dual[i, k] += steps[k]
            add(rows, i, steps[k], shared[k])


@jit
def joint_objectives(
    loss: Loss, rows: Rows, records: Records, strength: float, dual: Floats, shared: Floats
) -> tuple[float, float]:
    """Return the sums of losses and of conjugates of a joint loss: not private."""
    values = 0.0
    conjugates = 0.0
    own = np.empty(shared.shape[0])
    for i in range(records.labels.shape[0]):
        weight = records.weights[i]
        if not (rows.norm[i] >= 0.0 and weight > 0.0):
            continue
        for k in range(own.shape[0]):
            own[k] = dot(rows, i, shared[k]) / strength
        values += weight * joint_value(loss, own, records.labels[i])
        for k in range(own.shape[0]):
            own[k] = dual[i, k] / weight
        conjugates += weight * joint_conjugate(loss, own, records.labels[i])
    return values, conjugates
