"""How good a model is, in the terms of its task, beyond what :mod:`dpscd.metrics` has.

:func:`probability_metrics` takes the numbers of any method; :func:`logistic_metrics`,
:func:`svm_metrics` and :func:`ridge_metrics` take a fitted model. All of them look at labels:
on private records they would be releases of their own, so give them test data. A model with
a NaN in it scores NaN, it does not raise.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError
from dpscd.metrics import decision_metrics, regression_metrics, share_right

__all__ = [
    "Curve",
    "Metrics",
    "calibration_curve",
    "logistic_metrics",
    "probability_metrics",
    "ridge_metrics",
    "svm_metrics",
]

Floats = npt.NDArray[np.float64]

#: Points (where, value), such as a calibration curve or an objective per epoch.
Curve = Sequence[tuple[float, float]]
Metrics = Mapping[str, float | Curve]

_BINS = 10


def logistic_metrics(model: Any, X: Any, y: npt.ArrayLike) -> Metrics:
    """Score a fitted logistic regression."""
    return probability_metrics(_positive(model, y), model.predict_proba(X)[:, 1])


def svm_metrics(model: Any, X: Any, y: npt.ArrayLike) -> Metrics:
    """Score a fitted support vector machine, or any model with decisions."""
    return decision_metrics(_positive(model, y), model.decision_function(X))


def ridge_metrics(model: Any, X: Any, y: npt.ArrayLike) -> Metrics:
    """Score a fitted regression."""
    return regression_metrics(y, model.predict(X))


def probability_metrics(positive: npt.ArrayLike, chance: npt.ArrayLike) -> Metrics:
    """Score probabilities of the positive class."""
    truth, p = np.asarray(positive, dtype=bool), np.asarray(chance, dtype=np.float64)
    least = np.finfo(np.float64).eps
    of_truth = np.clip(np.where(truth, p, 1.0 - p), least, 1.0)
    curve, error = _calibration(truth, p)
    return {
        "accuracy": share_right(truth, p - 0.5),
        "log_loss": float(-np.log(of_truth).mean()),
        "brier": float(((p - truth) ** 2).mean()),
        "calibration_error": error,
        "calibration": curve,
    }


def calibration_curve(positive: npt.ArrayLike, chance: npt.ArrayLike) -> Curve:
    """Return how often what was predicted with some probability came true."""
    return _calibration(np.asarray(positive, dtype=bool), np.asarray(chance, np.float64))[0]


def _calibration(truth: npt.NDArray[np.bool_], p: Floats) -> tuple[Curve, float]:
    if np.isnan(p).any():
        return [], np.nan
    bins = np.clip((p * _BINS).astype(np.int64), 0, _BINS - 1)
    count = np.bincount(bins, minlength=_BINS)
    filled = count > 0
    predicted = np.bincount(bins, p, _BINS)[filled] / count[filled]
    observed = np.bincount(bins, truth, _BINS)[filled] / count[filled]
    error = float((np.abs(predicted - observed) * count[filled]).sum() / len(p))
    return list(zip(predicted.tolist(), observed.tolist(), strict=True)), error


def _positive(model: Any, y: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    if len(model.classes_) != 2:
        raise DataError("These metrics are for two classes.")
    return np.asarray(np.asarray(y) == model.classes_[1], dtype=bool)
