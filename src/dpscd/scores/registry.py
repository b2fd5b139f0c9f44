"""Registry of measures, and the public facts of a score, which select one."""

import math
from dataclasses import dataclass
from typing import Any

from dpscd.errors import ParameterError
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import PrivacyTarget, Unit, assumptions
from dpscd.scores import measures
from dpscd.scores.measure import Measure

_ASSUMPTIONS = assumptions(
    "score",
    "held-out records",
    "the model was made without the held-out records, or has a guarantee of its own for them",
)

CLASS_METRICS = ("accuracy", "auc", "log_loss", "brier", "confusion", "recall")
"""Measures of classifiers, the usual one first."""
NUMBER_METRICS = ("mae", "mse", "r2")
"""Measures of regressions, the usual one first."""

SKLEARN_METRICS = {
    "roc_auc": "auc",
    "neg_log_loss": "log_loss",
    "neg_brier_score": "brier",
    "neg_mean_absolute_error": "mae",
    "neg_mean_squared_error": "mse",
}
"""Measures that scikit-learn has under another name; its losses have a minus sign."""

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
class ScoreFacts:
    """Public facts about held-out records, a model and the measure that is asked for."""

    n: int  # records, or persons
    metric: str
    classes: tuple[Any, ...] = ()  # by the names that users know; none of a regression
    low: float | None = None  # bounds of the labels of a regression
    high: float | None = None
    chances: bool = True  # whether the model has probabilities
    bound: float | None = None  # largest loss of a record, where the measure has one
    level: float = 0.95  # of the intervals
    person: str | None = None  # the column of persons, if those are the unit of privacy
    groups: bool = False  # whether persons were given apart
    dataset: str | None = None  # its name in the ledger
    model: str | None = None  # SHA-256 of the model's file

    declared = True
    searched = False
    read_from_data = ()
    device = ""
    thing = "the score"  # what the guarantee is about, in words
    assumptions = _ASSUMPTIONS  # what it assumes

    def __post_init__(self) -> None:
        if self.n < 1 or not 0.5 <= self.level < 1.0:
            raise ParameterError("n must be at least 1, and the level between 0.5 and 1.")
        if self.bound is not None and not self.bound > 0.0:
            raise ParameterError("bound must be positive.")

    @property
    def unit(self) -> Unit:
        """What is protected: a record, or a person with all its rows."""
        return Unit(self.person, groups=self.groups)

    def measure(self, target: PrivacyTarget) -> Measure:
        """Return the measure of a score with this guarantee, or raise ParameterError."""
        names = CLASS_METRICS if self.classes else NUMBER_METRICS
        if self.metric not in names:
            kind = "classifiers" if self.classes else "regressions"
            theirs = [name for name, own in SKLEARN_METRICS.items() if own in names]
            raise ParameterError(
                "{metric} must be one of {}: those are the measures of {}. Names of "
                "scikit-learn that are known: {}.",
                ", ".join(map(repr, names)),
                kind,
                ", ".join(map(repr, theirs)),
                metric=self.metric,
            )
        if self.bound is not None and self.metric not in _WITH_BOUND:
            raise ParameterError(
                "{bound} goes with {}, not with {metric}.",
                ", ".join(map(repr, _WITH_BOUND)),
                bound=self.bound,
                metric=self.metric,
            )
        made = _of_classes if self.classes else _of_numbers
        found = made(self, target)
        if found.needs_chances and not self.chances:
            raise ParameterError(
                "{metric} needs probabilities, which this model does not have; use 'accuracy', "
                "'confusion' or 'recall'.",
                metric=self.metric,
            )
        return found

    def shown(self) -> dict[str, Any]:
        """Return what was taken as public, to be read by people."""
        found: dict[str, Any] = {"n": self.n, "metric": self.metric}
        if self.classes:
            found["classes"] = list(self.classes)
        if self.dataset is not None:
            found["dataset"] = self.dataset
        return found


def metric_called(name: str, *, classifies: bool) -> str:
    """Return our name of a measure that is asked for by scikit-learn's, or by 'auto'."""
    if name == "auto":
        return (CLASS_METRICS if classifies else NUMBER_METRICS)[0]
    return SKLEARN_METRICS.get(name, name)


def _of_classes(facts: ScoreFacts, target: PrivacyTarget) -> Measure:
    secret, classes, metric = target.relation.needs_n, len(facts.classes), facts.metric
    if metric == "accuracy":
        return measures.Accuracy(secret)
    if metric == "log_loss":
        return measures.LogLoss(secret, LOG_LOSS_BOUND if facts.bound is None else facts.bound)
    if metric == "brier":
        return measures.Brier(secret, 1.0 if classes == 2 else 2.0)
    if metric == "recall":
        return measures.Recall(secret, classes)
    if metric == "confusion":
        if classes > _MOST_CLASSES:
            raise ParameterError(
                "{metric} is for up to {} classes, this model has {}; use 'recall'.",
                _MOST_CLASSES,
                classes,
                metric=metric,
            )
        return measures.Confusion(secret, classes)
    if classes != 2:
        raise ParameterError(
            "{metric} is for two classes, this model has {}; use 'recall'.",
            classes,
            metric=metric,
        )
    multiplier = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    return measures.Auc(secret, measures.bins_for(facts.n, multiplier))


def _of_numbers(facts: ScoreFacts, target: PrivacyTarget) -> Measure:
    low, high, bound = facts.low, facts.high, facts.bound
    if low is None or high is None:
        raise ParameterError("the model has no y_bounds: numbers cannot be scored privately.")
    secret, widest = target.relation.needs_n, high - low
    if facts.metric == "mae":
        largest = widest if bound is None else min(bound, widest)
        return measures.AbsoluteErrors(secret, largest, (low, high))
    square = widest * widest
    if not square < math.inf:
        raise ParameterError("the bounds of the target are too wide for squared errors.")
    largest = square if bound is None else min(bound, square)
    kind = measures.RSquared if facts.metric == "r2" else measures.SquaredErrors
    return kind(secret, largest, (low, high))
