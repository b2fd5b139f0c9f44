"""Measures of classes and of probabilities in ``dpscd evaluate``: not private."""

from collections.abc import Sequence
from typing import Any

from dpscd.cli.common import print_table

__all__ = ["mean_auc", "of_classes", "print_by_class"]

_PARTS = 10  # of the range of probabilities


def of_classes(
    names: Sequence[str], labels: Any, predicted: Any, chances: Any
) -> dict[str, Any]:
    """Return tables of classes, for JSON.

    `names` are in the order of the codes; only records with a known target are given. `chances`
    are probabilities of shape (records, classes).
    """
    found: dict[str, Any] = {
        "by class": _by_class(names, labels, predicted, chances),
        "confusion": _confusion(len(names), labels, predicted).tolist(),
    }
    if chances is not None and len(names) == 2:
        found["reliability"] = _reliability(labels, chances[:, 1])
    return found


def _by_class(
    names: Sequence[str], labels: Any, predicted: Any, chances: Any
) -> list[dict[str, Any]]:
    """Return the measures of each class; None where the divisor is 0."""
    table = _confusion(len(names), labels, predicted)
    found = []
    for code, name in enumerate(names):
        own, said = int(table[code].sum()), int(table[:, code].sum())
        right = int(table[code, code])
        one: dict[str, Any] = {
            "class": name,
            "records": own,
            "predicted": said,
            "recall": right / own if own else None,
            "precision": right / said if said else None,
        }
        if chances is not None:
            one["mean probability"] = float(chances[:, code].mean())
        found.append(one)
    return found


def _confusion(classes: int, labels: Any, predicted: Any) -> Any:
    """Return how many records of each class (rows) are predicted as each (columns)."""
    import numpy as np

    pairs = np.asarray(labels) * classes + np.asarray(predicted)
    return np.bincount(pairs, minlength=classes * classes).reshape(classes, classes)


def mean_auc(labels: Any, chances: Any) -> float:
    """Return the AUC of the second of two classes, or the mean of each class of more.

    Each is then compared with all others. Every class must have records.
    """
    from dpscd.metrics import decision_metrics

    codes = [1] if chances.shape[1] == 2 else range(chances.shape[1])
    found = [decision_metrics(labels == code, chances[:, code])["auc"] for code in codes]
    return sum(found) / len(found)


def _reliability(labels: Any, chance: Any) -> list[dict[str, Any]]:
    """Return how often the second class occurs, in bins of its probability of equal width."""
    import numpy as np

    place = np.clip(np.floor(np.asarray(chance) * _PARTS), 0, _PARTS - 1).astype(int)
    found = []
    for part in range(_PARTS):
        own = place == part
        if own.any():
            found.append(
                {
                    "from": part / _PARTS,
                    "to": (part + 1) / _PARTS,
                    "records": int(own.sum()),
                    "mean probability": float(np.mean(chance[own])),
                    "share": float(np.mean(labels[own] == 1)),
                }
            )
    return found


def print_by_class(found: dict[str, Any], *, details: bool) -> None:
    """Print the tables of :func:`of_classes`.

    With `details` the confusion matrix and the reliability are printed too.
    """
    classes = found["by class"]
    heads = list(classes[0])
    rows = [[_shown(one[head]) for head in heads] for one in classes]
    print_table("By class", heads, rows, right=range(1, len(heads)))
    if not details:
        return
    names = [str(one["class"]) for one in classes]
    counts = [
        [name, *map(_shown, row)] for name, row in zip(names, found["confusion"], strict=True)
    ]
    print_table(
        "Records of a class (rows) by what is predicted (columns)",
        ["class", *names],
        counts,
        right=range(1, len(names) + 1),
    )
    if found.get("reliability"):
        lines = [[_shown(value) for value in part.values()] for part in found["reliability"]]
        heads = [*found["reliability"][0]]
        print_table(f"Do probabilities of {names[1]} come true?", heads, lines, right=range(5))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
