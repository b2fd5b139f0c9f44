"""Quality of a model on records whose target is known, without noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError, ParameterError, SchemaError
from dpscd.estimators.table import TableModel
from dpscd.estimators.table_answers import schema_chances
from dpscd.estimators.validation import check_fitted
from dpscd.records.labels import ClassLabels, label_column, numbers_in
from dpscd.records.opening import codes_of
from dpscd.records.refusals import NO_RECORDS, UNEQUAL, redact_errors
from dpscd.records.tables import open_parsed
from dpscd.scores.measure import Answers

Persons = npt.NDArray[np.int64] | None
Floats = npt.NDArray[np.float64]

_PARTS = 10  # of the range of probabilities
_SHARES = 20  # of the records, at which gains are stated


@dataclass(frozen=True)
class Evaluation:
    """Measures of a model on records, which are not private; it prints as a list."""

    records: int
    metrics: dict[str, float]
    # the number of persons, and measures with equal weight for each; empty if unknown
    by_person: dict[str, Any]
    tables: dict[str, Any]  # of classes: by class, confusion, reliability

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values."""
        found = {"private": False, "records": self.records, "metrics": self.metrics}
        return found | ({"by person": self.by_person} if self.by_person else {}) | self.tables

    def __str__(self) -> str:
        lines = [f"{name}: {value:.4f}" for name, value in self.metrics.items()]
        return "\n".join([f"{self.records:,} records, not private", *lines])

    __repr__ = __str__


def evaluate(model: Any, X: Any, y: Any = None, *, groups: Any = None) -> Evaluation:
    """Compare a model's predictions with a known target. NOT PRIVATE.

    Parameters
    ----------
    model : TableModel or one of the estimators
        Fitted, on other records.
    X : path, list of paths, table or array
        The test records: for a TableModel whatever it is fitted on, else rows.
    y : array-like, optional
        Their labels, where a table does not have them.
    groups : array-like, optional
        Group label of each row; rows with equal labels belong to one person. By default the
        column of persons of the model's schema, if the table has it.

    Returns
    -------
    Evaluation
        `metrics` are the usual measures, `by_person` the same with equal weight for each
        person, `tables` those of classes. Records whose target is missing, or not one of the
        classes, are left out. Nothing here is noisy: keep it to yourself, or publish
        :func:`private_score` instead.

    Examples
    --------
    >>> from dpscd import DPRidge, evaluate
    >>> X, y = [[0.1], [0.2]] * 50, [0, 1] * 50
    >>> model = DPRidge(epsilon=1.0, y_bounds=(0, 1), random_state=0).fit(X, y)
    >>> sorted(evaluate(model, X, y).metrics)
    ['R2', 'mean absolute error', 'mean squared error']
    """
    check_fitted(model)
    table = isinstance(model, TableModel)
    inner, bounds = getattr(model, "estimator_", model), bounds_of(model)
    found, persons = (_of_table if table else _of_arrays)(model, X, y)
    if groups is not None:
        persons = codes_of(groups, len(found.labels))
    if not len(found.labels):
        raise DataError(NO_RECORDS)
    classes = getattr(inner, "classes_", None)
    known = np.isfinite(found.labels) if classes is None else found.labels >= 0
    if not known.any():
        raise DataError(
            "no record has a target."
            if classes is None
            else "none of the labels is one of the model's classes: compare spelling and type."
        )
    by_person: dict[str, Any] = {}
    if persons is not None and (theirs := known & (persons >= 0)).any():
        _, person, rows = np.unique(persons[theirs], return_inverse=True, return_counts=True)
        own = _metrics(found.at(theirs), classes, bounds, 1.0 / rows[person], persons=True)
        by_person = {"persons": len(rows), "metrics": own}
    usable = found.at(known)
    metrics = _metrics(usable, classes, bounds, None, persons=persons is not None)
    tables = {}
    if classes is not None:
        names = [str(label) for label in classes]
        tables = class_tables(names, usable.labels, usable.predictions, usable.chances)
    return Evaluation(len(found.labels), metrics, by_person, tables)


def _of_table(model: Any, table: Any, y: Any) -> tuple[Answers, Persons]:
    try:
        source = open_parsed(table, model.schema_, y, person=True)
    except SchemaError:  # perhaps only the column of persons is absent
        source = open_parsed(table, model.schema_, y)
    parsed = redact_errors(source.read)
    chances = hasattr(model.estimator_, "predict_proba")
    return predicted_answers(model, parsed, parsed.target, chances=chances), parsed.persons


def _of_arrays(model: Any, X: Any, y: Any) -> tuple[Answers, Persons]:
    if y is None:
        raise ParameterError("{y} is missing: predictions are compared with labels.", y=None)
    labels = labels_of(model, label_column(y))
    if len(labels) != (X.shape[0] if hasattr(X, "shape") else len(X)):
        raise DataError(UNEQUAL)
    chances = hasattr(model, "predict_proba")
    return predicted_answers(model, X, labels, chances=chances), None


def bounds_of(model: Any) -> tuple[float, float] | None:
    """Return the bounds of a regression's target in its own unit; None of a classifier."""
    if hasattr(getattr(model, "estimator_", model), "classes_"):
        return None
    found: Any = model.target_bounds_ if isinstance(model, TableModel) else model._bounds()
    return found  # type: ignore[no-any-return]


def labels_of(model: Any, column: Any) -> Any:
    """Return labels as a fitted estimator counts them: codes of its classes, or numbers."""
    if hasattr(model, "classes_"):
        return ClassLabels(tuple(model.classes_.tolist())).places(column)
    return numbers_in(column)


def predicted_answers(model: Any, rows: Any, labels: Any, *, chances: bool) -> Answers:
    """Return what is known and predicted; classes as codes, in the estimator's order."""
    classes = getattr(getattr(model, "estimator_", model), "classes_", None)
    if not len(labels):
        return Answers(labels, labels, None if classes is None else np.empty((0, len(classes))))
    guess, found = model.predict(rows), None
    if classes is not None:
        order = np.argsort(classes)
        guess = order[np.searchsorted(classes, guess, sorter=order)]
    if chances:
        table = isinstance(model, TableModel)
        found = schema_chances(model, rows) if table else model.predict_proba(rows)
    return Answers(labels, guess, found)


def _metrics(
    found: Answers, classes: Any, bounds: Any, weights: Any, *, persons: bool
) -> dict[str, float]:
    """Return the usual measures of records whose target is known.

    With `persons` also means of the target and of predictions; with one weight per record, no
    area under the curve.
    """
    labels, guess = found.labels, found.predictions

    def mean(values: Any) -> float:
        return float(np.average(values, weights=weights))

    if classes is None:
        truth = np.clip(labels, *bounds)
        mse, variance = mean((truth - guess) ** 2), mean((truth - mean(truth)) ** 2)
        measures = {
            "mean squared error": mse,
            "mean absolute error": mean(np.abs(guess - truth)),
            "R2": 1.0 - mse / variance if variance > 0.0 else np.nan,
        }
        if persons:
            measures |= {"mean target": mean(truth), "mean prediction": mean(guess)}
        return measures
    counts = np.bincount(labels, weights, minlength=len(classes))
    largest = float(counts.max() / counts.sum())
    measures = {"accuracy": mean(guess == labels), "share of the largest class": largest}
    if found.chances is not None:
        own = np.take_along_axis(found.chances, labels[:, None], axis=1)[:, 0]
        measures["log loss"] = mean(-np.log(np.maximum(own, 1e-300)))
        if weights is None and counts.all():
            measures["area under the curve"] = _mean_auc(labels, found.chances)
        if persons and len(classes) == 2:
            name = classes[1]
            measures[f"share of {name}"] = mean(labels == 1)
            measures[f"mean probability of {name}"] = mean(found.chances[:, 1])
    return measures


def _mean_auc(codes: npt.NDArray[np.int64], probabilities: Floats) -> float:
    """Return the AUC of the second of two classes, or the mean of each class of more."""
    from sklearn.metrics import roc_auc_score

    if np.isnan(probabilities).any():
        return float("nan")
    asked = [1] if probabilities.shape[1] == 2 else range(probabilities.shape[1])
    return float(np.mean([roc_auc_score(codes == x, probabilities[:, x]) for x in asked]))


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
