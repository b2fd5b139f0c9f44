"""Measures that are means over records: accuracy, log loss, Brier score, errors of numbers."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpscd.scores.intervals import Found, Interval, around
from dpscd.scores.measure import Answers, Measure, Sums

__all__ = ["AbsoluteErrors", "Accuracy", "Brier", "LogLoss", "SquaredErrors", "own_chance"]

Floats = npt.NDArray[np.float64]

# A number g between 0 and 1 and 3 g (1 - g) are together no longer than 1.
SPREAD = 3.0


@dataclass(frozen=True)
class _Mean(Measure):
    """A mean of losses between 0 and a bound; an unusable record has the bound.

    Notes
    -----
    A record of loss l adds ``g = 1 - l / bound``, and ``3 g (1 - g)`` to tell the variance,
    which is ``mean g - mean g (1 - g) - (mean g)^2``. Proof: docs/proofs/score.md, "Means".
    """

    bound: float  # largest loss of a record: larger ones are cut

    @property
    def length(self) -> int:
        """The gain ``1 - l / bound``, and its spread."""
        return 2

    @abstractmethod
    def losses(self, answers: Answers) -> Any:
        """Return the loss of every record; one that is not a number counts as the bound."""

    def facts(self) -> dict[str, Any]:
        """Return the bound."""
        return {"bound": self.bound}

    def each(self, answers: Answers) -> Floats:
        """Return the gain of each record, and its spread."""
        with np.errstate(all="ignore"):
            good = 1.0 - np.asarray(self.losses(answers), dtype=np.float64) / self.bound
        good = np.clip(np.where(np.isfinite(good), good, 0.0), 0.0, 1.0)
        return np.stack([good, SPREAD * good * (1.0 - good)])

    def found(self, sums: Sums, level: float) -> Found:
        """Return the mean loss."""
        mean, noise = _mean(sums)
        inside = min(1.0, max(0.0, mean))
        largest = inside * (1.0 - inside)
        spread = largest - float(sums.values[1]) / (SPREAD * sums.count)
        variance = min(largest, max(0.0, spread)) / sums.count
        good = _intervals(mean, noise, variance, level)
        return Found(
            self.bound * (1.0 - inside),
            *(Interval(self.bound * (1.0 - x.high), self.bound * (1.0 - x.low)) for x in good),
        )


def _mean(sums: Sums) -> tuple[float, float]:
    """Return the mean of the first number, and the variance of its noise."""
    mean = float(sums.values[0]) / sums.count
    return mean, (sums.std**2 + (mean * sums.count_std) ** 2) / sums.count**2


def _intervals(
    mean: float, noise: float, variance: float, level: float
) -> tuple[Interval, Interval]:
    """Return the whole interval of a mean in [0, 1], and that of the noise alone."""
    return (
        around(mean, noise + variance, level).within(0.0, 1.0),
        around(mean, noise, level).within(0.0, 1.0),
    )


@dataclass(frozen=True)
class Accuracy(Measure):
    """The share of records whose class is predicted; unknown classes count as wrong."""

    @property
    def length(self) -> int:
        """Whether it was right: the variance follows from the mean."""
        return 1

    def each(self, answers: Answers) -> Floats:
        """Return which records are predicted right."""
        right = (answers.labels == answers.predictions) & (answers.labels >= 0)
        each: Floats = right.astype(np.float64)[None]
        return each

    def found(self, sums: Sums, level: float) -> Found:
        """Return the share."""
        mean, noise = _mean(sums)
        inside = min(1.0, max(0.0, mean))
        variance = inside * (1.0 - inside) / sums.count
        return Found(inside, *_intervals(mean, noise, variance, level))


def own_chance(answers: Answers) -> Floats:
    """Return the predicted probability of each record's own class; NaN if it is unknown."""
    places = np.maximum(answers.labels, 0)[:, None]
    own = np.take_along_axis(answers.chances, places, axis=1)[:, 0]
    return np.where(answers.labels >= 0, own, np.nan)


@dataclass(frozen=True)
class LogLoss(_Mean):
    """The mean of -log p of the own class, at most `bound`."""

    needs_chances: ClassVar[bool] = True

    def losses(self, answers: Answers) -> Any:
        """Return the losses."""
        chance: Any = np.maximum(own_chance(answers), math.exp(-self.bound))
        return -np.log(chance)


@dataclass(frozen=True)
class Brier(_Mean):
    """The mean squared distance of probabilities from the truth; half of it for two classes."""

    needs_chances: ClassVar[bool] = True

    def losses(self, answers: Answers) -> Any:
        """Return the squared distances."""
        own, chances = own_chance(answers), answers.chances
        if chances.shape[1] == 2:
            return np.square(1.0 - own)
        # sum (p - e)^2 over classes: other classes' squares, and (1 - own)^2.
        return np.square(chances).sum(axis=1) - np.square(own) + np.square(1.0 - own)


@dataclass(frozen=True)
class SquaredErrors(_Mean):
    """The mean squared error, labels and predictions clipped to the bounds of labels."""

    bounds: tuple[float, float]  # public bounds of the labels

    def facts(self) -> dict[str, Any]:
        """Return the bounds."""
        return {**super().facts(), "y_bounds": list(self.bounds)}

    def errors(self, answers: Answers) -> Any:
        """Return the errors; those that are not finite become NaN."""
        labels = np.where(np.isfinite(answers.labels), answers.labels, np.nan)
        return np.clip(answers.predictions, *self.bounds) - np.clip(labels, *self.bounds)

    def losses(self, answers: Answers) -> Any:
        """Return the squared errors."""
        return np.square(self.errors(answers))


@dataclass(frozen=True)
class AbsoluteErrors(SquaredErrors):
    """The mean absolute error, labels and predictions clipped to the bounds of labels."""

    def losses(self, answers: Answers) -> Any:
        """Return the absolute errors."""
        return np.abs(self.errors(answers))
