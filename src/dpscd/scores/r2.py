"""R2 from the joint noisy moments of labels and squared errors."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpscd.scores.intervals import Found, Interval, ratio
from dpscd.scores.means import SPREAD, SquaredErrors
from dpscd.scores.measure import Answers, Sums

__all__ = ["WEIGHTS", "RSquared"]

Floats = npt.NDArray[np.float64]

# Squares of what good, label, squared label and each of four further moments are multiplied
# by; the spread of good comes free. They sum to 1.
_GOOD, _LABEL, _SQUARE, _MORE = 0.72, 0.1, 0.1, 0.02
WEIGHTS = np.sqrt([_GOOD, _LABEL, _SQUARE, SPREAD**2 * _GOOD, _MORE, _MORE, _MORE, _MORE])
"""What each moment is multiplied by."""


@dataclass(frozen=True)
class RSquared(SquaredErrors):
    """One minus the mean squared error over the variance of the labels.

    Notes
    -----
    A record whose label lies at u in [-1, 1] between the bounds, and whose squared error leaves
    g = 1 - (error / range)^2, adds g, u, u^2, g (1 - g), g u, g u^2, u^3 and u^4, each times
    its weight: no longer than 1. The last five tell the sampling variance alone.
    Proof: docs/proofs/score.md, "R2".
    """

    @property
    def length(self) -> int:
        """Three moments, and five of their products."""
        return len(WEIGHTS)

    def each(self, answers: Answers) -> Floats:
        """Return the weighted moments of each record."""
        low, high = self.bounds
        good = super().each(answers)[0]
        known = np.isfinite(answers.labels) & np.isfinite(answers.predictions)
        labels = np.clip(np.where(known, answers.labels, low), low, high)
        u = np.clip((labels - low) / (high - low) * 2.0 - 1.0, -1.0, 1.0)
        q = u * u
        moments = [good, u, q, good * (1.0 - good), good * u, good * q, u * q, q * q]
        return np.where(known, np.stack(moments) * WEIGHTS[:, None], 0.0)

    def found(self, sums: Sums, level: float) -> Found:
        """Return R2; without a lower bound where noise hides whether labels vary."""
        count = sums.count
        g, u, q, spread, gu, gq, u3, u4 = (sums.values / WEIGHTS / count).tolist()
        # 1 - R2 is `top` / `bottom`, in units of a quarter of the squared range.
        top, bottom = 4.0 * (1.0 - g), q - u * u
        slopes = np.array([[-4.0, 0.0, 0.0], [0.0, -2.0 * u, 1.0]])
        means = np.array([g, u, q])
        noise = np.diag((sums.std / (WEIGHTS[:3] * count)) ** 2)
        noise += np.outer(means, means) * (sums.count_std / count) ** 2
        drawn = _covariance(g, u, q, spread, gu, gq, u3, u4) / count
        least = math.sqrt(float((slopes @ noise @ slopes.T)[1, 1]))
        value = min(1.0, 1.0 - top / max(bottom, least))
        return Found(
            value, *(_interval(top, bottom, slopes @ x @ slopes.T, level)
            for x in (noise + drawn, noise)),
        )  # fmt: skip


def _interval(top: float, bottom: float, spread: Floats, level: float) -> Interval:
    """Return the interval of one minus a ratio."""
    found = ratio(top, bottom, (spread[0, 0], spread[1, 1], spread[0, 1]), level)
    return Interval(1.0 - found.high, 1.0 - found.low).within(-np.inf, 1.0)


def _covariance(
    g: float, u: float, q: float, spread: float, gu: float, gq: float, u3: float, u4: float
) -> Floats:
    """Return the covariance of gain, label and squared label, within possible values."""
    variances = [
        _within(g - spread - g * g, 0.0, 0.25),
        _within(q - u * u, 0.0, 1.0),
        _within(u4 - q * q, 0.0, 0.25),
    ]
    found = np.diag(variances)
    for (i, j), product in (((0, 1), gu - g * u), ((0, 2), gq - g * q), ((1, 2), u3 - u * q)):
        most = math.sqrt(variances[i] * variances[j])
        found[i, j] = found[j, i] = _within(product, -most, most)
    return found


def _within(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))
