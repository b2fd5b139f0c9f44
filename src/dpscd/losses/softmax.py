"""The multinomial loss of a record's margins m, ``log(sum_k exp(m_k)) - m_y``, of all outputs.

A record's dual is ``a = e_y - p`` with p in the simplex, where steps keep it:
docs/proofs/softmax.md.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.late import register_jitable
from dpscd.losses.logistic import plain_exp

TASK = "classification"

Floats = npt.NDArray[np.float64]


class Softmax(NamedTuple):
    """The multinomial loss."""

    scale: float = 1.0  # always 1: Numba cannot pass a tuple without fields


@register_jitable
def record_steps(
    loss: Softmax, y: float, weight: float, k: float, duals: Floats, steps: Floats
) -> None:
    """Turn the margins of all classes, in `steps`, into steps of a record's duals.

    The direction is from p to softmax(m); the step maximises a lower bound of the dual
    objective.
    """
    top = steps[0]
    for j in range(1, steps.shape[0]):
        top = max(top, steps[j])
    total = 0.0
    for j in range(steps.shape[0]):
        steps[j] = plain_exp(steps[j] - top)
        total += steps[j]
    sizes, squares = 0.0, 0.0
    for j in range(steps.shape[0]):
        steps[j] = _direction(y == j, duals[j] / weight, steps[j] / total)
        sizes += abs(steps[j])
        squares += steps[j] * steps[j]
    part = _part(sizes, squares, weight, k)
    for j in range(steps.shape[0]):
        steps[j] *= part


@register_jitable
def fill_steps(
    loss: Softmax,
    count: int,
    y: Floats,
    weight: Floats,
    k: Floats,
    duals: Floats,
    steps: Floats,
    workspace: Floats,
) -> None:
    """Do what :func:`record_steps` does for records, one per column, to the last bit."""
    classes = steps.shape[0]
    first, second, third = workspace[0], workspace[1], workspace[2]
    for b in range(count):
        first[b] = steps[0, b]
    for j in range(1, classes):
        margins = steps[j]
        for b in range(count):
            first[b] = max(first[b], margins[b])
    for b in range(count):
        second[b] = 0.0
    for j in range(classes):
        margins = steps[j]
        for b in range(count):
            margins[b] = plain_exp(margins[b] - first[b])
            second[b] += margins[b]
    for b in range(count):
        first[b] = 0.0
        third[b] = 0.0
    for j in range(classes):
        own, before = steps[j], duals[j]
        for b in range(count):
            own[b] = _direction(y[b] == j, before[b] / weight[b], own[b] / second[b])
            first[b] += abs(own[b])
            third[b] += own[b] * own[b]
    for b in range(count):
        first[b] = _part(first[b], third[b], weight[b], k[b])
    for j in range(classes):
        own = steps[j]
        for b in range(count):
            own[b] *= first[b]


@register_jitable(forceinline=True)
def _direction(own: bool, dual: float, probability: float) -> float:
    return ((1.0 if own else 0.0) - dual) - probability


@register_jitable(forceinline=True)
def _part(sizes: float, squares: float, weight: float, k: float) -> float:
    """Return the covered part of the direction, times the weight."""
    square = sizes * sizes
    below = square + k * squares
    # NaN stays NaN, and the step is 0 where the direction is 0.
    return weight * square / (below if below != 0.0 else 1.0)


@register_jitable
def joint_value(loss: Softmax, margins: Floats, y: float) -> float:
    """Return the loss of a record of class `y`."""
    top = margins[0]
    for j in range(1, margins.shape[0]):
        top = max(top, margins[j])
    total = 0.0
    for j in range(margins.shape[0]):
        total += math.exp(margins[j] - top)
    return math.log(total) + top - margins[int(y)]


@register_jitable
def joint_conjugate(loss: Softmax, duals: Floats, y: float) -> float:
    """Return the convex conjugate of the loss at ``-duals``, which are feasible."""
    entropy = 0.0
    for j in range(duals.shape[0]):
        p = (1.0 if y == j else 0.0) - duals[j]
        if p > 0.0:
            entropy += p * math.log(p)
    return entropy
