"""Tables ready to train on, and the judge of what was trained on them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dpscd.estimators.registry import usual_kind
from dpscd.estimators.table import TableModel
from dpscd.estimators.table_answers import schema_chances
from dpscd.preprocessing.schema import Schema, shaped
from dpscd.problem import Model
from dpscd.records.encoding import Parsed, encode, is_sparse
from dpscd_experiments.cells import Cell
from dpscd_experiments.datasets import Dataset
from dpscd_experiments.metrics import (
    Metrics,
    decision_metrics,
    probability_metrics,
    regression_metrics,
)
from dpscd_experiments.opponents import peers
from dpscd_experiments.opponents.linear import TRAINERS
from dpscd_experiments.opponents.prepared import Prepared, prepared_from
from dpscd_experiments.opponents.setting import OURS, cpu_seconds, timed_fit
from dpscd_experiments.tables import Table, load_table

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """Predictions for the records that are judged, and what the fit took."""

    predicted: Floats  # the probability of the second class, or a number
    seconds: float  # of the processor, for training from the records as the schema reads them


def judge_table(cell: Cell, answer: Callable[[Table, Cell], Answer]) -> Metrics:
    """Train what a cell says on a table and score it."""
    table = _table(cell.dataset, str(cell.parameters["part"]))
    given = answer(table, cell)
    found = scores(table.schema, table.test, given.predicted)
    if cell.parameters["part"] == "validation":
        regression = not table.schema.target.classes
        own: Any = found["mse" if regression else "log_loss"]
        return {"validation": own if regression else -own}
    return {**found, "cpu_seconds": given.seconds}


def judge_features(cell: Cell, train: Callable[[Prepared, Cell], Model]) -> Metrics:
    """Train a linear model on the features that ours has, and score it as a table's."""

    def answer(table: Table, cell: Cell) -> Answer:
        part = str(cell.parameters["part"])
        ready = features_of(cell.dataset, part, cell.epsilon)
        start = cpu_seconds()
        model = train(ready, cell)
        seconds = cpu_seconds() - start
        decision = np.asarray(ready.data.X_test @ model.coef[0]) + model.intercept[0]
        return Answer(expit(decision) if table.schema.target.classes else decision, seconds)

    with np.errstate(over="ignore", invalid="ignore"):
        return judge_table(cell, answer)


def play(cell: Cell) -> Metrics:
    """Run a cell of ours, or of a linear opponent on the features that ours has."""
    if cell.method == OURS:
        return judge_table(cell, answer_of_ours)
    return judge_features(cell, (TRAINERS | {"diffprivlib": peers.train})[cell.method])


def answer_of_ours(table: Table, cell: Cell) -> Answer:
    """Fit our model of a table: its schema, epsilon and delta are all it is told."""
    classifies = bool(table.schema.target.classes)
    kind: Any = usual_kind(classifies=classifies).estimator
    estimator = kind(cell.epsilon, delta=cell.delta, random_state=cell.seed)
    model, seconds = timed_fit(TableModel(table.schema, estimator), table.train)
    if classifies:
        return Answer(schema_chances(model, table.test)[:, 1], seconds)
    return Answer(model.predict(table.test), seconds)


def scores(schema: Schema, records: Parsed, predicted: Floats) -> Metrics:
    """Return all metrics of predictions; numbers are cut to the target's declared bounds."""
    if not schema.target.classes:
        bounds: Any = schema.target.bounds
        return regression_metrics(np.clip(records.target, *bounds), np.clip(predicted, *bounds))
    positive = records.target == 1
    return {
        **probability_metrics(positive, predicted),
        **decision_metrics(positive, predicted - 0.5),
        "mean_chance": float(np.mean(predicted)),
    }


@lru_cache(maxsize=1)
def features_of(dataset: str, part: str, epsilon: float) -> Prepared:
    """Return the features that ours has at this epsilon, kept for the next cell."""
    table = _table(dataset, part)
    schema = shaped(table.schema, epsilon, len(table.train))
    as_sparse = is_sparse(schema)
    X, X_test = (encode(schema, one, as_sparse=as_sparse) for one in (table.train, table.test))
    target = schema.target
    y, y_test = (_labels(schema, one) for one in (table.train, table.test))
    bounds: Any = target.bounds
    data = Dataset(
        dataset,
        "classification" if target.classes else "regression",
        X, y, X_test, y_test, X_test, y_test,
        classes=(-1, 1) if target.classes else None,
        y_bounds=bounds,
        fit_intercept=True,
    )  # fmt: skip
    return prepared_from(data, "logistic" if target.classes else "squared")


def _labels(schema: Schema, records: Parsed) -> npt.NDArray[Any]:
    target: npt.NDArray[Any] = records.target
    return np.where(target == 1, 1, -1) if schema.target.classes else target


@lru_cache(maxsize=2)
def _table(dataset: str, part: str) -> Table:
    table = load_table(dataset).read()
    return table if part == "test" else table.tuning()
