"""Quality of predictions, in the terms of their task.

These functions read labels, so give them test data. Predictions that hold a NaN score NaN.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

Floats = npt.NDArray[np.float64]

_PARTS = 10  # of the range of probabilities
_SHARES = 20  # of the records, at which gains are stated


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


def mean_auc(codes: npt.NDArray[np.int64], probabilities: Floats) -> float:
    """Return the AUC of the second of two classes, or the mean of each class of more.

    Each is then compared with all others. Every class must have records.
    """
    asked = [1] if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    found = [decision_metrics(codes == code, probabilities[:, code])["auc"] for code in asked]
    return sum(found) / len(found)


def class_tables(
    names: Sequence[str],
    codes: npt.NDArray[np.int64],
    predicted: npt.NDArray[np.int64],
    probabilities: Floats | None,
) -> dict[str, Any]:
    """Return measures by class, the confusion matrix, and whether probabilities come true.

    `names` are in the order of the codes. `probabilities` have the shape (records, classes).
    """
    pairs = codes * len(names) + predicted
    confusion = np.bincount(pairs, minlength=len(names) ** 2).reshape(len(names), -1)
    found = {
        "by class": _by_class(names, confusion, probabilities),
        "confusion": confusion.tolist(),
    }
    if probabilities is not None and len(names) == 2:
        found["reliability"] = _reliability(codes, probabilities[:, 1])
        found["gain"] = _gain(codes == 1, probabilities[:, 1])
    return found


def _by_class(
    names: Sequence[str], confusion: npt.NDArray[np.int64], probabilities: Floats | None
) -> list[dict[str, Any]]:
    """Return the measures of each class; None where the divisor is 0."""
    found = []
    for code, name in enumerate(names):
        own, said = int(confusion[code].sum()), int(confusion[:, code].sum())
        right = int(confusion[code, code])
        found.append(
            {
                "class": name,
                "records": own,
                "predicted": said,
                "recall": right / own if own else None,
                "precision": right / said if said else None,
            }
        )
        if probabilities is not None:
            found[-1]["mean probability"] = float(probabilities[:, code].mean())
    return found


def _reliability(codes: npt.NDArray[np.int64], probability: Floats) -> list[dict[str, Any]]:
    """Return how often the second class occurs, in bins of its probability of equal width."""
    place = np.clip(np.floor(probability * _PARTS), 0, _PARTS - 1).astype(int)
    return [
        {
            "from": part / _PARTS,
            "to": (part + 1) / _PARTS,
            "records": int((place == part).sum()),
            "mean probability": float(probability[place == part].mean()),
            "share": float((codes[place == part] == 1).mean()),
        }
        for part in np.unique(place).tolist()
    ]


def _gain(positive: npt.NDArray[np.bool_], chance: Floats) -> list[dict[str, float]]:
    """Return which share of the second class is among the most probable records.

    Records of one probability count as their mean.
    """
    if not positive.any():
        return []
    value, place, count = np.unique(-chance, return_inverse=True, return_counts=True)
    found = np.bincount(place, positive, minlength=len(value))
    taken = np.append(0.0, np.cumsum(count)) / len(chance)
    share = np.append(0.0, np.cumsum(found)) / positive.sum()
    at = np.arange(1, _SHARES + 1) / _SHARES
    gains = np.interp(at, taken, share)
    return [
        {"records": x, "found": y} for x, y in zip(at.tolist(), gains.tolist(), strict=True)
    ]
