"""The logistic loss with the paper's dual step: one Newton step inside a box.

Value, slope, curvature and conjugate are those of the logistic loss; only the step is
another. It is here to reproduce the paper; :class:`~dpscd.losses.logistic.Logistic` solves
the subproblem.
"""

import math
from typing import NamedTuple

from numba.extending import register_jitable

from dpscd.losses.logistic import conjugate, curvature, slope, value

__all__ = ["PublishedLogistic", "conjugate", "curvature", "slope", "value"]


class PublishedLogistic(NamedTuple):
    """The logistic loss as the paper trains it."""

    edge: float = 1e-4  # duals are kept within ``[edge, 1 - edge]``, where the logarithms exist


@register_jitable
def project(loss: PublishedLogistic, a: float, y: float) -> float:
    """Return the dual nearest to `a` with ``y a`` in ``[edge, 1 - edge]``."""
    return y * min(max(y * a, loss.edge), 1.0 - loss.edge)


@register_jitable
def dual_step(loss: PublishedLogistic, u: float, a: float, y: float, k: float) -> float:
    """Return one Newton step on ``conjugate(a + z) + u z + k z^2 / 2``, kept in the box."""
    b = y * project(loss, a, y)
    gradient = math.log(b / (1.0 - b)) + y * u
    hessian = 1.0 / (b * (1.0 - b)) + k
    return y * (y * project(loss, y * (b - gradient / hessian), y) - b)
