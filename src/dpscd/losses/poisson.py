"""The Poisson loss of counts under a log link, half the deviance."""

import math
from typing import Any, NamedTuple

from dpscd.late import register_jitable
from dpscd.losses.logistic import plain_exp, rough_log

TASK, LOG_LINK, OF_MEANS = "counts", True, True

_HIGHEST = 700.0  # exponentials of larger numbers leave the range of doubles
_MOST = 1e300


class Poisson(NamedTuple):
    """Half the deviance of a count `y` whose mean is ``rate exp(u)``."""

    rate: float = 1.0  # the mean where the prediction is 0, in the unit of the labels
    unit: float = 1.0  # the unit of the labels, by which the user's loss is divided


def rescaled(loss: Poisson, label_scale: float) -> Poisson:
    """Return the loss of labels that were divided by `label_scale`; predictions stay."""
    return Poisson(loss.rate / label_scale, loss.unit * label_scale)


def made(labels: Any, centred: bool, threshold: float | None) -> Poisson:
    """Return the loss around the middle of the counts, or around exposures of one."""
    del threshold
    return Poisson((labels.low + labels.high) / 2.0 if centred else labels.usual)


@register_jitable
def _entropy(m: float, rate: float) -> float:
    return m * math.log(m / rate) - m if m > 0.0 else 0.0


@register_jitable
def value(loss: Poisson, u: float, y: float) -> float:
    """Return the loss of prediction `u` for label `y`, 0 where the mean is the label."""
    return loss.rate * math.exp(min(u, _HIGHEST)) - y * u + _entropy(y, loss.rate)


@register_jitable
def slope(loss: Poisson, u: float, y: float) -> float:
    return loss.rate * math.exp(min(u, _HIGHEST)) - y


@register_jitable
def curvature(loss: Poisson, u: float, y: float) -> float:
    return loss.rate * math.exp(min(u, _HIGHEST))


@register_jitable
def conjugate(loss: Poisson, a: float, y: float) -> float:
    return _entropy(y - a, loss.rate) - _entropy(y, loss.rate)


@register_jitable(forceinline=True)
def project(loss: Poisson, a: float, y: float) -> float:
    return min(a, y)


# The step has no branch and calls no library, as that of the logistic loss.


@register_jitable(forceinline=True)
def _start(p: float, k: float) -> float:
    """Return a number within 0.25 of the root of ``t + k exp(t) = p``."""
    # w = k exp(t) solves w + log(w) = x.
    log_k = rough_log(k)
    x = p + log_k
    above = max(x, 1.0)
    far = rough_log(above - rough_log(above)) - log_k
    near = p - 1.0 / (1.0 + (above - x))
    return far if x > 1.0 else near


@register_jitable(forceinline=True)
def _householder(t: float, p: float, k: float) -> tuple[float, float]:
    """Return exp(t), and a move of fourth order from t to the root of ``t + k exp(t) = p``."""
    e = plain_exp(t)
    w = k * e
    newton = min(max((p - t - w) / (1.0 + w), -1.0), 1.0)
    bend = newton * w / (1.0 + w)
    return e, newton * (1.0 + 0.5 * bend) / (1.0 + bend + newton * bend * (1.0 / 6.0))


@register_jitable(forceinline=True)
def dual_step(loss: Poisson, u: float, a: float, y: float, k: float) -> float:
    """Return the minimiser z of ``conjugate(a + z) + u z + k z^2 / 2``.

    The mean ``y - a - z = rate exp(t)`` has ``t + k rate exp(t) = u + k (y - a)``, found by two
    rounds of Householder's method from a start within 0.25. It has no lower bound but the
    kernels' clip.
    """
    p = min(max(u + k * (y - min(a, y)), -_HIGHEST), _MOST)
    k = min(k * loss.rate, _MOST)
    t = min(_start(p, k), _HIGHEST)
    _, move = _householder(t, p, k)
    e, move = _householder(min(t + move, _HIGHEST), p, k)
    grown = e * (1.0 + move * (1.0 + move * (0.5 + move * (1.0 / 6.0))))
    return y - min(loss.rate * grown, _MOST) - a
