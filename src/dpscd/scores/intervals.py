"""Intervals from released numbers, the noise's variance and an estimated sampling variance."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

__all__ = ["Found", "Interval", "around", "ratio"]

Floats = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """The ends of an interval, or of one per number."""

    low: Any
    high: Any

    def within(self, lowest: float, highest: float) -> "Interval":
        """Return the part of it in the range of a measure."""
        return Interval(np.clip(self.low, lowest, highest), np.clip(self.high, lowest, highest))


class Found(NamedTuple):
    """The estimate of a measure: functions of released numbers."""

    value: Any  # the estimate
    whole: Interval  # for the value in the population
    noise: Interval  # for the value on the records themselves: from the noise alone


def around(value: Any, variance: Any, level: float) -> Interval:
    """Return the interval of a normal estimate that covers with probability `level`."""
    width = _z(level) * np.sqrt(variance)
    return Interval(value - width, value + width)


def _z(level: float) -> float:
    return float(stats.norm.ppf(0.5 * (1.0 + level)))


def _normal(level: float, slack: float, std: float) -> float:
    """Return the number of deviations needed beyond the slack."""
    if not std > 0.0:
        return 0.0
    wide = 2.0 * slack / std

    def missing(c: float) -> float:
        return float(stats.norm.cdf(c + wide) - stats.norm.cdf(-c)) - level

    # One-sided for much slack, two-sided for none.
    return float(optimize.brentq(missing, stats.norm.ppf(level) - 1e-9, _z(level) + 1e-9))


def ratio(top: Any, bottom: Any, spread: Any, level: float, slack: float = 0.0) -> Interval:
    """Return the interval of a ratio, not below 0, of two normal estimates (Fieller).

    `spread` is the variance of `top`, of `bottom`, and their covariance; `slack` bounds the
    bias of the ratio of the means. There is no upper end where the bottom may be 0. With slack
    the interval is that of Imbens and Manski (Econometrica 72, 2004), which for a known slack
    covers at least with the level, wherever within it the truth is, and is shorter than an
    interval extended by the slack.
    """
    deviations = _z(level)
    if slack > 0.0 and bottom > 0.0:
        value = top / bottom
        variance = spread[0] + value * value * spread[1] - 2.0 * value * spread[2]
        deviations = _normal(level, slack, math.sqrt(max(variance, 0.0)) / bottom)
    over, under, both = (deviations**2 * np.asarray(part) for part in spread)
    square = bottom * bottom - under
    middle = top * bottom - both
    rest = middle * middle - square * (top * top - over)
    root = np.sqrt(np.maximum(rest, 0.0))
    scale = np.where(square == 0.0, np.finfo(np.float64).tiny, square)
    first, second = (middle - root) / scale, (middle + root) / scale
    # A bottom clear of 0: what is between the roots. Else what is not, if it begins at one end.
    clear = (square > 0.0) & (second >= 0.0)
    beyond = (square < 0.0) & (rest > 0.0) & (second < 0.0)
    low = np.where(clear, first - slack, np.where(beyond, first - slack, 0.0))
    return Interval(np.maximum(low, 0.0), np.where(clear, second + slack, np.inf))
