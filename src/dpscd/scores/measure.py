"""Base of all measures: a short vector per record, and an estimate from its sum."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels.margin import MARGIN
from dpscd.scores.intervals import Found

__all__ = ["COUNT_WEIGHT", "Answers", "Measure", "Sums"]

Floats = npt.NDArray[np.float64]

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

    Notes
    -----
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
        """Return the number by which models are ordered: larger is better, nothing is cut.

        It is the mean of the first number, which grows as a model gets better.
        """
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

        Notes
        -----
        Guarantee: no longer than 1, for with a count they have a squared length of half that
        of :meth:`each`, plus one half.
        """
        each = self.each(answers)
        if not self.counts:
            return each
        ones = np.full((1, each.shape[1]), COUNT_WEIGHT)
        return np.concatenate([COUNT_WEIGHT * each, ones])

    def sums(self, noisy: Floats, std: float, n: int) -> Sums:
        """Return the released numbers in the terms of :meth:`each`.

        `std` is the standard deviation of their noise. A released count replaces the declared
        `n`.
        """
        # What records add is shortened by a margin, which is taken back here.
        noisy, std = noisy / MARGIN, std / MARGIN
        if not self.counts:
            return Sums(noisy, std, float(n))
        std = std / COUNT_WEIGHT
        noisy = noisy / COUNT_WEIGHT
        # A count that noise has hidden is of no use; the least keeps intervals wide.
        return Sums(noisy[:-1], std, max(float(noisy[-1]), std), std)
