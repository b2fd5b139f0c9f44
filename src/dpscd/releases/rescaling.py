"""Regressions after training: factor and shift of predictions, and whether rows are cut."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from dpscd.problem import Floats, Model, Problem
from dpscd.releases.base import Query, SomeRecords, State, SumRelease, whole_sums
from dpscd.releases.moments import MeanRelease, OneNumberQuery

# Errors are measured in so many spreads of the labels, in more where what is released is so
# exact that a slope still is: a longer unit cuts fewer errors.
_FAR, _EXACT = 5.0, 0.05
# Predictions are measured in so many of their expected standard deviations, which are taken
# for no less and no more than these parts of the labels' spread.
_WIDE, _LEAST, _MOST = 3.0, 0.1, 1.25
# What sums of predictions are multiplied by.
_SLOW = 0.5
# How large a shift, in spreads, and a change of the slope are expected to be, as standard
# deviations; and what a slope may be at most, or one over it at least.
_SHIFT, _SLOPE = 0.3, 0.3
_STEEPEST = 4.0
#: The least and the most that a model may be multiplied by.
SLOPES = (1.0 / _STEEPEST, _STEEPEST)
# Each is made only if it is so many times its noise.
_CLEAR = 2.0


@dataclass(frozen=True)
class RescalingQuery(Query):
    """Sums for the regression line of labels on predictions.

    A record with error r and prediction u in these units, v being u cut to [-1, 1], adds ``(r,
    r v, v / 2, v^2 / 2)``, no longer than 1: docs/proofs/after.md.
    """

    declared: Problem  # sets the longest row
    model: Model  # released
    bounds: tuple[float, float]  # bounds of labels and predictions
    centre: float  # predictions are measured from it
    wide: float  # unit of predictions
    far: float  # unit of errors
    shape: ClassVar = (4,)

    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sums; values that are not numbers do not count."""
        whole, cut = self.declared.lines(records.X, self.model)
        line = whole if math.isinf(self.model.longest_row) else cut
        with np.errstate(all="ignore"):
            guess, label = np.clip(line, *self.bounds), np.clip(records.labels, *self.bounds)
            r = (label - guess) / self.far
            v = np.clip((guess - self.centre) / self.wide, -1.0, 1.0)
            each = np.stack([r, r * v, _SLOW * v, _SLOW * (v * v)])
            squares = np.square(each)
            length = np.sqrt((squares[0] + squares[1]) + (squares[2] + squares[3]))
            each /= np.maximum(1.0, length)
            return whole_sums(each, np.isfinite(each).all(axis=0), records, self.step)


@dataclass(frozen=True)
class Rescaling(SumRelease):
    """The release "rescaling": from predictions to labels. Proof: docs/proofs/after.md."""

    what: ClassVar[str] = "rescaling"
    words: ClassVar[str] = "how predictions should be stretched and shifted to fit on average"
    proof: ClassVar[str] = "after"
    at: ClassVar[range] = range(1, 2)
    size: ClassVar = 4

    def query(self, state: State) -> RescalingQuery:
        model, labels, declared = state.trained, state.labels, state.declared
        spread = model.runs[0].label_scale
        centre = declared.label_centre + declared.label_scale * state.centre
        wide, far = _wide(model), _far(self.noise_multiplier / self.n, spread)
        bounds = (labels.low, labels.high)
        return RescalingQuery(self.n, declared, model, bounds, centre, wide, far)

    def learn(self, state: State, answer: Floats) -> State:
        """Stretch and shift the model."""
        model, query = state.trained, self.query(state)
        declared, centre, wide, far = query.declared, query.centre, query.wide, query.far
        spread, error = model.runs[0].label_scale, self.noise_multiplier / self.n
        missed, tilt, mean, square = (answer / self.n).tolist()
        square = min(1.0, max(square, 2.0 * error) / _SLOW)
        mean = min(math.sqrt(square), max(-math.sqrt(square), mean / _SLOW))
        units = np.array([far, far / wide])
        expected = np.array([_SHIFT * spread if declared.constant else 0.0, _SLOPE]) / units
        step = units[:, None] * _step(error, expected, mean, square)
        found = step @ (missed, tilt)
        # Noise alone would give each of them this standard deviation.
        found[np.abs(found) <= _CLEAR * error * np.sqrt(np.square(step).sum(axis=1))] = 0.0
        shift, more = found.tolist()
        slope = float(np.clip(1.0 + more, *SLOPES))
        shift = float(np.clip(shift, -spread, spread))
        model = model.stretched(slope, slope)
        intercept = model.intercept + (1.0 - slope) * centre + shift
        return replace(state, model=replace(model, intercept=intercept))


def _far(error: float, spread: float) -> float:
    """Return the unit of errors: large where noise is small."""
    return spread * max(_FAR, math.sqrt(_EXACT / error))


def _wide(model: Model) -> float:
    """Return the unit of predictions, from released moments as if features were unrelated."""
    # In spreads of labels: the first problem's, because a later one is that of residuals.
    spread, last = model.runs[0].label_scale, model.runs[-1]
    standard = cast("Any", last.standard)
    inner = standard.inner(model.coef[0] * last.row_bound)
    expected = math.sqrt(float(np.square(inner) @ standard.shares())) / spread
    return spread * _WIDE * min(_MOST, max(_LEAST, expected))


def _step(error: float, expected: Floats, mean: float, square: float) -> Floats:
    """Return the matrix from released errors to the expected shift and change of slope."""
    # Both are a priori normal around 0 with deviations `expected`; released is ``(1, mean;
    # mean, square)`` times them, with noise. Without an intercept the mean error is left alone:
    # no slope could make up for it.
    first = (1.0, mean) if expected[0] else (0.0, 0.0)
    moments = np.array([first, (first[1], square)])
    prior = np.diag(np.square(expected))
    seen = moments @ prior @ moments + error**2 * np.eye(2)
    step: Floats = np.linalg.solve(seen, moments @ prior).T
    return step


# Errors beyond so many times the labels' spread count as that; beyond more where what is
# released is still so exact, in squares of that spread.
_LONG_FAR, _LONG_EXACT = 5.0, 0.01
# Rows are cut only if what that gains is so many times its noise.
_SEEN = 1.5


@dataclass(frozen=True)
class LongRowsQuery(OneNumberQuery):
    """The sum of squared errors of whole rows less those of cut ones, in units of ``far^2``."""

    declared: Problem  # sets the longest row
    model: Model  # released
    bounds: tuple[float, float]  # bounds of predictions
    far: float  # larger errors count as this

    def each(self, records: SomeRecords) -> Floats:
        """Return the differences, each between -1 and 1."""
        whole, cut = self.declared.lines(records.X, self.model)
        with np.errstate(all="ignore"):
            return self._squares(whole, records.labels) - self._squares(cut, records.labels)

    def _squares(self, line: Floats, labels: Floats) -> Floats:
        """Return squared errors, at most 1."""
        guess = np.clip(line, *self.bounds)
        found: Floats = np.square(np.minimum(np.abs(guess - labels) / self.far, 1.0))
        return found


@dataclass(frozen=True)
class LongRows(MeanRelease):
    """The release "long rows": whether predictions cut them. Proof: docs/proofs/after.md."""

    what: ClassVar[str] = "long rows"
    words: ClassVar[str] = "what cutting long rows in predictions would gain"
    proof: ClassVar[str] = "after"

    def query(self, state: State) -> LongRowsQuery:
        model, labels, error = state.trained, state.labels, self.noise_multiplier / self.n
        # Of labels: the first problem's spread, a later one is of what a pilot leaves.
        far = max(_LONG_FAR, math.sqrt(_LONG_EXACT / error)) * model.runs[0].label_scale
        far = min(far, labels.high - labels.low)
        return LongRowsQuery(self.n, state.declared, model, (labels.low, labels.high), far)

    def learn(self, state: State, answer: Floats) -> State:
        """Cut rows in prediction if that gains."""
        if self.mean(answer) <= _SEEN * (self.noise_multiplier / self.n):
            return state
        return replace(
            state, model=replace(state.trained, longest_row=state.declared.row_bound)
        )
