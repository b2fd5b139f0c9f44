"""Quality of predictions, in the terms of their task.

These functions read labels: on private records they would be releases of their own, so give
them test data. Predictions that hold a NaN score NaN, without an error.
"""

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

__all__ = ["decision_metrics", "regression_metrics", "share_right"]

Floats = npt.NDArray[np.float64]


def decision_metrics(positive: npt.ArrayLike, decision: npt.ArrayLike) -> dict[str, float]:
    """Return ``accuracy`` and ``auc`` of decisions, which are positive for the positive class.

    ``auc`` counts ties half, and is NaN when there is only one class.
    """
    truth, score = np.asarray(positive, dtype=bool), np.asarray(decision, dtype=np.float64)
    ones = int(truth.sum())
    zeros = len(truth) - ones
    auc = np.nan
    if ones and zeros and not np.isnan(score).any():
        auc = (rankdata(score)[truth].sum() - ones * (ones + 1) / 2) / (ones * zeros)
    return {"accuracy": share_right(truth, score), "auc": float(auc)}


def regression_metrics(y: npt.ArrayLike, predicted: npt.ArrayLike) -> dict[str, float]:
    """Return ``mse`` and ``r2`` (NaN when all labels are equal) of predicted numbers."""
    truth, guess = np.asarray(y, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    mse, variance = float(((truth - guess) ** 2).mean()), float(truth.var())
    return {"mse": mse, "r2": 1.0 - mse / variance if variance > 0.0 else np.nan}


def share_right(truth: npt.NDArray[np.bool_], side: Floats) -> float:
    """Return the share of records whose `side` (above 0: positive class) is right."""
    if np.isnan(side).any():
        return np.nan
    return float(((side > 0.0) == truth).mean())
