"""The multinomial loss of a record's margins m, ``log(sum_k exp(m_k)) - m_y``.

It is one loss of all outputs together, not a sum over them. A record's dual is a vector,
``a = e_y - p`` with p in the simplex; margins that fit it give ``p = softmax(m)``. Steps keep
p in the simplex, and the dual objective rises by at least the part of the record's duality gap
that the step is of the way: docs/proofs/softmax.md.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from dpscd.losses.logistic import exp_of_negative

__all__ = ["Softmax"]

Floats = npt.NDArray[np.float64]


class Softmax(NamedTuple):
    """The multinomial loss.

    Attributes
    ----------
    scale : float
        Not a parameter: always 1. Numba cannot pass a tuple without fields.
    """

    scale: float = 1.0


@register_jitable
def fill_steps(
    loss: Softmax, y: float, weight: float, k: float, duals: Floats, steps: Floats
) -> None:
    """Turn the margins of all classes, in `steps`, into steps of a record's duals.

    Notes
    -----
    The direction is from p to softmax(m), and the step s of it maximises a lower bound of the
    dual objective: the conjugate, a negative entropy, is 1-strongly convex in the sum of
    absolute values.
    """
    top = steps[0]
    for j in range(1, steps.shape[0]):
        top = max(top, steps[j])
    total = 0.0
    for j in range(steps.shape[0]):
        steps[j] = exp_of_negative(steps[j] - top)
        total += steps[j]
    sizes, squares = 0.0, 0.0
    for j in range(steps.shape[0]):
        there = (1.0 if y == j else 0.0) - duals[j] / weight
        steps[j] = there - steps[j] / total
        sizes += abs(steps[j])
        squares += steps[j] * steps[j]
    sizes *= sizes
    below = sizes + k * squares
    part = weight * sizes / below if below > 0.0 else 0.0 * below
    for j in range(steps.shape[0]):
        steps[j] *= part


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
