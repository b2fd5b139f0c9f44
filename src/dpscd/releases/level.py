"""Level: the factor by which expected counts of a trained model are off in total."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from dpscd import losses
from dpscd.errors import CardError, ParameterError
from dpscd.kernels.chances import fill_means
from dpscd.plan import Plan
from dpscd.privacy.release import Release
from dpscd.problem import Model, Problem
from dpscd.releases.base import State
from dpscd.releases.calibration import Shift, ShiftQuery
from dpscd.releases.query import SomeRecords, whole_sums

__all__ = ["Level", "LevelQuery"]

Floats = npt.NDArray[np.float64]

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

    Notes
    -----
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

    Notes
    -----
    Proof: docs/proofs/after.md.
    """

    what: ClassVar[str] = "level"
    words: ClassVar[str] = "by what expected counts are too high or too low, altogether"
    place: ClassVar[int] = 108
    steep: ClassVar[float] = _MEAN
    steepest: ClassVar[float] = 1.0
    expected: ClassVar[float] = 0.5
    largest: ClassVar[float] = 2.0

    @classmethod
    def check_listed(cls, listed: Release | None, public: Mapping[str, Any]) -> None:
        """Refuse it for labels other than counts, or without an intercept."""
        if not listed:
            return
        if "exposure_bounds" not in public or not public["intercept"]:
            raise CardError("the card lists a level that no such model has.")
        cls.check_size(listed, public)

    def check_fits(self, plan: Plan) -> None:
        """Raise ParameterError if a plan has several outputs, or no intercept."""
        super().check_fits(plan)
        if plan.outputs != 1 or not plan.intercept:
            raise ParameterError("a level needs one output and an intercept.")

    def query(self, state: State) -> LevelQuery:
        """Return the query on the model."""
        problem, most = state.problem, state.declared.label_scale
        if not losses.has_log_link(problem.loss):
            raise ParameterError("a level is of counts.")
        mean = problem.loss.rate * problem.label_scale
        spread = problem.label_scale if problem.label_scale < most else mean  # if none is known
        seldom = _FEW + mean + _SPREADS * spread
        reach = min(most, max(seldom, _NOISE * self.n * mean / self.noise_multiplier))
        rows, model = self.counted(mean / reach), cast("Model", state.model)
        return LevelQuery(self.n, state.declared, model, reach, rows=rows)

    def step(self, missed: float, curvature: float) -> tuple[float, float]:
        """Return the step that makes expected counts the counts; noise is that of both."""
        more = max(missed / curvature, _LEAST)
        least = self.least_curvature(self.noise_multiplier, self.n)
        seen = max(least, curvature * (1.0 + more) / math.hypot(1.0, more / _MEAN))
        seen = min(self.steepest, seen)
        return math.log1p(more) * seen, seen
