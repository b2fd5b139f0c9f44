"""Level: the factor by which expected counts of a trained model are off in total."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpscd import losses
from dpscd.errors import ParameterError
from dpscd.kernels.chances import fill_means
from dpscd.problem import Floats, Model, Problem
from dpscd.releases.base import State
from dpscd.releases.calibration import Shift, ShiftQuery
from dpscd.releases.query import SomeRecords, whole_sums

# What expected counts are multiplied by beside what is missed, and both by this: of counts and
# expected counts up to 1 the pair is no longer than 1.
_MEAN = 0.5
_SHORT = 1.0 / math.hypot(1.0, _MEAN)
# Counts and expected counts are cut at so many spreads above the mean and a few more, so that
# those of rare events are not cut; at more, where noise is still below this part of the level.
_FEW, _SPREADS, _NOISE = 3.0, 8.0, 0.02
_LEAST = -0.9  # of what is missed, as a part of what is expected


@dataclass(frozen=True)
class LevelQuery(ShiftQuery):
    """Sums of residuals of expected counts, and of expected counts.

    A record with count y and expected count m in these units adds ``.894 (y - m, m / 2)``, made
    shorter where it is longer than 1: docs/proofs/after.md.
    """

    declared: Problem  # sets the longest row
    model: Model  # released; of counts over the usual exposure
    reach: float  # residuals and expected counts are cut at this and divided by it

    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sums; values that are not numbers do not count."""
        rows, parts = self.declared.cut_rows(records.X)
        coef = self.model.coef[0] * self.declared.row_bound
        means = np.empty(len(parts))
        with np.errstate(all="ignore"):
            fill_means(rows, parts, coef, float(self.model.intercept[0]), means)
            # A weight is the exposure, and a label the rate over it.
            means, counts = (x * records.weights / self.reach for x in (means, records.labels))
            missed = np.clip(counts - means, -1.0, 1.0)
            each = _SHORT * np.array([missed, _MEAN * np.minimum(means, 1.0)])
            each /= np.maximum(1.0, np.sqrt(np.square(each).sum(axis=0)))
            usable = np.isfinite(each).all(axis=0)
            return whole_sums(each, usable, records, self.unit, self.rows)


@dataclass(frozen=True)
class Level(Shift):
    """The release "level": expected counts add up to the counts.

    Proof: docs/proofs/after.md.
    """

    what: ClassVar[str] = "level"
    words: ClassVar[str] = "by what expected counts are too high or too low, altogether"
    steep: ClassVar[float] = _MEAN
    steepest: ClassVar[float] = 1.0
    expected: ClassVar[float] = 0.5
    largest: ClassVar[float] = 2.0

    def query(self, state: State) -> LevelQuery:
        """Return the query on the model."""
        problem, most = state.problem, state.declared.label_scale
        if not losses.has_log_link(problem.loss):
            raise ParameterError("a level is of counts.")
        mean = problem.loss.rate * problem.label_scale
        spread = problem.label_scale if problem.label_scale < most else mean  # if none is known
        seldom = _FEW + mean + _SPREADS * spread
        reach = min(most, max(seldom, _NOISE * self.n * mean / self.noise_multiplier))
        rows = self.counted(mean / reach)
        return LevelQuery(self.n, state.declared, state.trained, reach, rows=rows)

    def step(self, missed: float, curvature: float) -> tuple[float, float]:
        """Return the step that makes expected counts the counts; noise is that of both."""
        more = max(missed / curvature, _LEAST)
        least = self.least_curvature(self.noise_multiplier, self.n)
        seen = max(least, curvature * (1.0 + more) / math.hypot(1.0, more / _MEAN))
        seen = min(self.steepest, seen)
        return math.log1p(more) * seen, seen
