"""What can be expected of a plan before there are data: noise, time, and lost accuracy.

A band ends at a constant times the relative noise, the length of the noise that one Gaussian
release of all coefficients would have, per record: docs/understanding/planning.md, "What to
expect". What finer shapes of a table gain ends at a constant times how much finer they are.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from dpscd.errors import ParameterError
from dpscd.planning.inference import expected_width, inference_rule, weakest_curvature
from dpscd.planning.plan import Plan
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import PrivacyTarget, remedies

# Where bands end, over the relative noise, and where they begin: regularisation against noise
# may happen to suit the data.
_ACCURACY = (3.8, -0.005)
_ERROR = (15.0, -0.01)
# What capping residuals costs where labels have heavy tails, whatever epsilon is.
_CAPPED = 0.02
# What finer shapes gain, over the difference in the width of an interval; and what they cost as
# they follow the records more closely, over the additional features per record.
_FINER_ACCURACY, _FINER_ERROR = (0.153, 0.3), (2.61, 1.0)

# From the first relative noise on no sum of n records is as long as the noise of one release of
# it; from the second on the band of two even classes ends at what guessing loses.
_DROWNED, _GUESSING = 1.0, 0.5 / _ACCURACY[0]
# Up to which end of a band next to nothing is lost, and up to which some.
_NAMED_ACCURACY, _NAMED_ERROR = (0.01, 0.05), (0.05, 0.25)

# Seconds: a fit, a step, a number of noise, a record in a lot and a number of its row. Fitted
# to default fits on one core of 3,000 x 10 to 300,000 x 100 and 10,000 x 500 numbers.
_FIT, _STEP, _NOISE, _RECORD, _NUMBER = 0.1, 2e-6, 1.2e-8, 3e-8, 3.5e-10
# The same, at most, for starting and compiling for the first time, and for reading a cell of a
# CSV file. Adult on two cores: 8 s and 2.4e-6 s; 23 s were met elsewhere.
_FIRST, _CELL = 25.0, 5e-6


class Finer(NamedTuple):
    """How much finer the features of a fit without noise are."""

    features: int = 0  # additional features
    # largest difference in the width of an interval, as a part of the bounds
    width: float = 0.0


@dataclass(frozen=True)
class Forecast:
    """Forecast of a fit."""

    # length of the noise of one Gaussian release of all coefficients, per record
    relative_noise: float
    # Largest standard deviation that the noise adds to a coefficient, for features of about the
    # same size; see docs/proofs/noise_band.md.
    coef_noise: float
    seconds: float  # of training on one core, without reading and compiling
    # Range of the accuracy that privacy costs, against the same features without noise; for a
    # regression, of the relative mean squared error.
    lost: tuple[float, float]
    below_inf: tuple[float, float]  # the same, against epsilon inf with its finer features
    verdict: str  # the range in words

    @property
    def mostly_noise(self) -> bool:
        """Whether the noise is longer than any sum of the records could be."""
        return self.relative_noise >= _DROWNED


class IntervalForecast(NamedTuple):
    """Forecast of a fit with confidence intervals."""

    seconds: float  # as in :class:`Forecast`
    width: float  # width of the intervals of coefficients, over those without privacy


def relative_noise(n: int, width: int, target: PrivacyTarget) -> float:
    """Return the length of the noise of one Gaussian release, per record."""
    noise = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    return noise * math.sqrt(width) / n


def noise_warning(n: int, width: int, target: PrivacyTarget) -> str | None:
    """Return a warning if public numbers say that a model may be no better than guessing."""
    # `n` counts records, or persons if these are protected; `width` counts the intercept too.
    noise = relative_noise(n, width, target)
    if noise < _GUESSING:
        return None
    so = "will be mostly noise" if noise >= _DROWNED else "may be no better than guessing"
    return (
        f"n={n} with {width} coefficients at epsilon={target.epsilon:g}: the noise is "
        f"{noise:.2g} times as long as the longest sum that so many could have, so the model "
        f"{so}. {remedies(target.epsilon, 'More records', 'fewer features')} help; "
        "`dpscd plan` shows what to expect."
    )


def preparing_seconds(n: int, columns: int) -> float:
    """Return the largest expected time to read a table and compile for the first time."""
    return _FIRST + _CELL * n * columns


def expect(
    plan: Plan, *, largest_class: float | None = None, finer: Finer | None = None
) -> Forecast:
    """Return the forecast of a fit by a calibrated plan."""
    # `largest_class` is the public share of the largest class: guessing it bounds the loss.
    training, n, regression = plan.training, plan.facts.n, not plan.facts.classifies
    noise = relative_noise(n, plan.facts.width, plan.target)
    slope, low = _ERROR if regression else _ACCURACY
    gain, close = _FINER_ERROR if regression else _FINER_ACCURACY
    finer = finer or Finer()
    high = slope * noise + (_CAPPED if regression else 0.0)
    inf = high + gain * finer.width
    most = math.inf
    if not regression:
        share = 1.0 / max(2, training.outputs) if largest_class is None else largest_class
        if not 0.0 < share < 1.0:
            raise ParameterError(
                "{largest_class} must be between 0 and 1.", largest_class=largest_class
            )
        most = 1.0 - share
        high, inf = min(high, most), min(inf, most)
    return Forecast(
        relative_noise=noise,
        coef_noise=training.shared_noise / (training.lam * n),
        seconds=fit_seconds(plan),
        lost=(low, high),
        below_inf=(low - close * finer.features / n, inf),
        verdict=_verdict(high, regression, guessing=noise >= _GUESSING or high >= most),
    )


def _verdict(high: float, regression: bool, *, guessing: bool) -> str:
    """Return a band that ends at `high` in words."""
    if guessing:
        return "the model may be no better than guessing"
    little, some = _NAMED_ERROR if regression else _NAMED_ACCURACY
    if high <= little:
        return "next to nothing is lost"
    return "some may be lost" if high <= some else "much may be lost"


def expect_intervals(plan: Plan) -> IntervalForecast:
    """Return the forecast of a fit with confidence intervals by a calibrated plan."""
    target, facts, main = plan.target, plan.facts, plan.training
    noise = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    rule = inference_rule(facts.task, facts.n, facts.d, noise)
    # What a record can add in all is the clip times the epochs, and the noise of all steps
    # together is the clip times the multiplier times the root of the steps: one over the other
    # is the multiplier of one Gaussian release that is as noisy for the same travel.
    training = main.noise_multiplier * math.sqrt(main.steps) / main.epochs
    width = expected_width(facts.task, facts.n, facts.d, rule.travel, training)
    return IntervalForecast(fit_seconds(plan), width)


def weakest_seen(plan: Plan, *, largest_class: float | None = None) -> float:
    """Return the least curvature, over unrelated features', where an effect has an interval."""
    # A public `largest_class` bounds the curvature of losses.
    curved = None
    if largest_class is not None:
        if not 0.5 <= largest_class < 1.0:
            raise ParameterError(
                "{largest_class} must be from 0.5 to 1.", largest_class=largest_class
            )
        curved = largest_class * (1.0 - largest_class)
    (noise,) = (x.event.noise_multiplier for x in plan.costs if x.what == "information")
    facts = plan.facts
    return weakest_curvature(
        facts.task, facts.n, facts.width, facts.d, noise, robust=facts.robust, curved=curved
    )


def fit_seconds(plan: Plan) -> float:
    """Return how long the trainings of a fit take on one core, by public numbers."""
    facts, found = plan.facts, _FIT
    for one in plan.trainings:
        rows = one.epochs * facts.n * facts.outputs
        found += one.steps * (_STEP + _NOISE * one.size)
        found += rows * (_RECORD + _NUMBER * facts.d)
    return found


def duration(seconds: float) -> str:
    """Return a duration for readers."""
    if seconds < 1.0:
        return "under 1 s"
    return f"{seconds:.0f} s" if seconds < 100.0 else f"{seconds / 60:.0f} min"


def lost_words(lost: tuple[float, float], regression: bool) -> str:
    """Return a band for readers: of accuracy, or of squared error in percent."""
    low, high = lost
    if regression:
        return f"{100.0 * low:.0f} to {100.0 * high:.0f} %"
    return f"{low:.3f} to {high:.3f}"
