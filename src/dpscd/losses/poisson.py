"""The Poisson loss of counts under a log link, half the deviance."""

import math
from typing import NamedTuple

from numba.extending import register_jitable

__all__ = ["Poisson"]

_HIGHEST = 700.0  # exponentials of larger numbers leave the range of doubles
_MOST = 1e300


class Poisson(NamedTuple):
    """Half the deviance of a count `y` whose mean is ``rate exp(u)``.

    Attributes
    ----------
    rate : float
        The mean where the prediction is 0, in the unit of the labels.
    unit : float
        That unit: what the user's loss is divided by.
    """

    rate: float = 1.0
    unit: float = 1.0


def rescaled(loss: Poisson, label_scale: float) -> Poisson:
    """Return the loss of labels that were divided by `label_scale`; predictions stay."""
    return Poisson(loss.rate / label_scale, loss.unit * label_scale)


@register_jitable
def _entropy(m: float, rate: float) -> float:
    return m * math.log(m / rate) - m if m > 0.0 else 0.0


@register_jitable
def value(loss: Poisson, u: float, y: float) -> float:
    """Return the loss of prediction `u` for label `y`, 0 where the mean is the label."""
    return loss.rate * math.exp(min(u, _HIGHEST)) - y * u + _entropy(y, loss.rate)


@register_jitable
def slope(loss: Poisson, u: float, y: float) -> float:
    """Return the derivative of the loss in the prediction."""
    return loss.rate * math.exp(min(u, _HIGHEST)) - y


@register_jitable
def curvature(loss: Poisson, u: float, y: float) -> float:
    """Return the second derivative of the loss in the prediction."""
    return loss.rate * math.exp(min(u, _HIGHEST))


@register_jitable
def conjugate(loss: Poisson, a: float, y: float) -> float:
    """Return the convex conjugate of the loss at ``-a``, for a feasible `a`."""
    return _entropy(y - a, loss.rate) - _entropy(y, loss.rate)


@register_jitable(forceinline=True)
def project(loss: Poisson, a: float, y: float) -> float:
    """Return the dual nearest to `a` that is no larger than the label."""
    return min(a, y)


@register_jitable
def _omega(x: float) -> float:
    """Return the t > 0 with ``t + log(t) = x``, by Newton's method on log(t)."""
    # s = log(t) solves exp(s) + s = x: convex and rising, so Newton's steps from above the
    # root, where log(x) and x are, fall to it.
    s = math.log(x) if x > 1.0 else x
    for _ in range(8):
        t = math.exp(s)
        s -= (t + s - x) / (1.0 + t)
    return math.exp(s)


@register_jitable(forceinline=True)
def dual_step(loss: Poisson, u: float, a: float, y: float, k: float) -> float:
    """Return the minimiser z of ``conjugate(a + z) + u z + k z^2 / 2``.

    Notes
    -----
    With the mean ``m = y - a - z`` it solves ``log(m / rate) + k m = u + k (y - a)``. The mean
    has no upper bound, nor has the step a lower one: the kernels' clip bounds every step.
    """
    away = y - min(a, y)
    q = math.log(loss.rate) + u + k * away
    x = q + math.log(k) if k > 0.0 else -math.inf
    m = min(_omega(x) / k, _MOST) if x > -36.0 else math.exp(min(q, _HIGHEST))
    return y - m - a
