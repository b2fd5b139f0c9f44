"""The untuned rule: from public facts to a plan.

Nothing here sees a record; the arguments are numbers that are public anyway. Why each
constant is what it is, and on which data it was measured: docs/understanding/planning.md.
"""

import math
from dataclasses import dataclass

from dpscd.errors import ParameterError
from dpscd.plan import Plan
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import PrivacyTarget

__all__ = ["Facts", "default_constant", "default_delta", "plan_fit"]

_EPOCHS = 100.0
_LOTS_PER_EPOCH = 250
_SMALLEST_LOT, _LARGEST_LOT = 16, 2048
_TRAVEL = 0.5
_ENOUGH = 6000.0  # epsilon n from which the full travel pays
_MODEL_SIZE = {"classification": 25.0, "regression": 5.0}
_CONSTANT = 0.3
_AVERAGING = 0.5


@dataclass(frozen=True)
class Facts:
    """What is public about a fit.

    Attributes
    ----------
    n, d, outputs : int
        Records, features, and models trained together.
    task : str
        'classification' or 'regression'.
    row_bound : float
        Longest allowed row.
    constant : float
        Value of the constant column in the user's units, 0 without intercept.
    """

    n: int
    d: int
    outputs: int
    task: str
    row_bound: float
    constant: float


def default_delta(n: int) -> float:
    """Return the delta of a data set of n records: 1e-5, less beyond 10,000 records."""
    return min(1e-5, 1.0 / (10.0 * n))


def default_constant(row_bound: float) -> float:
    """Return the value of the constant column that goes with a row bound."""
    return _CONSTANT * row_bound


def plan_fit(
    facts: Facts,
    target: PrivacyTarget,
    *,
    lam: float | None = None,
    epochs: float | None = None,
    lot_size: int | None = None,
    travel: float | None = None,
) -> Plan:
    """Return the calibrated plan of a fit; what is None follows the rule.

    Parameters
    ----------
    facts : Facts
        The public facts.
    target : PrivacyTarget
        The guarantee to reach, with a finite epsilon.
    lam : float, optional
        Regularisation in the user's units.
    epochs : float, optional
        Expected number of times each record is used.
    lot_size : int, optional
        Expected number of records in a lot.
    travel : float, optional
        How far a dual may move in all, in units of the label scale.
    """
    n = facts.n
    if lot_size is None:
        lot_size = min(n, max(_SMALLEST_LOT, min(_LARGEST_LOT, n // _LOTS_PER_EPOCH)))
    if not 1 <= lot_size <= n:
        raise ParameterError(f"lot_size={lot_size!r} must be at least 1 and at most n={n}.")
    if epochs is None:
        epochs = _EPOCHS
    if not epochs > 0.0:
        raise ParameterError(f"epochs={epochs!r} must be greater than 0.")
    if travel is None:
        travel = _TRAVEL * min(1.0, math.sqrt(target.epsilon * n / _ENOUGH))
    rate = lot_size / n
    steps = math.ceil(epochs / rate)
    if lam is None:
        lam = _lam(facts, target, travel)
    return Plan(
        epsilon=target.epsilon,
        delta=target.delta,
        relation=target.relation,
        n=n,
        d=facts.d,
        outputs=facts.outputs,
        intercept=facts.constant != 0.0,
        lam=lam,
        steps=steps,
        rate=rate,
        clip=travel / (rate * steps),
        separability=float(lot_size),
        averaging=_AVERAGING,
    ).calibrated()


def _lam(facts: Facts, target: PrivacyTarget, travel: float) -> float:
    """Return the regularisation that follows the noise, in the user's units."""
    noise = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    width = facts.d + (1 if facts.constant else 0)
    model_size = _MODEL_SIZE[facts.task]
    inner = travel * math.sqrt(width) * (0.5 * noise + 1.0) / (model_size * facts.n)
    return inner * (facts.row_bound**2 + facts.constant**2)
