"""Scores of decisions, numbers and probabilities; those of a broken model are NaN."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

#: Points (where, value), such as a calibration curve or an objective per epoch.
Curve = Sequence[tuple[float, float]]
Metrics = Mapping[str, float | Curve]

_BINS = 10


def decision_metrics(positive: npt.ArrayLike, decision: npt.ArrayLike) -> dict[str, float]:
    """Return accuracy and AUC of decisions; AUC is NaN where there is only one class."""
    truth, score = np.asarray(positive, dtype=bool), np.asarray(decision, dtype=np.float64)
    auc = np.nan
    if 0 < truth.sum() < len(truth) and not np.isnan(score).any():
        auc = float(roc_auc_score(truth, score))
    return {"accuracy": _share_right(truth, score), "auc": auc}


def regression_metrics(y: npt.ArrayLike, predicted: npt.ArrayLike) -> dict[str, float]:
    """Return mean squared error and R2 of numbers; R2 is NaN where labels are equal."""
    truth, guess = np.asarray(y, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    mse, variance = float(((truth - guess) ** 2).mean()), float(truth.var())
    return {"mse": mse, "r2": 1.0 - mse / variance if variance > 0.0 else np.nan}


def _share_right(truth: npt.NDArray[np.bool_], side: npt.NDArray[np.float64]) -> float:
    if np.isnan(side).any():
        return np.nan
    return float(((side > 0.0) == truth).mean())


def probability_metrics(positive: npt.ArrayLike, chance: npt.ArrayLike) -> Metrics:
    """Score probabilities of the positive class; those of a broken model score NaN."""
    truth, p = np.asarray(positive, dtype=bool), np.asarray(chance, dtype=np.float64)
    # For the log-loss a probability is kept 2.2e-16 from 0.
    least = np.finfo(np.float64).eps
    of_truth = np.clip(np.where(truth, p, 1.0 - p), least, 1.0)
    curve, error = _calibration(truth, p)
    return {
        "accuracy": _share_right(truth, p - 0.5),
        "log_loss": float(-np.log(of_truth).mean()),
        "brier": float(((p - truth) ** 2).mean()),
        # The mean distance of the curve from the diagonal, weighted by records.
        "calibration_error": error,
        "calibration": curve,
    }


def _calibration(
    truth: npt.NDArray[np.bool_], p: npt.NDArray[np.float64]
) -> tuple[Curve, float]:
    """Return mean prediction and positive share of ten equal bins, and their distance."""
    if np.isnan(p).any():
        return [], np.nan
    bins = np.clip((p * _BINS).astype(np.int64), 0, _BINS - 1)
    count = np.bincount(bins, minlength=_BINS)
    filled = count > 0
    predicted = np.bincount(bins, p, _BINS)[filled] / count[filled]
    observed = np.bincount(bins, truth, _BINS)[filled] / count[filled]
    error = float((np.abs(predicted - observed) * count[filled]).sum() / len(p))
    return list(zip(predicted.tolist(), observed.tolist(), strict=True)), error
