"""Regret: what our untuned estimators lose, or win, against another method in one cell."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, variance

from dpscd_experiments.experiments.accuracy import Result
from dpscd_experiments.opponents.registry import METHODS, Method
from dpscd_experiments.opponents.setting import measure_of

__all__ = ["Regret", "best_rival", "mean_worth", "paired_regret", "regret"]

#: Metrics of which less is better.
_FALLING = (
    "mse",
    "log_loss",
    "brier",
    "calibration_error",
    "cpu_seconds",
    "person_mse",
    "person_log_loss",
)


@dataclass(frozen=True)
class Regret:
    """Ours minus another method, so that positive means that ours is better."""

    difference: float  # of the means over seeds; of errors and losses, the other's minus ours
    error: float  # standard error of that difference

    @property
    def below(self) -> bool:
        """Whether ours is below by more than two standard errors."""
        return not self.difference >= -2.0 * self.error

    @property
    def above(self) -> bool:
        """Whether ours is above by more than two standard errors."""
        return self.difference > 2.0 * self.error


def mean_worth(result: Result, metric: str | None = None) -> float:
    """Return the mean of a metric so that larger is better; -inf if a run is broken."""
    measure = metric or measure_of(result.setting.loss)
    return fmean(_worth(measure, value) for value in result.values(measure))


def regret(ours: Result, other: Result, metric: str | None = None) -> Regret:
    """Return our regret against another method."""
    measure = metric or measure_of(ours.setting.loss)
    error = math.sqrt(sum(_squared_error(one.values(measure)) for one in (ours, other)))
    mine, theirs = mean_worth(ours, measure), mean_worth(other, measure)
    if mine == theirs == -math.inf:
        return Regret(0.0, 0.0)
    return Regret(mine - theirs, error)


def paired_regret(ours: Result, other: Result, metric: str) -> Regret:
    """Return our regret against another method that met the same data with the same seeds."""
    mine, theirs = (one.by_seed(metric) for one in (ours, other))
    apart = tuple(
        _worth(metric, mine[seed]) - _worth(metric, theirs[seed])
        for seed in sorted(mine.keys() & theirs.keys())
    )
    return Regret(fmean(apart), math.sqrt(_squared_error(apart)))


def best_rival(
    results: Iterable[Result],
    known: Mapping[str, Method] = METHODS,
    metric: str | None = None,
) -> Result | None:
    """Return the best of the methods that ours is measured against, by their means."""
    rivals = [one for one in results if one.rows and known[one.method].rival]
    return max(rivals, key=lambda one: mean_worth(one, metric), default=None)


def _worth(metric: str, value: float) -> float:
    if math.isnan(value):
        return -math.inf
    return -value if metric in _FALLING else value


def _squared_error(values: tuple[float, ...]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return variance(finite) / len(finite) if len(finite) > 1 else 0.0
