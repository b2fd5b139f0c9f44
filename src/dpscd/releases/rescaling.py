"""Rescaling: factor and shift of a regression's predictions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import CardError, ParameterError
from dpscd.plan import Plan
from dpscd.privacy.release import Release
from dpscd.problem import Model, Problem
from dpscd.releases.base import WRONG_SIZE, Parties, State, SumRelease
from dpscd.releases.query import Query, SomeRecords, whole_sums

__all__ = ["SLOPES", "Rescaling", "RescalingQuery"]

Floats = npt.NDArray[np.float64]

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
SLOPES = (1.0 / _STEEPEST, _STEEPEST)
"""The least and the most that a model may be multiplied by."""
# Each is made only if it is so many times its noise.
_CLEAR = 2.0


@dataclass(frozen=True)
class RescalingQuery(Query):
    """Sums for the regression line of labels on predictions.

    Notes
    -----
    A record with error r and prediction u in these units, v being u cut to [-1, 1], adds
    ``(r, r v, v / 2, v^2 / 2)``, made shorter where it is longer than 1: docs/proofs/after.md.
    """

    declared: Problem  # sets the longest row
    model: Model  # released
    bounds: tuple[float, float]  # bounds of labels and predictions
    centre: float  # predictions are measured from it
    wide: float  # unit of predictions
    far: float  # unit of errors

    @property
    def shape(self) -> tuple[int, ...]:
        """Errors, errors times predictions, predictions, and their squares."""
        return (4,)

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
            return whole_sums(each, np.isfinite(each).all(axis=0), records, self.unit)


@dataclass(frozen=True)
class Rescaling(SumRelease):
    """The release "rescaling": the line from predictions to labels.

    Notes
    -----
    Proof: docs/proofs/after.md.
    """

    what: ClassVar[str] = "rescaling"
    words: ClassVar[str] = "how predictions should be stretched and shifted to fit on average"
    proof: ClassVar[str] = "after"
    place: ClassVar[int] = 130
    begins: ClassVar[int] = 1  # long rows have time 0: a recorder tells them apart

    @classmethod
    def check_listed(cls, listed: Release | None, public: Mapping[str, Any]) -> None:
        """Refuse it for a classifier, unstandardised rows, or another number of sums."""
        if listed and ("classes" in public or "exposure_bounds" in public):
            raise CardError("the card lists a rescaling that no such model has.")
        if listed and not public["standardised"]:
            raise CardError("the card lists a rescaling of what was not standardised.")
        if listed and listed.size != 4:
            raise CardError(WRONG_SIZE.format(cls.what))

    def check_fits(self, plan: Plan) -> None:
        """Raise ParameterError if a plan has several outputs, no spread or no moments."""
        super().check_fits(plan)
        if plan.outputs != 1 or not (plan.lists("label spread") and plan.lists("moments")):
            raise ParameterError(
                "a rescaling needs one output, a released spread and released moments."
            )

    @property
    def size(self) -> int:
        """Four sums."""
        return 4

    def run(self, state: State, parties: Parties) -> State:
        """Release it, and stretch and shift the model."""
        model, meaning = cast("Model", state.model), cast("Any", state.meaning)
        declared, error = state.declared, self.noise_multiplier / self.n
        spread = model.runs[0].label_scale
        centre = declared.label_centre + declared.label_scale * state.centre
        wide, far = _wide(model), _far(error, spread)
        bounds = (meaning.low, meaning.high)
        query = RescalingQuery(self.n, declared, model, bounds, centre, wide, far)
        missed, tilt, mean, square = (self.noisy(query, parties, self.begins) / self.n).tolist()
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
        rescaled = replace(
            model,
            coef=slope * model.coef,
            intercept=slope * model.intercept + (1.0 - slope) * centre + shift,
            coef_noise=slope * np.asarray(model.coef_noise),
            intercept_noise=slope * np.asarray(model.intercept_noise),
            slope=slope,
        )
        return replace(state, model=rescaled)


def _far(error: float, spread: float) -> float:
    """Return the unit of errors: large where noise is small."""
    return spread * max(_FAR, math.sqrt(_EXACT / error))


def _wide(model: Model) -> float:
    """Return the unit of predictions, from released moments as if features were unrelated.

    In spreads of labels: the first problem's, because a later one is that of residuals.
    """
    spread, last = model.runs[0].label_scale, model.runs[-1]
    standard = cast("Any", last.standard)
    inner = standard.inner(model.coef[0] * last.row_bound)
    expected = math.sqrt(float(np.square(inner) @ standard.shares())) / spread
    return spread * _WIDE * min(_MOST, max(_LEAST, expected))


def _step(error: float, expected: Floats, mean: float, square: float) -> Floats:
    """Return the matrix from released errors to the expected shift and change of slope.

    Both are a priori normal around 0 with deviations `expected`; released is ``(1, mean; mean,
    square)`` times them, with noise.
    """
    # Without an intercept the mean error is left alone: no slope could make up for it.
    first = (1.0, mean) if expected[0] else (0.0, 0.0)
    moments = np.array([first, (first[1], square)])
    prior = np.diag(np.square(expected))
    seen = moments @ prior @ moments + error**2 * np.eye(2)
    step: Floats = np.linalg.solve(seen, moments @ prior).T
    return step
