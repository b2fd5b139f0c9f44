"""The logistic loss, ``log(1 + exp(-y u))`` with y in {-1, 1}."""

import math
from typing import NamedTuple

import numpy as np

from dpscd.late import register_jitable

TASK = "classification"


class Logistic(NamedTuple):
    """The logistic loss."""

    scale: float = 1.0  # always 1: Numba cannot pass a tuple without fields


@register_jitable
def sigmoid(s: float) -> float:
    """Return ``1 / (1 + exp(-s))`` without overflow."""
    e = math.exp(-abs(s))
    return 1.0 / (1.0 + e) if s >= 0.0 else e / (1.0 + e)


@register_jitable
def value(loss: Logistic, u: float, y: float) -> float:
    m = y * u
    return math.log1p(math.exp(-abs(m))) + max(0.0, -m)


@register_jitable
def slope(loss: Logistic, u: float, y: float) -> float:
    return -y * sigmoid(-y * u)


@register_jitable
def curvature(loss: Logistic, u: float, y: float) -> float:
    return sigmoid(y * u) * sigmoid(-y * u)


@register_jitable
def conjugate(loss: Logistic, a: float, y: float) -> float:
    b = y * a
    entropy = 0.0
    if b > 0.0:
        entropy += b * math.log(b)
    if b < 1.0:
        entropy += (1.0 - b) * math.log1p(-b)
    return entropy


@register_jitable(forceinline=True)
def project(loss: Logistic, a: float, y: float) -> float:
    return y * min(max(y * a, 0.0), 1.0)


# The step below has no branch and calls no library, so that a loop over records becomes
# vector instructions: exponential and logarithm are made of sums, products and bits.

_LOG2_E = math.log2(math.e)
_LN2 = math.log(2.0)
_LN2_HEAD = math.floor(_LN2 * 2.0**32) * 2.0**-32  # its product with an exponent is exact
_LN2_REST = 1.9082149292705877e-10
_TO_WHOLE = 1.5 * 2.0**52  # added to a small number, it leaves the nearest whole one
_WHOLE_BITS = int(np.float64(_TO_WHOLE).view(np.int64))
_LOWEST = -700.0  # exp(-700) is 1e-304: zero for every purpose here
_STEEPEST = 1e140  # squares of larger curvatures leave the range of doubles


@register_jitable(forceinline=True)
def plain_exp(s: float) -> float:
    """Return ``exp(s)`` for s <= 700, within 2^-50 of it, and ``exp(-700)`` below -700."""
    s = max(s, _LOWEST)
    shifted = s * _LOG2_E + _TO_WHOLE
    exponent = shifted - _TO_WHOLE
    r = (s - exponent * _LN2_HEAD) - exponent * _LN2_REST
    series = 1.0 / 39916800.0 + r * (1.0 / 479001600.0)
    series = 1.0 / 3628800.0 + r * series
    series = 1.0 / 362880.0 + r * series
    series = 1.0 / 40320.0 + r * series
    series = 1.0 / 5040.0 + r * series
    series = 1.0 / 720.0 + r * series
    series = 1.0 / 120.0 + r * series
    series = 1.0 / 24.0 + r * series
    series = 1.0 / 6.0 + r * series
    series = 0.5 + r * series
    series = 1.0 + (r + r * r * series)
    power = np.float64(shifted).view(np.int64) - np.int64(_WHOLE_BITS)
    bits = np.float64(series).view(np.int64) + (power << np.int64(52))
    return np.int64(bits).view(np.float64)


@register_jitable(forceinline=True)
def rough_log(x: float) -> float:
    """Return ``log(x)`` to 0.03, from the bits of x > 0; large and negative at 0."""
    return np.float64(np.float64(x).view(np.int64)) * (_LN2 * 2.0**-52) - 1022.957 * _LN2


@register_jitable(forceinline=True)
def _start(p: float, k: float) -> float:
    """Return a number within 0.3 of the root s <= 0 of ``s + k sigmoid(s) = p``."""
    # sigmoid(s) is (1 - b) exp(s), and b about p / k: with x = p + log(k (1 - b)) the
    # equation is w + log(w) = x for w = p - s, whose root is x - log(1 + x) or so.
    x = p + rough_log(k - min(max(p, 0.0), 0.5 * k))
    above = max(x, 0.0)
    w = above - rough_log(1.0 + above) + 0.567 / (1.0 + 0.2 * above + (above - x))
    return min(p - w, 0.0)


@register_jitable(forceinline=True)
def _halley(s: float, p: float, k: float) -> tuple[float, float]:
    """Return sigmoid(s), and Halley's move from s to the root of ``s + k sigmoid(s) = p``."""
    e = plain_exp(s)
    r = e / (1.0 + e)
    bend = k * r * (1.0 - r)
    steep = 1.0 + bend
    above = s + k * r - p
    return r, 2.0 * above * steep / (2.0 * steep * steep - above * bend * (1.0 - 2.0 * r))


@register_jitable(forceinline=True)
def dual_step(loss: Logistic, u: float, a: float, y: float, k: float) -> float:
    """Return the minimiser z of ``conjugate(a + z) + u z + k z^2 / 2``.

    With ``b = y (a + z) = sigmoid(s)`` it solves ``s + k sigmoid(s) = p``, ``p = k y a - y u``,
    and -s solves it with k - p for p: the smaller of the two has a root s <= 0. Two rounds of
    Halley's method from a start within 0.3 find b within 1e-11 for every k and p.
    """
    k = min(k, _STEEPEST)
    p = k * min(max(y * a, 0.0), 1.0) - y * u
    near = min(p, k - p)
    s = _start(near, k)
    r, move = _halley(s, near, k)
    r, move = _halley(s - move, near, k)
    b = r - r * (1.0 - r) * move * (1.0 - 0.5 * move * (1.0 - 2.0 * r))
    far = np.float64(p > 0.5 * k)
    return y * (b + far * (1.0 - 2.0 * b)) - a
