"""Planning rule of fits with confidence intervals.

Little regularisation, clipping that is rarely active, and enough epochs to converge:
docs/understanding/planning.md, "Inference".
"""

import math
from typing import NamedTuple

from dpscd.errors import ParameterError
from dpscd.inference import AVERAGING, SEEN, curvature_error, parts_of
from dpscd.planning.facts import Facts
from dpscd.privacy.relation import FORMAL

# Curvature of a typical record's loss: of the squared one, and of the logistic one where
# probabilities are neither even nor extreme.
_CURVED = {"regression": 1.0, "classification": 0.18}
# The penalty, as a part of the curvature along a typical feature. That of a logistic regression
# is less: the curvature is measured where the penalised model is, and a rare class has little.
_PENALTY = {"regression": 0.01, "classification": 0.002}
# A lot is this part of all records, so that duals arrive in spite of a small penalty.
_PART, _SMALLEST_LOT = 1000, 16
# How often a record is used: more where records are few and epochs cheap.
_EPOCHS, _MOST_EPOCHS, _FEW = 100.0, 400.0, 30_000.0
# The part of the sampling variance that noise of training may add, as far as travel decides it.
_ADDED = 0.1
# Travel: of a regression in mean distances of what is left of labels, of a classifier's dual;
# what it is at least, and from where on hardly any record is capped.
_TRAVEL = {"regression": (2.6, 6.0), "classification": (1.7, 4.5)}
# The square of an error's standard deviation over its mean distance from 0, if it is normal.
_SPREAD = math.pi / 2.0
# The variance that noise adds to coefficients, measured, over `_added`, in which features are
# unrelated and duals always as long as travel lets them be.
_MEASURED = {"regression": 2.1, "classification": 1.9}
# Share of the budget that the information may take, and how exact it should be: the largest
# noise along a direction, as a part of the curvature of one with this part of the average.
_LEAST, _MOST = 0.01, 0.3
_GOOD, _WEAK = 0.05, 0.2
# The noise's largest eigenvalue may be no larger than this part of the curvature along a
# typical feature: near it nearly all intervals are refused, with the second part few are.
_HOPELESS, _HOPEFUL = 0.5, 0.2


class InferenceRule(NamedTuple):
    """Fields of a plan that differ from those for prediction."""

    lam: float
    epochs: float
    lot_size: int
    travel: float
    averaging: float


def inference_rule(task: str, n: int, d: int, gaussian: float) -> InferenceRule:
    """Return the rule for ridge, or logistic regression of two classes, with intervals.

    `gaussian` is the noise multiplier of one Gaussian release of the whole budget.
    """
    epochs = min(_MOST_EPOCHS, _EPOCHS * max(1.0, math.sqrt(_FEW / n)))
    least, most = _TRAVEL[task]
    allowed = math.sqrt(_ADDED / _added(task, n, d, gaussian))
    # By the root of what noise would allow, so that more epsilon still means less of it.
    travel = math.sqrt(least * max(least, allowed))
    return InferenceRule(
        lam=_PENALTY[task] * _CURVED[task] / d,
        epochs=epochs,
        lot_size=min(n, max(_SMALLEST_LOT, n // _PART)),
        travel=min(most, travel),
        averaging=AVERAGING,
    )


def information_noise(facts: Facts, gaussian: float) -> float:
    """Return the noise of the information, or raise ParameterError if it is hopeless."""
    n, d = facts.n, facts.d
    unit = _hidden_by(facts.task, n, facts.width, d, robust=facts.robust)
    noise = min(
        gaussian / math.sqrt(_LEAST), max(gaussian / math.sqrt(_MOST), _GOOD * _WEAK / unit)
    )
    if noise * unit > _HOPELESS:
        needed = math.ceil(n * noise * unit / _HOPEFUL)
        raise ParameterError(
            f"inference cannot work with {n:,} records and {d} features at this epsilon: noise "
            "would hide how exactly the records determine the coefficients. About "
            f"{_rounded(needed):,} records would do, or fewer features, or a larger epsilon if "
            f"it is below {FORMAL:g}."
        )
    return noise


def weakest_curvature(
    task: str, n: int, width: int, d: int, noise: float, *, robust: bool, curved: float | None
) -> float:
    """Return the least curvature above noise, over that along unrelated features."""
    # Directions with less are refused (``Inference.about``). `noise` is the noise multiplier of
    # the information; `curved` the curvature of a typical record's loss, if that is known
    # better.
    typical = 1.0 if curved is None else curved / _CURVED[task]
    return SEEN * noise * _hidden_by(task, n, width, d, robust=robust) / typical


def _hidden_by(task: str, n: int, width: int, d: int, *, robust: bool) -> float:
    """Return the largest eigenvalue of a unit of noise, over a typical feature's curvature."""
    logistic = task == "classification"
    largest = 0.25 if logistic else 1.0
    part = parts_of(logistic=logistic, robust=robust)[0]
    eigenvalue = largest * curvature_error(d, 1.0, part) * math.sqrt(2.0 * width)
    return eigenvalue * d / (n * _CURVED[task])


def expected_width(task: str, n: int, d: int, travel: float, training: float) -> float:
    """Return the expected ratio of interval widths to those without privacy."""
    # `training` is the noise multiplier of a Gaussian release equivalent to the training. For
    # features with correlations of 0.3, and classes of neither even nor extreme probabilities;
    # how it was measured: docs/understanding/planning.md, "Inference".
    return math.sqrt(1.0 + _MEASURED[task] * travel**2 * _added(task, n, d, training))


def _added(task: str, n: int, d: int, gaussian: float) -> float:
    """Return the variance that noise adds at a travel of 1, over that of sampling."""
    averaged = (1.0 - AVERAGING) + AVERAGING / 3.0
    spread = _SPREAD if task == "regression" else _CURVED[task]
    return averaged * gaussian**2 * d / (n * spread)


def _rounded(count: int) -> int:
    """Return a number of records rounded to two digits."""
    unit: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // unit) * unit
