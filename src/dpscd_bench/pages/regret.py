"""Regret: what our untuned estimators lose, or win, against another method in one cell."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, variance

from dpscd_bench.experiments.accuracy import Result
from dpscd_bench.opponents.registry import METHODS
from dpscd_bench.opponents.setting import measure_of, worth_of

__all__ = ["Regret", "best_rival", "mean_worth", "regret"]


@dataclass(frozen=True)
class Regret:
    """Ours minus another method, so that positive means that ours is better.

    Attributes
    ----------
    difference : float
        Of the means over seeds; of MSE, the other's minus ours.
    error : float
        Standard error of that difference.
    """

    difference: float
    error: float

    @property
    def below(self) -> bool:
        """Whether ours is below by more than two standard errors."""
        return not self.difference >= -2.0 * self.error

    @property
    def above(self) -> bool:
        """Whether ours is above by more than two standard errors."""
        return self.difference > 2.0 * self.error


def mean_worth(result: Result) -> float:
    """Return the mean of the main metric so that larger is better; -inf if a run is broken."""
    values = result.values(measure_of(result.setting.loss))
    return fmean(worth_of(result.setting.loss, value) for value in values)


def regret(ours: Result, other: Result) -> Regret:
    """Return our regret against another method.

    Parameters
    ----------
    ours, other : Result
        Results in the same setting, both with at least one seed.
    """
    measure = measure_of(ours.setting.loss)
    error = math.sqrt(sum(_squared_error(one.values(measure)) for one in (ours, other)))
    mine, theirs = mean_worth(ours), mean_worth(other)
    if mine == theirs == -math.inf:
        return Regret(0.0, 0.0)
    return Regret(mine - theirs, error)


def best_rival(results: Iterable[Result]) -> Result | None:
    """Return the best of the methods that ours is measured against, by their means."""
    rivals = [one for one in results if one.rows and METHODS[one.method].rival]
    return max(rivals, key=mean_worth, default=None)


def _squared_error(values: tuple[float, ...]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return variance(finite) / len(finite) if len(finite) > 1 else 0.0
