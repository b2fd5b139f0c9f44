"""Registry of measures, and the measures of each model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpscd.errors import ParameterError
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import PrivacyTarget
from dpscd.scores.cells import Auc, Confusion, Recall, bins_for
from dpscd.scores.means import AbsoluteErrors, Accuracy, Brier, LogLoss, SquaredErrors
from dpscd.scores.measure import Measure
from dpscd.scores.r2 import RSquared

__all__ = [
    "CLASS_METRICS",
    "LOG_LOSS_BOUND",
    "METRIC_WORDS",
    "NUMBER_METRICS",
    "Scored",
    "measure_for",
    "measure_of_facts",
    "usual_metric",
]

CLASS_METRICS = ("accuracy", "auc", "log_loss", "brier", "confusion", "recall")
"""Measures of classifiers, the usual one first."""
NUMBER_METRICS = ("mae", "mse", "r2")
"""Measures of regressions, the usual one first."""

METRIC_WORDS = {
    "accuracy": "accuracy",
    "auc": "area under the curve",
    "log_loss": "log loss",
    "brier": "Brier score",
    "confusion": "shares of all",
    "recall": "recall",
    "mae": "mean absolute error",
    "mse": "mean squared error",
    "r2": "R2",
}
"""What people call them."""

LOG_LOSS_BOUND = math.log(100.0)
"""The log loss of a record whose own class was given a chance of 1 % or less."""

_WITH_BOUND = ("log_loss", "mae", "mse")
_MOST_CLASSES = 64  # of a confusion matrix


@dataclass(frozen=True)
class Scored:
    """Public facts of a model and the records it is scored on."""

    classes: int  # number of classes; 0 if the model predicts numbers
    bounds: tuple[float, float] | None  # bounds of the labels of a regression
    chances: bool  # whether the model has probabilities
    n: int  # public number of records, or of persons
    target: PrivacyTarget  # guarantee of the score

    @property
    def secret_count(self) -> bool:
        """Whether the true number of records is secret."""
        return self.target.relation.needs_n

    @property
    def multiplier(self) -> float:
        """Approximate standard deviation of the noise."""
        target = self.target
        return gaussian_multiplier(target.epsilon, target.delta, target.relation)


def usual_metric(scored: Scored) -> str:
    """Return the default measure of a model."""
    return (CLASS_METRICS if scored.classes else NUMBER_METRICS)[0]


def measure_for(scored: Scored, metric: str, bound: float | None = None) -> Measure:
    """Return the named measure for a model, or raise ParameterError.

    `bound` is the largest loss of a record, where the measure has one.
    """
    names = CLASS_METRICS if scored.classes else NUMBER_METRICS
    if metric not in names:
        kind = "classifiers" if scored.classes else "regressions"
        raise ParameterError(
            f"metric={metric!r} must be one of {', '.join(map(repr, names))}: those are the "
            f"measures of {kind}."
        )
    if bound is not None and metric not in _WITH_BOUND:
        raise ParameterError(
            f"bound={bound!r} goes with {', '.join(map(repr, _WITH_BOUND))}, not with "
            f"metric={metric!r}."
        )
    made = _of_classes if scored.classes else _of_numbers
    found = made(scored, metric, bound)
    if found.needs_chances and not scored.chances:
        raise ParameterError(
            f"metric={metric!r} needs probabilities, which this model does not have; use "
            "'accuracy', 'confusion' or 'recall'."
        )
    return found


def measure_of_facts(public: Mapping[str, Any], target: PrivacyTarget) -> Measure:
    """Return the measure of a card's public facts and target, or raise an error."""
    metric = public["metric"]
    bounds = tuple(public["y_bounds"]) if "y_bounds" in public else None
    scored = Scored(len(public.get("classes", ())), bounds, True, public["n"], target)
    bound = public["bound"] if metric in _WITH_BOUND else None
    if bound is not None and not (type(bound) is float and 0.0 < bound < math.inf):
        raise ParameterError("bound must be a positive, finite number.")
    return measure_for(scored, metric, bound)


def _of_classes(scored: Scored, metric: str, bound: float | None) -> Measure:
    secret, classes = scored.secret_count, scored.classes
    if metric == "accuracy":
        return Accuracy(secret)
    if metric == "log_loss":
        return LogLoss(secret, LOG_LOSS_BOUND if bound is None else bound)
    if metric == "brier":
        return Brier(secret, 1.0 if classes == 2 else 2.0)
    if metric == "recall":
        return Recall(secret, classes)
    if metric == "confusion":
        if classes > _MOST_CLASSES:
            raise ParameterError(
                f"metric='confusion' is for up to {_MOST_CLASSES} classes, this model has "
                f"{classes}; use 'recall'."
            )
        return Confusion(secret, classes)
    if classes != 2:
        raise ParameterError(
            f"metric='auc' is for two classes, this model has {classes}; use 'recall'."
        )
    return Auc(secret, bins_for(scored.n, scored.multiplier))


def _of_numbers(scored: Scored, metric: str, bound: float | None) -> Measure:
    if scored.bounds is None:
        raise ParameterError("the model has no y_bounds: numbers cannot be scored privately.")
    low, high = scored.bounds
    widest = high - low
    if metric == "mae":
        largest = widest if bound is None else min(bound, widest)
        return AbsoluteErrors(scored.secret_count, largest, (low, high))
    square = widest * widest
    if not square < math.inf:
        raise ParameterError("the bounds of the target are too wide for squared errors.")
    largest = square if bound is None else min(bound, square)
    kind = RSquared if metric == "r2" else SquaredErrors
    return kind(scored.secret_count, largest, (low, high))
