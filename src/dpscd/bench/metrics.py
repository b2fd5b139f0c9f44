"""How good a model is, in the terms of its task.

The functions on arrays serve any method; :func:`logistic_metrics`, :func:`svm_metrics`
and :func:`ridge_metrics` take a fitted model. All of them look at labels: on private
records they would be releases of their own, so give them test data. A model with a NaN
in it scores NaN, it does not raise.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from dpscd.errors import DataError

__all__ = [
    "Curve",
    "Metrics",
    "calibration_curve",
    "decision_metrics",
    "logistic_metrics",
    "probability_metrics",
    "regression_metrics",
    "ridge_metrics",
    "svm_metrics",
]

Floats = npt.NDArray[np.float64]

#: Points (where, value), such as a calibration curve or an objective per epoch.
Curve = Sequence[tuple[float, float]]
Metrics = Mapping[str, float | Curve]

_BINS = 10


def logistic_metrics(model: Any, X: Any, y: npt.ArrayLike) -> Metrics:
    """Score a fitted logistic regression.

    Parameters
    ----------
    model : estimator
        With two ``classes_`` and ``predict_proba``.
    X, y : array-like
        Test records and their labels.

    Returns
    -------
    dict
        ``accuracy``, ``log_loss``, ``brier``, ``calibration_error`` and the curve
        ``calibration``.
    """
    return probability_metrics(_positive(model, y), model.predict_proba(X)[:, 1])


def svm_metrics(model: Any, X: Any, y: npt.ArrayLike) -> Metrics:
    """Score a fitted support vector machine, or any model with decisions.

    Parameters
    ----------
    model : estimator
        With two ``classes_`` and ``decision_function``.
    X, y : array-like
        Test records and their labels.

    Returns
    -------
    dict
        ``accuracy`` and ``auc``.
    """
    return decision_metrics(_positive(model, y), model.decision_function(X))


def ridge_metrics(model: Any, X: Any, y: npt.ArrayLike) -> Metrics:
    """Score a fitted regression.

    Parameters
    ----------
    model : estimator
        With ``predict``.
    X, y : array-like
        Test records and their labels.

    Returns
    -------
    dict
        ``mse`` and ``r2``.
    """
    return regression_metrics(y, model.predict(X))


def probability_metrics(positive: npt.ArrayLike, chance: npt.ArrayLike) -> Metrics:
    """Score probabilities of the positive class.

    Parameters
    ----------
    positive : array of bool
        Which records are of the positive class.
    chance : array of float
        Its predicted probability. For the log-loss it is kept 2.2e-16 from 0 and 1.

    Returns
    -------
    dict
        ``accuracy`` (decisions at one half), ``log_loss``, ``brier``,
        ``calibration_error`` (mean distance of the curve from the diagonal, weighted by
        records) and the curve ``calibration``.
    """
    truth, p = np.asarray(positive, dtype=bool), np.asarray(chance, dtype=np.float64)
    least = np.finfo(np.float64).eps
    of_truth = np.clip(np.where(truth, p, 1.0 - p), least, 1.0)
    curve, error = _calibration(truth, p)
    return {
        "accuracy": _share(truth, p - 0.5),
        "log_loss": float(-np.log(of_truth).mean()),
        "brier": float(((p - truth) ** 2).mean()),
        "calibration_error": error,
        "calibration": curve,
    }


def decision_metrics(positive: npt.ArrayLike, decision: npt.ArrayLike) -> Metrics:
    """Score decisions, which are positive for the positive class.

    Parameters
    ----------
    positive : array of bool
        Which records are of the positive class.
    decision : array of float
        Predicted side, and how far.

    Returns
    -------
    dict
        ``accuracy`` and ``auc``, the chance that a positive record is placed above a
        negative one (ties count half; NaN when there is only one class).
    """
    truth, score = np.asarray(positive, dtype=bool), np.asarray(decision, dtype=np.float64)
    ones = int(truth.sum())
    zeros = len(truth) - ones
    auc = np.nan
    if ones and zeros and not np.isnan(score).any():
        auc = (rankdata(score)[truth].sum() - ones * (ones + 1) / 2) / (ones * zeros)
    return {"accuracy": _share(truth, score), "auc": float(auc)}


def regression_metrics(y: npt.ArrayLike, predicted: npt.ArrayLike) -> Metrics:
    """Score predicted numbers.

    Parameters
    ----------
    y, predicted : array of float
        Labels and predictions.

    Returns
    -------
    dict
        ``mse`` and ``r2`` (NaN when all labels are equal).
    """
    truth, guess = np.asarray(y, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    mse, variance = float(((truth - guess) ** 2).mean()), float(truth.var())
    return {"mse": mse, "r2": 1.0 - mse / variance if variance > 0.0 else np.nan}


def calibration_curve(positive: npt.ArrayLike, chance: npt.ArrayLike) -> Curve:
    """Return how often what was predicted with some probability came true.

    Parameters
    ----------
    positive : array of bool
        Which records are of the positive class.
    chance : array of float
        Its predicted probability.

    Returns
    -------
    list of (float, float)
        For each of ten equal bins of probability that has records: their mean
        prediction, and the part of them that is positive.
    """
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


def _share(truth: npt.NDArray[np.bool_], side: Floats) -> float:
    """Return the part of records on their own side; 0 is the negative one."""
    if np.isnan(side).any():
        return np.nan
    return float(((side > 0.0) == truth).mean())


def _positive(model: Any, y: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    if len(model.classes_) != 2:
        raise DataError("These metrics are for two classes.")
    return np.asarray(np.asarray(y) == model.classes_[1], dtype=bool)
