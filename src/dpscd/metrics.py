"""How good predictions are, in the terms of their task.

These functions look at labels: on private records they would be releases of their own, so
give them test data. Predictions with a NaN among them score NaN, they do not raise.
"""

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

__all__ = ["decision_metrics", "regression_metrics", "share_right"]

Floats = npt.NDArray[np.float64]


def decision_metrics(positive: npt.ArrayLike, decision: npt.ArrayLike) -> dict[str, float]:
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
    return {"accuracy": share_right(truth, score), "auc": float(auc)}


def regression_metrics(y: npt.ArrayLike, predicted: npt.ArrayLike) -> dict[str, float]:
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


def share_right(truth: npt.NDArray[np.bool_], side: Floats) -> float:
    """Return the part of records on their own side.

    Parameters
    ----------
    truth : array of bool
        Which records are of the positive class.
    side : array of float
        Predicted side: above 0 for the positive class.
    """
    if np.isnan(side).any():
        return np.nan
    return float(((side > 0.0) == truth).mean())
