"""Base of all measures: a short vector per record, and an estimate from its noisy sum."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from dpscd.kernels.rows import MARGIN

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
    covers at least with the level, wherever the truth is, and is shorter than one extended by
    the slack.
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


COUNT_WEIGHT = math.sqrt(0.5)
"""What a record adds to a secret count, and what its vector is multiplied by then."""


class Answers(NamedTuple):
    """Labels and predictions of records: a secret."""

    # codes of the classes, below 0 for unknown labels; or numbers, maybe not finite
    labels: Any
    predictions: Any  # encoded as `labels` are
    chances: Any = None  # of shape (records, classes), where the measure needs them

    def at(self, rows: Any) -> "Answers":
        """Return the answers of some records."""
        chances = None if self.chances is None else self.chances[rows]
        return Answers(self.labels[rows], self.predictions[rows], chances)


@dataclass(frozen=True)
class Sums:
    """Released sums of vectors, and the number of records."""

    values: Floats
    std: float  # standard deviation of the noise in each sum
    count: float  # the public number of records, or a released one with noise `count_std`
    count_std: float = 0.0


@dataclass(frozen=True)
class Measure(ABC):
    """A measure of a model: public facts only.

    Requires: :meth:`each` gives every record a vector no longer than 1, 0 where the record
    cannot be used, as a function of its own label, prediction and probabilities.
    """

    needs_count: ClassVar[bool] = True
    """Whether the estimate depends on the number of records."""
    needs_chances: ClassVar[bool] = False
    """Whether probabilities are needed."""

    secret_count: bool  # whether the number of records is secret, so that it is released too

    @property
    @abstractmethod
    def length(self) -> int:
        """Size of a record's vector."""

    @abstractmethod
    def each(self, answers: Answers) -> Floats:
        """Return the vectors of records, one column each."""

    @abstractmethod
    def found(self, sums: Sums, level: float) -> Found:
        """Return the estimate and its intervals."""

    def rank(self, sums: Sums) -> float:
        """Return the number by which models are ordered: larger is better, nothing is cut."""
        # The mean of the first number, which grows as a model gets better.
        return float(sums.values[0]) / sums.count

    def facts(self) -> dict[str, Any]:
        """Return the public facts used."""
        return {}

    @property
    def counts(self) -> bool:
        """Whether the number of records is released too."""
        return self.secret_count and self.needs_count

    @property
    def size(self) -> int:
        """Count of released numbers."""
        return self.length + int(self.counts)

    def vectors(self, answers: Answers) -> Floats:
        """Return the vectors of records, including what they add to a count.

        Guarantee: no longer than 1, for with a count they have a squared length of half that
        of :meth:`each`, plus one half.
        """
        each = self.each(answers)
        if not self.counts:
            return each
        ones = np.full((1, each.shape[1]), COUNT_WEIGHT)
        return np.concatenate([COUNT_WEIGHT * each, ones])

    def sums(self, noisy: Floats, std: float, n: int) -> Sums:
        """Return released numbers, with noise of `std`, in the terms of :meth:`each`."""
        # A released count replaces the declared `n`.
        # What records add is shortened by a margin, which is taken back here.
        noisy, std = noisy / MARGIN, std / MARGIN
        if not self.counts:
            return Sums(noisy, std, float(n))
        std = std / COUNT_WEIGHT
        noisy = noisy / COUNT_WEIGHT
        # A count that noise has hidden is of no use; the least keeps intervals wide.
        return Sums(noisy[:-1], std, max(float(noisy[-1]), std), std)
