"""The logistic loss, ``log(1 + exp(-y u))`` with y in {-1, 1}."""

import math
from typing import NamedTuple

from numba.extending import register_jitable

__all__ = ["Logistic"]


class Logistic(NamedTuple):
    """The logistic loss.

    Attributes
    ----------
    tolerance : float
        The Newton iteration of the dual step stops when it moves less than this.
    iterations : int
        ... and at the latest after this many rounds.
    """

    tolerance: float = 1e-9
    iterations: int = 25


@register_jitable
def sigmoid(s: float) -> float:
    """Return ``1 / (1 + exp(-s))`` without overflow."""
    e = math.exp(-abs(s))
    return 1.0 / (1.0 + e) if s >= 0.0 else e / (1.0 + e)


@register_jitable
def value(loss: Logistic, u: float, y: float) -> float:
    """Return the loss of prediction `u` for label `y`."""
    m = y * u
    return math.log1p(math.exp(-abs(m))) + max(0.0, -m)


@register_jitable
def slope(loss: Logistic, u: float, y: float) -> float:
    """Return the derivative of the loss in the prediction."""
    return -y * sigmoid(-y * u)


@register_jitable
def curvature(loss: Logistic, u: float, y: float) -> float:
    """Return the second derivative of the loss in the prediction."""
    return sigmoid(y * u) * sigmoid(-y * u)


@register_jitable
def conjugate(loss: Logistic, a: float, y: float) -> float:
    """Return the convex conjugate of the loss at ``-a``, for a feasible `a`."""
    b = y * a
    entropy = 0.0
    if b > 0.0:
        entropy += b * math.log(b)
    if b < 1.0:
        entropy += (1.0 - b) * math.log1p(-b)
    return entropy


@register_jitable
def project(loss: Logistic, a: float, y: float) -> float:
    """Return the dual nearest to `a` with ``y a`` in [0, 1]."""
    return y * min(max(y * a, 0.0), 1.0)


@register_jitable
def dual_step(loss: Logistic, u: float, a: float, y: float, k: float) -> float:
    """Return the minimiser z of ``conjugate(a + z) + u z + k z^2 / 2``.

    Notes
    -----
    With ``b = y (a + z) = sigmoid(s)`` the minimiser solves ``s + k sigmoid(s) = p``,
    ``p = k y a - y u``. The left side increases, is convex for s < 0 and concave for
    s > 0; Newton's method started between zero and the root's outer bound (``p`` or
    ``p - k``) therefore runs monotonically into the root and needs no safeguard. The
    paper takes one Newton step in b instead, which is slow near the ends of the box.
    """
    b = y * project(loss, a, y)
    p = k * b - y * u
    s = min(0.0, p) if p < 0.5 * k else max(0.0, p - k)
    for _ in range(loss.iterations):
        r = sigmoid(s)
        move = (s + k * r - p) / (1.0 + k * r * (1.0 - r))
        s -= move
        if not abs(move) > loss.tolerance:
            break
    return y * sigmoid(s) - a
