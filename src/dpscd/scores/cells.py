"""Measures from noisy counts of cells, each record in one: confusion, recall, the AUC."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpscd.scores.intervals import Found, around, ratio
from dpscd.scores.measure import Answers, Measure, Sums

__all__ = ["Auc", "Confusion", "Recall", "bins_for"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Cells(Measure):
    """A measure from counts: a record adds 1 to one cell, or nothing."""

    @abstractmethod
    def places(self, answers: Answers) -> Any:
        """Return the cell of each record whose class is known."""

    def each(self, answers: Answers) -> Floats:
        """Return a 1 in the cell of each record; nothing if its class is unknown."""
        known = np.flatnonzero(answers.labels >= 0)
        each = np.zeros((self.length, len(answers.labels)))
        each[self.places(answers.at(known)), known] = 1.0
        return each


@dataclass(frozen=True)
class Confusion(_Cells):
    """The share of all records in each pair of a true and a predicted class."""

    classes: int  # number of classes

    @property
    def length(self) -> int:
        """Pairs of classes."""
        return self.classes**2

    def places(self, answers: Answers) -> Any:
        """Return the cell of each record."""
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

    def places(self, answers: Answers) -> Any:
        """Return the cell of each record."""
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
    """Return the number of bins of probabilities for the AUC, from public numbers.

    Noise grows as the root of the number of bins and the error of binning falls as its inverse:
    with these the latter is about a quarter of the former, where a quarter of the records is of
    the rarer class. `multiplier` is the approximate standard deviation of the noise.
    """
    wanted: float = (n / (0.6 * multiplier)) ** (2.0 / 3.0)
    return min(1024, max(4, math.ceil(wanted)))


@dataclass(frozen=True)
class Auc(_Cells):
    """The probability that a record of the second class is ranked above one of the first.

    Notes
    -----
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

    def places(self, answers: Answers) -> Any:
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
