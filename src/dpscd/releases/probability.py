"""Corrections after training: intercept shifts, temperature scaling and the level of counts."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dpscd import losses
from dpscd.errors import ParameterError
from dpscd.kernels.passes import fill_means, fill_probabilities
from dpscd.link import Link, expected_decisions, link_for
from dpscd.problem import Floats, Model, Problem
from dpscd.releases.base import (
    FIRST,
    FURTHER,
    Query,
    SomeRecords,
    State,
    SumRelease,
    whole_sums,
)
from dpscd.releases.rescaling import SLOPES

#: What slopes are multiplied by: with up to 3.33 the pair is no longer than 1.
STEEP = 3.25
# Of what rows predict, this part noise may be if rows of persons are to count.
_NOISE = 0.02


@dataclass(frozen=True)
class ShiftQuery(Query):
    """Sums of residuals, and of their slopes; both once more of persons' further rows."""

    # Rows of a person that may count one each; None: persons count, and there are two sums.
    rows: float | None = field(default=None, kw_only=True)

    @property
    def shape(self) -> tuple[int, ...]:
        return (2,) if self.rows is None else (4,)


@dataclass(frozen=True)
class CalibrationQuery(ShiftQuery):
    """Sums of residuals of probabilities, and of their slopes.

    A record of probability p, slope s and label y in {0, 1} adds ``(y - p, 3.25 s)``, no longer
    than 1, times its weight of at most 1: docs/proofs/after.md.
    """

    declared: Problem  # sets the longest row
    model: Model  # released; of two classes
    link: Link  # map from its decisions to probabilities

    def factors(self, records: SomeRecords) -> tuple[Any, Any]:
        """Return the factors of both numbers, functions of the record's own row."""
        del records
        return 1.0, 1.0

    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sums; values that are not numbers do not count."""
        rows, parts = self.declared.cut_rows(records.X)
        coef = self.model.coef[0] * self.declared.row_bound
        intercept, caps = float(self.model.intercept[0]), np.array(self.link.caps)
        each = np.empty((2, len(parts)))
        with np.errstate(all="ignore"):
            fill_probabilities(rows, parts, coef, intercept, self.link.scale, caps, *each)
            first, second = self.factors(records)
            each[0] = ((records.labels > 0.0) - each[0]) * first
            each[1] *= STEEP * second
            length = np.sqrt(np.square(each).sum(axis=0))
            each *= np.minimum(records.weights, 1.0) / np.maximum(1.0, length)
            usable = np.isfinite(each).all(axis=0)
            return whole_sums(each, usable, records, self.step, self.rows)


@dataclass(frozen=True)
class Shift(SumRelease):
    """One step of the intercept that removes the mean residual. Proof: docs/proofs/after.md."""

    proof: ClassVar[str] = "after"
    #: What the second number is multiplied by, and its largest mean without that.
    steep: ClassVar[float]
    steepest: ClassVar[float]
    #: How large a shift is expected to be, as a standard deviation, and at most.
    expected: ClassVar[float]
    largest: ClassVar[float]

    @property
    def rows(self) -> int:
        """Rows of a person that may count one each; 1 where persons count, or records do."""
        # With 1 predictions are right on average over persons, with more over rows.
        return max(1, self.facts.rows)

    @abstractmethod
    def query(self, state: State) -> ShiftQuery:
        """Return the query on the model."""

    def step(self, missed: float, curvature: float) -> tuple[float, float]:
        """Return the mean residual and the mean slope: the shift is their ratio."""
        return missed, curvature

    def counted(self, size: float) -> float | None:
        """Return how many rows of a person count: fewer where their noise would be large."""
        # `size` is that of a row's prediction, in units of the sums. None if persons count.
        if self.rows == 1:
            return None
        return max(1.0, min(float(self.rows), _NOISE * size * self.n / self.noise_multiplier))

    @property
    def size(self) -> int:
        return 2 if self.rows == 1 else 4

    def learn(self, state: State, answer: Floats) -> State:
        """Shift the intercept."""
        model, rows = state.trained, self.query(state).rows
        found = answer / self.n
        missed, curvature = (
            (float(found[0]), float(found[1]) / self.steep)
            if rows is None
            else self._of_rows(found, rows)
        )
        curvature = min(self.steepest, max(curvature, self.least_curvature))
        missed, curvature = self.step(missed, curvature)
        shift = self._kept(curvature) * missed / curvature
        shift = min(self.largest, max(-self.largest, shift))
        noise = self.shift_noise(curvature)
        shifted = replace(
            model,
            intercept=model.intercept + shift,
            intercept_noise=np.hypot(model.intercept_noise, noise),
        )
        return replace(state, model=shifted)

    def _of_rows(self, found: Floats, rows: float) -> tuple[float, float]:
        """Return the mean residual and slope over rows, scaled to the noise of one mean."""
        # Persons' own means say what shift persons ask for; their further rows say how far rows
        # ask for another one, which is nothing where noise hides that there are such rows.
        error = self.noise_multiplier / self.n
        of_first, of_further = error / FIRST, error * rows / FURTHER
        missed, slope = found[0] / FIRST, found[1] / (FIRST * self.steep)
        slope = max(slope, 2.0 * of_first / self.steep)
        other, longer = found[2] * rows / FURTHER, found[3] * rows / (FURTHER * self.steep)
        seen = rows > 1.0 and longer > 2.0 * of_further / self.steep  # at 1 there are none
        longer = longer if seen else 0.0
        wide = (self.expected * longer) ** 2
        kept = wide / (wide + of_further**2)
        whole = slope + longer
        shift = missed / slope + kept * (other - missed * longer / slope) / whole
        # The shift's noise, by that of both residuals; that of slopes matters little.
        noise = math.hypot(
            (1.0 - kept * longer / whole) * of_first / slope, kept * of_further / whole
        )
        return float(shift * error / noise), float(error / noise)

    @property
    def least_curvature(self) -> float:
        """Lower limit of the released mean slope: two of its errors."""
        return min(self.steepest, 2.0 * self.noise_multiplier / (self.n * self.steep))

    def shift_noise(self, curvature: float) -> float:
        """Return the standard deviation of the noise in a shift, at a released mean slope."""
        return self._kept(curvature) * self.noise_multiplier / (self.n * curvature)

    def _kept(self, curvature: float) -> float:
        """Return the expected ratio of the true shift to a released one."""
        error = self.noise_multiplier / (self.n * curvature)
        return self.expected**2 / (self.expected**2 + error**2)


@dataclass(frozen=True)
class Calibration(Shift):
    """The release "calibration": probabilities are right on average; docs/proofs/after.md."""

    what: ClassVar[str] = "calibration"
    words: ClassVar[str] = "how far predicted probabilities are from the truth, on average"
    steep: ClassVar[float] = STEEP
    steepest: ClassVar[float] = 0.25
    expected: ClassVar[float] = 0.2
    largest: ClassVar[float] = 1.0

    def query(self, state: State) -> CalibrationQuery:
        link, rows = link_of(state), self.counted(0.5)
        return CalibrationQuery(self.n, state.declared, state.trained, link, rows=rows)

    def learn(self, state: State, answer: Floats) -> State:
        """Shift the intercept; the link of the model stays."""
        return super().learn(replace(state, link=link_of(state)), answer)


def link_of(state: State) -> Link:
    """Return the link of a trained model of two classes, from public facts."""
    if state.link is not None:
        return state.link
    model, training = state.trained, state.plan.training
    return link_for(
        model.runs[-1],
        training.travel,
        training.shared_noise,
        model.coef[0],
        float(model.intercept[0]),
        state.labels.weights or (1.0, 1.0),
    )


# How large the logarithm of a change is expected to be, as a standard deviation; at most so
# much of it is made at once.
_EXPECTED, _LARGEST = 0.4, 0.7


@dataclass(frozen=True)
class SteepnessQuery(CalibrationQuery):
    """Sums of residuals along the decision, and of slopes there.

    A row adds ``((y - p) v, 3.25 s u v)``, no longer than 1, times its weight of at most 1; a
    person the mean over its rows: docs/proofs/after.md, docs/proofs/persons.md.
    """

    wide: float = 1.0  # the unit of decisions; v is a decision u in it, cut to [-1, 1]

    def factors(self, records: SomeRecords) -> tuple[Any, Any]:
        """Return v, and the decision times v."""
        decisions = self.declared.lines(records.X, self.model)[0]
        v = np.clip(decisions / self.wide, -1.0, 1.0)
        return v, decisions * v


@dataclass(frozen=True)
class Steepness(SumRelease):
    """The release "steepness": two factors of decisions. Proof: docs/proofs/after.md."""

    # For persons: one clip holds all their rows, of which the link does not know the number.

    what: ClassVar[str] = "steepness"
    words: ClassVar[str] = "by how much predicted probabilities are too extreme or too flat"
    proof: ClassVar[str] = "after"
    at: ClassVar[range] = range(1, 3)
    size: ClassVar = 2

    def query(self, state: State) -> SteepnessQuery:
        model = state.trained
        mean, deviation = expected_decisions(
            model.runs[-1], model.coef[0], float(model.intercept[0])
        )
        wide = max(math.hypot(mean, deviation), 1e-6)
        return SteepnessQuery(self.n, state.declared, model, link_of(state), wide=wide)

    def learn(self, state: State, answer: Floats) -> State:
        """Multiply the model, each time it is asked; the link stays."""
        state = replace(state, link=link_of(state))
        model = state.trained
        missed, steep = answer / self.n
        error = self.noise_multiplier / self.n
        # What is missed grows with the logarithm of the change by this, at least two errors.
        growth = max(float(steep), 2.0 * error) / STEEP
        kept = _EXPECTED**2 / (_EXPECTED**2 + (error / growth) ** 2)
        change = min(_LARGEST, max(-_LARGEST, kept * float(missed) / growth))
        slope = float(np.clip(model.slope * np.exp(change), *SLOPES))
        return replace(state, model=model.stretched(slope / model.slope, slope))


# What expected counts are multiplied by beside what is missed, and both by this: of counts and
# expected counts up to 1 the pair is no longer than 1.
_MEAN = 0.5
_SHORT = 1.0 / math.hypot(1.0, _MEAN)
# Counts and expected counts are cut at so many spreads above the mean and a few more, so that
# those of rare events are not cut; at more, where noise is still below this part of the level.
_FEW, _SPREADS, _LEVEL_NOISE = 3.0, 8.0, 0.02
_LEAST = -0.9  # of what is missed, as a part of what is expected


@dataclass(frozen=True)
class LevelQuery(ShiftQuery):
    """Sums of residuals of expected counts, and of expected counts.

    A record with count y and expected count m in these units adds ``.894 (y - m, m / 2)``, no
    longer than 1: docs/proofs/after.md.
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
            return whole_sums(each, usable, records, self.step, self.rows)


@dataclass(frozen=True)
class Level(Shift):
    """The release "level": expected counts add up to the counts; docs/proofs/after.md."""

    what: ClassVar[str] = "level"
    words: ClassVar[str] = "by what expected counts are too high or too low, altogether"
    steep: ClassVar[float] = _MEAN
    steepest: ClassVar[float] = 1.0
    expected: ClassVar[float] = 0.5
    largest: ClassVar[float] = 2.0

    def query(self, state: State) -> LevelQuery:
        problem, most = state.problem, state.declared.label_scale
        if not losses.has_log_link(problem.loss):
            raise ParameterError("a level is of counts.")
        mean = problem.loss.rate * problem.label_scale
        spread = problem.label_scale if problem.label_scale < most else mean  # if none is known
        seldom = _FEW + mean + _SPREADS * spread
        reach = min(most, max(seldom, _LEVEL_NOISE * self.n * mean / self.noise_multiplier))
        rows = self.counted(mean / reach)
        return LevelQuery(self.n, state.declared, state.trained, reach, rows=rows)

    def step(self, missed: float, curvature: float) -> tuple[float, float]:
        """Return the step that makes expected counts the counts; noise is that of both."""
        more = max(missed / curvature, _LEAST)
        seen = curvature * (1.0 + more) / math.hypot(1.0, more / _MEAN)
        seen = min(self.steepest, max(self.least_curvature, seen))
        return math.log1p(more) * seen, seen
