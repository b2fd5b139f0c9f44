"""All measures: means over records, and estimates from noisy counts of cells."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpscd.scores.measure import Answers, Found, Interval, Measure, Sums, around, ratio

Floats = npt.NDArray[np.float64]

# A number g between 0 and 1 and 3 g (1 - g) are together no longer than 1.
SPREAD = 3.0


@dataclass(frozen=True)
class _Mean(Measure):
    """A mean of losses between 0 and a bound; an unusable record has the bound.

    A record of loss l adds ``g = 1 - l / bound``, and ``3 g (1 - g)`` to tell the variance,
    which is ``mean g - mean g (1 - g) - (mean g)^2``. Proof: docs/proofs/score.md, "Means".
    """

    length: ClassVar[int] = 2  # the gain ``1 - l / bound``, and its spread

    bound: float  # largest loss of a record: larger ones are cut

    @abstractmethod
    def _losses(self, answers: Answers) -> Any:
        """Return the loss of every record; one that is not a number counts as the bound."""

    def facts(self) -> dict[str, Any]:
        """Return the bound."""
        return {"bound": self.bound}

    def each(self, answers: Answers) -> Floats:
        """Return the gain of each record, and its spread."""
        with np.errstate(all="ignore"):
            good = 1.0 - np.asarray(self._losses(answers), dtype=np.float64) / self.bound
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

    length: ClassVar[int] = 1  # whether it was right: the variance follows from the mean

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

    def _losses(self, answers: Answers) -> Any:
        chance: Any = np.maximum(own_chance(answers), math.exp(-self.bound))
        return -np.log(chance)


@dataclass(frozen=True)
class Brier(_Mean):
    """The mean squared distance of probabilities from the truth; half of it for two classes."""

    needs_chances: ClassVar[bool] = True

    def _losses(self, answers: Answers) -> Any:
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

    def _errors(self, answers: Answers) -> Any:
        """Return the errors; those that are not finite become NaN."""
        labels = np.where(np.isfinite(answers.labels), answers.labels, np.nan)
        return np.clip(answers.predictions, *self.bounds) - np.clip(labels, *self.bounds)

    def _losses(self, answers: Answers) -> Any:
        return np.square(self._errors(answers))


@dataclass(frozen=True)
class AbsoluteErrors(SquaredErrors):
    """The mean absolute error, labels and predictions clipped to the bounds of labels."""

    def _losses(self, answers: Answers) -> Any:
        return np.abs(self._errors(answers))


# Squares of what good, label, squared label and each of four further moments are multiplied
# by; the spread of good comes free. They sum to 1.
_GOOD, _LABEL, _SQUARE, _MORE = 0.72, 0.1, 0.1, 0.02
WEIGHTS = np.sqrt([_GOOD, _LABEL, _SQUARE, SPREAD**2 * _GOOD, _MORE, _MORE, _MORE, _MORE])
"""What each moment is multiplied by."""


@dataclass(frozen=True)
class RSquared(SquaredErrors):
    """One minus the mean squared error over the variance of the labels.

    A record whose label lies at u in [-1, 1] between the bounds, and whose squared error leaves
    g = 1 - (error / range)^2, adds g, u, u^2, g (1 - g), g u, g u^2, u^3 and u^4, each times
    its weight: no longer than 1. The last five tell the sampling variance alone.
    Proof: docs/proofs/score.md, "R2".
    """

    length: ClassVar[int] = len(WEIGHTS)  # three moments, and five of their products

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


@dataclass(frozen=True)
class _Cells(Measure):
    """A measure from counts: a record adds 1 to one cell, or nothing."""

    @abstractmethod
    def _places(self, answers: Answers) -> Any:
        """Return the cell of each record whose class is known."""

    def each(self, answers: Answers) -> Floats:
        """Return a 1 in the cell of each record; nothing if its class is unknown."""
        known = np.flatnonzero(answers.labels >= 0)
        each = np.zeros((self.length, len(answers.labels)))
        each[self._places(answers.at(known)), known] = 1.0
        return each


@dataclass(frozen=True)
class Confusion(_Cells):
    """The share of all records in each pair of a true and a predicted class."""

    classes: int  # number of classes

    @property
    def length(self) -> int:
        """Pairs of classes."""
        return self.classes**2

    def _places(self, answers: Answers) -> Any:
        return answers.labels * self.classes + answers.predictions

    def found(self, sums: Sums, level: float) -> Found:
        """Return the shares: true classes are rows, predicted ones columns."""
        share = sums.values.reshape(self.classes, self.classes) / sums.count
        inside = np.clip(share, 0.0, 1.0)
        noise = (sums.std**2 + (share * sums.count_std) ** 2) / sums.count**2
        both = noise + inside * (1.0 - inside) / sums.count
        return Found(inside, *(around(share, x, level).within(0.0, 1.0) for x in (both, noise)))


@dataclass(frozen=True)
class Recall(_Cells):
    """The share of each class's records that is predicted as this class."""

    needs_count: ClassVar[bool] = False

    classes: int  # number of classes

    @property
    def length(self) -> int:
        """Wrong and right records of each class."""
        return 2 * self.classes

    def _places(self, answers: Answers) -> Any:
        return 2 * answers.labels + (answers.labels == answers.predictions)

    def found(self, sums: Sums, level: float) -> Found:
        """Return the recall of each class."""
        wrong, right = sums.values.reshape(self.classes, 2).T
        total = wrong + right
        value = np.clip(right / np.maximum(total, sums.std), 0.0, 1.0)
        noise = sums.std**2
        # As a record is right or wrong, sum (right - value)^2 is that of coin tosses.
        tosses = np.maximum(total, 0.0) * value * (1.0 - value)
        return Found(
            value,
            *(
                ratio(right, total, (noise + more, 2.0 * noise, noise), level).within(0.0, 1.0)
                for more in (tosses, 0.0)
            ),
        )


def bins_for(n: int, multiplier: float) -> int:
    """Return the number of bins of probabilities for the AUC, from public numbers."""
    # Noise grows as the root of the number of bins and the error of binning falls as its
    # inverse: with these the latter is about a quarter of the former, where a quarter of the
    # records is of the rarer class. `multiplier` is the approximate standard deviation of the
    # noise.
    wanted: float = (n / (0.6 * multiplier)) ** (2.0 / 3.0)
    return min(1024, max(4, math.ceil(wanted)))


@dataclass(frozen=True)
class Auc(_Cells):
    """The probability that a record of the second class is ranked above one of the first.

    The estimate is the AUC of binned probabilities, ties counting half. Only pairs in one bin
    are unknown, and half their share is the most that the exact one differs
    by. Proof: docs/proofs/score.md, "AUC".
    """

    needs_count: ClassVar[bool] = False
    needs_chances: ClassVar[bool] = True

    bins: int  # equal intervals of the second class's probability

    @property
    def length(self) -> int:
        """Bins of each class."""
        return 2 * self.bins

    def facts(self) -> dict[str, Any]:
        """Return the number of bins."""
        return {"bins": self.bins}

    def _places(self, answers: Answers) -> Any:
        """Return the bin of each record, the second class after the first."""
        chance = answers.chances[:, 1]
        chance = np.where(np.isfinite(chance), chance, 0.0)
        placed = np.clip(np.floor(chance * self.bins), 0, self.bins - 1).astype(np.int64)
        return answers.labels * self.bins + placed

    def rank(self, sums: Sums) -> float:
        """Return the AUC itself."""
        return float(self.found(sums, 0.95)[0])

    def found(self, sums: Sums, level: float) -> Found:
        """Return the AUC of the bins; intervals include the error of binning."""
        low, high = sums.values.reshape(2, self.bins)
        # A class that noise has hidden is of no use; the least keeps intervals wide.
        least = sums.std * math.sqrt(self.bins)
        lows, highs = (max(float(x.sum()), least) for x in (low, high))
        below = (np.cumsum(low) - 0.5 * low) / lows
        above = 1.0 - (np.cumsum(high) - 0.5 * high) / highs
        value = float((high * below).sum()) / highs
        hidden = max(0.0, float((low * high).sum()) / (2.0 * lows * highs))
        # The value is a ratio, of the sum of `below` over the second class to its size, both of
        # which vary with that class; the first class moves the top alone.
        first = np.square((above - value) * highs / lows)
        noise = np.full(self.bins, sums.std**2)
        drawn = float((high * np.square(below - value)).sum() + (low * first).sum())
        parts = [(noise + high, noise + low) if drawn > 0.0 else (noise, noise), (noise, noise)]
        found = []
        for own, other in parts:
            spread = (
                float((own * np.square(below)).sum() + (other * first).sum()),
                float(own.sum()),
                float((own * below).sum()),
            )
            found.append(ratio(value * highs, highs, spread, level, hidden).within(0.0, 1.0))
        return Found(min(1.0, max(0.0, value)), *found)
