"""Attacks on the released path."""

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Attack", "LikelihoodRatio"]

Floats = npt.NDArray[np.float64]


class Attack(Protocol):
    """A statistic of the path of each canary's coordinate, built up step by step."""

    def see(self, increments: Floats) -> None:
        """Take the increment of each canary's coordinate in one step."""

    @property
    def scores(self) -> Floats:
        """One score per canary; higher means that it took part."""


class LikelihoodRatio:
    """The most powerful test against a canary whose contribution never changes.

    A canary that is drawn, with probability q = `rate`, moves its coordinate by `shift`, else
    the coordinate moves by noise alone, so with x an increment the log-likelihood ratio of
    present to absent is the sum over steps of ``log(1 - q + q exp(x shift / std^2 - shift^2 /
    (2 std^2)))``. By the lemma of Neyman and Pearson no other use of the path does better;
    since a constant step attains the bound of the theory, neither does any other record. If
    `replaced`, the absent canary is not empty but contributes ``-shift``.
    """

    def __init__(self, rate: float, shift: float, std: float, *, replaced: bool) -> None:
        self.rate = rate
        self.slope = shift / std**2
        self.drop = shift**2 / (2.0 * std**2)
        self.replaced = replaced
        self.total: Floats | None = None

    def see(self, increments: Floats) -> None:
        """Add the log-likelihood ratio of one step."""
        exponent = self.slope * increments
        gain = self._log_ratio(exponent)
        if self.replaced:
            gain -= self._log_ratio(-exponent)
        self.total = gain if self.total is None else self.total + gain

    @property
    def scores(self) -> Floats:
        """Return the log-likelihood ratio of each canary."""
        return np.zeros(0) if self.total is None else self.total

    def _log_ratio(self, exponent: Floats) -> Floats:
        if self.rate == 1.0:
            return exponent - self.drop
        # The maximum of both terms is taken out by logaddexp: no overflow.
        stay, join = math.log1p(-self.rate), math.log(self.rate) - self.drop
        return np.logaddexp(stay, exponent + join)
