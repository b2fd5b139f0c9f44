"""The moments accountant (Abadi et al., 2016) as the paper uses it.

``epsilon = MA(delta, sigma, q, T)`` from the log-moments of the sampled Gaussian at whole
orders, and the search for the smallest sigma. It is valid for Poisson lots and a
mechanism whose sensitivity is 1 in units of the noise; it is looser than
:mod:`dpscd.privacy.accounting`, which every guarantee of this library uses.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp

from dpscd.errors import CalibrationError, ParameterError

#: The orders tried; implementations of the time tried up to 32. No order up to m brings epsilon
#: below log(1/delta) / m: at the paper's delta = 1e-3 those 32 end at 0.216 and cannot give its
#: epsilon = 0.1.
ORDERS = tuple(range(1, 256))

_SMALLEST, _LARGEST = 1e-2, 1e6
_CLOSE = 0.01  # the paper searches sigma until epsilon is met to 1 %


def log_moment(order: int, sigma: float, q: float) -> float:
    """Return the log-moment of one step, ``log E (P/Q)^(order + 1)`` under Q."""
    # P = (1 - q) N(0, sigma^2) + q N(1, sigma^2) and Q = N(0, sigma^2). The moment in the other
    # direction is never larger (Mironov, Talwar and Zhang, arXiv:1908.10530). All terms of the
    # sum are positive, so that nothing cancels, whatever the rate.
    k = np.arange(order + 2.0)
    chosen = gammaln(order + 2.0) - gammaln(k + 1.0) - gammaln(order + 2.0 - k)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = (order + 1.0 - k) * np.log1p(-q)
    out[-1] = 0.0
    return float(logsumexp(chosen + k * math.log(q) + out + k * (k - 1.0) / (2.0 * sigma**2)))


@lru_cache(maxsize=4096)
def moments_epsilon(
    delta: float, sigma: float, q: float, steps: int, orders: Sequence[int] = ORDERS
) -> float:
    """Return MA(delta, sigma, q, T): the epsilon of `steps` steps at `delta`."""
    if not (0.0 < delta < 1.0 and sigma > 0.0 and 0.0 < q <= 1.0 and steps >= 1):
        raise ParameterError(
            f"delta={delta!r} must lie in (0, 1), sigma={sigma!r} be positive, q={q!r} lie in "
            f"(0, 1] and steps={steps!r} be at least 1."
        )
    needed = math.log(1.0 / delta)
    return min((steps * log_moment(m, sigma, q) + needed) / m for m in orders)


def moments_sigma(
    epsilon: float, delta: float, q: float, steps: int, orders: Sequence[int] = ORDERS
) -> float:
    """Return the smallest sigma with MA(delta, sigma, q, T) <= epsilon, met to 1 %."""
    low, high = _SMALLEST, _LARGEST
    if not moments_epsilon(delta, high, q, steps, orders) <= epsilon:
        raise CalibrationError(
            f"epsilon={epsilon!r} at delta={delta!r} is out of reach of the moments up to "
            f"order {max(orders)}: use larger orders, epsilon or delta."
        )
    while high > low * (1.0 + 1e-12):
        middle = math.sqrt(low * high)
        found = moments_epsilon(delta, middle, q, steps, orders)
        low, high = (low, middle) if found <= epsilon else (middle, high)
        if (1.0 - _CLOSE) * epsilon <= found <= epsilon:
            return middle
    return high
