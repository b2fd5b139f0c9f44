"""How far the mechanism alone moves a model: an estimate from released numbers.

Over repeated fits of the same records, as a standard deviation. Method, what it assumes and
where it errs: docs/proofs/spread.md.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpscd import losses
from dpscd.inference import Path
from dpscd.losses import Hinge, Logistic, Poisson, Softmax
from dpscd.preprocessing.invented import invented_rows
from dpscd.problem import Floats, Problem
from dpscd.releases.moments import Moments
from dpscd.releases.probability import STEEP, Calibration, link_of
from dpscd.releases.training import Training

if TYPE_CHECKING:
    from dpscd.model.fit import Fit

# So many records are drawn, for models of up to so many features; with more, features count as
# unrelated.
_RECORDS, _MOST = 8192, 1024
# Curvatures at which the noise of training is computed; between them it changes evenly.
_GRID = 65
# The part of a hinge's records at the margin that the margin moves: between 1/2 and 1. They
# are counted up to so far from it.
_MOVED, _NEAR = 0.75, 0.25

# By how much at most a released slope of probabilities corrects that of drawn records.
_STEEPEST = 4.0

NO_MOMENTS = "no moments of the features were released"
WEIGHTED = "weights of records are not public"


@dataclass(frozen=True, eq=False)
class Spread:
    """Standard deviations of a model over repeated fits of the same records."""

    coef: Floats  # of shape (outputs, d); NaN where it cannot be told
    intercept: Floats  # of shape (outputs,)
    # Of the coefficients, with chance in the records.
    total: Floats
    # Of shape (outputs, directions, d): a linear function of the coefficients deviates by the
    # length of its values on these. None if features count as unrelated.
    factor: Floats | None = None
    # How many times longer each is with chance in the records, of shape (outputs, directions).
    chance: Floats | None = None
    why: str | None = None  # why it cannot be told


def spread_of(fit: "Fit") -> Spread:
    """Return the estimate, a function of the plan and of what was released."""
    numbers, facts = fit.numbers, fit.plan.facts
    zero = np.zeros_like(numbers.coef), np.zeros_like(numbers.intercept)
    if not fit.plan.target.private:
        return Spread(*zero, zero[0])
    why = WEIGHTED if facts.weighted else None if facts.standardised else NO_MOMENTS
    if why is not None:
        nothing = zero[0] + math.nan
        return Spread(nothing, zero[1] + math.nan, nothing, why=why)
    known = _Known(fit)
    if facts.d > _MOST:
        return known.unrelated()
    return known.related()


class _Known:
    """What was released of a fit, as its spread needs it."""

    def __init__(self, fit: "Fit") -> None:
        self.fit, self.state = fit, fit.state
        plan = fit.plan
        self.training, self.n = plan.training, plan.facts.n
        self.problem: Problem = self.state.trained.runs[-1]
        self.theta: Floats = self.state.shared / self.problem.strength
        self.cap = self.training.travel * (1.0 - self.training.averaging / 2.0)
        asked = [one for one in plan.releases for _ in one.at]
        self.answers = {
            one.what: (one, answer) for one, answer in zip(asked, fit.answers, strict=True)
        }
        moments, answer = self.answers[Moments.what]
        self.means, self.squares, self.error = cast("Moments", moments).estimates(answer)
        # Of what noise may have made an error is taken away: rather too little curvature.
        variances = self.squares - self.means**2 - self.error
        self.variances: Floats = np.maximum(variances, 0.0)

    def related(self) -> Spread:
        """Return the spread by the curvature of drawn records."""
        rows = self._rows()
        lengths = np.sqrt(np.square(rows).sum(axis=1))
        square = float(np.mean(lengths**2))
        guesses = rows @ self.theta.T
        curves = self._curves(guesses, lengths) * self._steepness(guesses)
        factors, chances, intercepts = [], [], []
        for own in curves.T:
            curvature = (rows * own[:, None]).T @ rows * (self.n / len(rows))
            values, vectors = np.linalg.eigh(curvature)
            noise, total = self._variances(values, square, float(own.mean()))
            coef, intercept = self._users(np.sqrt(noise)[:, None] * vectors.T)
            factors.append(coef)
            chances.append(np.sqrt(total / noise))
            intercepts.append(np.linalg.norm(intercept))
        squares, chance = np.square(factors), np.array(chances)
        return Spread(
            np.sqrt(squares.sum(axis=1)),
            np.hypot(intercepts, self._shift()),
            np.sqrt((squares * np.square(chance)[:, :, None]).sum(axis=1)),
            np.array(factors),
            chance,
        )

    def unrelated(self) -> Spread:
        """Return the spread by the curvature of each feature alone."""
        problem, standard = self.problem, cast("Any", self.problem.standard)
        # Around the mean, which the intercept takes up.
        scale, tail = standard.scale / problem.scale, problem.constant / problem.scale
        squares = np.append(self.variances * scale**2, tail**2)[: problem.width]
        means = np.append((self.means - standard.centre) * scale, tail)[: problem.width]
        draws = np.random.default_rng(0).normal(size=(_RECORDS, 1))
        around = np.square(self.theta[:, : problem.d]) @ squares[: problem.d]
        guesses = self.theta @ means + draws * np.sqrt(around)
        square = float(squares.sum() + np.square(means[: problem.d]).sum())
        curves = self._curves(guesses, np.full(_RECORDS, math.sqrt(square))).mean(axis=0)
        unit = problem.model(np.zeros((problem.outputs, problem.width)), 1.0)
        lengths = self.state.trained.slope * problem.strength * np.asarray(unit.coef_noise)[0]
        coefs, totals, intercepts = [], [], []
        for own in curves:
            noise, total = self._variances(self.n * own * squares, square, float(own))
            coefs.append(np.sqrt(noise[: problem.d]) * lengths)
            totals.append(np.sqrt(total[: problem.d]) * lengths)
            one = self._users(np.sqrt(noise[-1:, None]) * np.eye(problem.width)[-1:])[1]
            apart = np.linalg.norm(coefs[-1] * standard.centre * problem.row_bound)
            intercepts.append(math.hypot(apart, float(one[0]) * bool(problem.constant)))
        intercept = np.hypot(intercepts, self._shift())
        return Spread(np.array(coefs), intercept, np.array(totals))

    def _rows(self) -> Floats:
        """Return drawn records as training would have them."""
        facts, problem, state = self.fit.plan.facts, self.problem, self.state
        standard, bound = cast("Any", problem.standard), problem.row_bound
        if facts.schema is None:
            draws = np.random.default_rng(0).normal(size=(_RECORDS, facts.d))
            X = (self.means + draws * np.sqrt(self.variances)) * bound
        else:
            bounds = dict(zip(facts.private, state.bounds, strict=True))
            X = invented_rows(
                facts.schema, bounds, self.means * bound, self.squares * bound**2,
                self.error * bound, _RECORDS,
            )  # fmt: skip
        parts = np.minimum(1.0, bound / np.maximum(np.linalg.norm(X, axis=1), 1e-300))
        rows = standard.dense(X, parts / bound, parts).astype(np.float64)
        long = np.maximum(np.linalg.norm(rows, axis=1) / problem.longest, 1.0)
        rows /= long[:, None] * problem.scale
        if problem.constant:
            tail = np.full((len(rows), 1), problem.constant / problem.scale)
            rows = np.hstack([rows, tail])
        return cast("Floats", rows)

    def _steepness(self, guesses: Floats) -> float:
        """Return the released mean slope of probabilities over that of drawn records."""
        release, answer = self.answers.get(Calibration.what, (None, np.zeros(0)))
        if release is None or np.size(answer) != 2:
            return 1.0
        link, near = link_of(self.state), 1e-3
        high, low = (
            np.exp(link.log_probabilities(guesses[:, 0] + x)[:, 1]) for x in (near, -near)
        )
        drawn = float(np.mean(high - low)) / (2.0 * near)
        noise = cast("Any", release).noise_multiplier
        # Two errors of the released one are the least that it can be told.
        found = max(float(np.ravel(answer)[1]), 2.0 * noise) / (self.n * STEEP)
        return float(min(_STEEPEST, max(1.0 / _STEEPEST, found / max(drawn, 1e-9))))

    def _curves(self, guesses: Floats, lengths: Floats) -> Floats:
        """Return the expected curvature of each record's loss, for every output.

        `guesses` are the predictions, of shape (records, outputs); a record that pulls as hard
        as training lets it has none.
        """
        loss, cap = self.problem.loss, (self.cap / np.maximum(lengths, 1e-300))[:, None]
        weights = np.array(getattr(self.state.labels, "weights", None) or ())
        if isinstance(loss, Softmax):
            each = np.exp(guesses - guesses.max(axis=1, keepdims=True))
            each /= each.sum(axis=1, keepdims=True)
            weights = weights if len(weights) else np.ones(each.shape[1])
            missed = np.square(each).sum(axis=1, keepdims=True) - 2.0 * each + 1.0
            # A step that is cut still turns with what it aims at.
            turned = (each.shape[1] - 2.0) / (each.shape[1] - 1.0)
            inside = np.where(weights * np.sqrt(missed) < cap, 1.0, turned)
            counted = each * weights * inside
            softmax: Floats = each * (1.0 - each) * counted.sum(axis=1, keepdims=True)
            return softmax
        if isinstance(loss, Hinge):
            near = np.abs(np.abs(guesses) - 1.0) < _NEAR
            weight = float(weights.mean()) if len(weights) else 1.0
            return cast("Floats", near * (weight * _MOVED / (2.0 * _NEAR)))
        if isinstance(loss, Logistic):
            low, high = weights if len(weights) else (1.0, 1.0)
            if self.fit.plan.facts.persons is not None:
                # One clip holds rows that pull apart: even chances are not all cut.
                cap = np.maximum(cap, 0.5 * max(low, high) + 1e-9)
            chance = 1.0 / (1.0 + np.exp(-np.clip(guesses, -50.0, 50.0)))
            true = np.exp(link_of(self.state).log_probabilities(guesses[:, 0])[:, 1:])
            counted = high * true * (high * (1.0 - chance) < cap)
            counted = counted + low * (1.0 - true) * (low * chance < cap)
            return cast("Floats", chance * (1.0 - chance) * counted)
        from scipy import special

        if isinstance(loss, Poisson):
            mean, unit = loss.rate * np.exp(np.minimum(guesses, 50.0)), self.problem.label_scale
            inside = special.pdtr((mean + cap) * unit, mean * unit)
            low = mean > cap
            inside -= low * special.pdtr(np.maximum(mean - cap, 0.0) * unit, mean * unit)
            return cast("Floats", mean * inside)
        # Errors in units of their spread, as if normal.
        limit = np.minimum(cap, getattr(loss, "threshold", math.inf))
        return cast("Floats", special.erf(limit / math.sqrt(2.0)) + 0.0 * guesses)

    def _variances(
        self, curvatures: Floats, square: float, mean: float
    ) -> tuple[Floats, Floats]:
        """Return the variance of the inner model along directions of these curvatures.

        By the mechanism alone, and with chance in the records; `mean` is the curvature of a
        record's loss.
        """
        strength, curvatures = self.problem.strength, np.maximum(curvatures, 0.0)
        curved = float(curvatures.sum()) / (self.n * square)
        found = self._noise(self.training, self.problem, curvatures, square, curved)
        if self.state.start is not None:
            # The main training answers a pilot's noise as its own, before the first step.
            pilot, first = self.fit.plan.trainings[0], self.state.trained.runs[0]
            noise = self._noise(pilot, first, curvatures, square, curved)
            unit = first.label_scale / self.problem.label_scale
            found += noise * (unit * strength / (curvatures + first.strength)) ** 2
        if losses.is_joint(self.problem.loss):
            found *= 1.0 - 1.0 / self.problem.outputs
        # How much larger the mean square of slopes is than the curvature.
        dispersion = 1.0
        if isinstance(self.problem.loss, Poisson):
            dispersion = 1.0 / self.problem.label_scale
        if isinstance(self.problem.loss, Hinge):
            dispersion = 1.0 / max(mean, 1e-3)
        both = found + dispersion * curvatures
        return found / (curvatures + strength) ** 2, both / (curvatures + strength) ** 2

    @staticmethod
    def _noise(
        training: Training, problem: Problem, curvatures: Floats, square: float, curved: float
    ) -> Floats:
        """Return C of docs/proofs/intervals.md, section 4."""
        path = Path(
            training.clip * training.noise_multiplier, training.steps, training.average_from,
            training.rate, training.separability, square, curved,
        )  # fmt: skip
        most = float(np.log1p(curvatures.max() / problem.strength))
        grid = np.linspace(0.0, most, _GRID)
        values = path.variances(problem.strength * np.expm1(grid), problem.strength)
        found: Floats = np.interp(np.log1p(curvatures / problem.strength), grid, values)
        return found

    def _users(self, inner: Floats) -> tuple[Floats, Floats]:
        """Return inner models, less that of zeros, as coefficients and intercepts of users."""
        problem = self.problem
        loss = Logistic() if losses.is_joint(problem.loss) else problem.loss
        plain = replace(problem, loss=loss, outputs=len(inner))
        model, zero = plain.model(inner * plain.strength), plain.model(0.0 * inner)
        slope = self.state.trained.slope
        return slope * model.coef, slope * (model.intercept - zero.intercept)

    def _shift(self) -> Floats:
        """Return the deviation of what releases after training added to the intercepts."""
        trained, plan = self.state.trained, self.fit.plan
        trainings = plan.trainings[-len(trained.runs) :]
        squares = np.square(np.asarray(trained.intercept_noise))
        for run, training in zip(trained.runs, trainings, strict=True):
            zero = np.zeros((run.outputs, run.width))
            noise = run.model(zero, training.shared_noise).intercept_noise
            squares = squares - np.square(trained.slope * np.asarray(noise))
        return cast("Floats", np.sqrt(np.maximum(squares, 0.0)))
