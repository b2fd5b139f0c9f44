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
    loss: Softmax,
    count: int,
    y: Floats,
    weight: Floats,
    k: Floats,
    duals: Floats,
    steps: Floats,
) -> None:
    """Turn the margins of all classes, in `steps`, into steps of duals of some records.

    Parameters
    ----------
    loss : Softmax
        The loss.
    count : int
        Number of records.
    y, weight, k : arrays
        Class number, weight and curvature of every record.
    duals, steps : arrays of shape (classes, records)
        One column for each record.

    Notes
    -----
    The direction is from p to softmax(m), and the step s of it maximises a lower bound of the
    dual objective: the conjugate, a negative entropy, is 1-strongly convex in the sum of
    absolute values.
    All loops are over records within, each number of a record on its own: what becomes of one
    does not depend on who stands beside it.
    """
    classes = steps.shape[0]
    room = np.empty((3, count))
    first, second, third = room[0], room[1], room[2]
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
            margins[b] = exp_of_negative(margins[b] - first[b])
            second[b] += margins[b]
    for b in range(count):
        first[b] = 0.0
        third[b] = 0.0
    for j in range(classes):
        own, before = steps[j], duals[j]
        for b in range(count):
            there = (1.0 if y[b] == j else 0.0) - before[b] / weight[b]
            q = there - own[b] / second[b]
            own[b] = q
            first[b] += abs(q)
            third[b] += q * q
    for b in range(count):
        sizes = first[b] * first[b]
        below = sizes + k[b] * third[b]
        # What is no number stays none, and where nothing is left to do nothing is done.
        first[b] = weight[b] * sizes / (below if below != 0.0 else 1.0)
    for j in range(classes):
        own = steps[j]
        for b in range(count):
            own[b] *= first[b]


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
