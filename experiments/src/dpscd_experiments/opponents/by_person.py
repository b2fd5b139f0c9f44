"""Privacy of a person: ours, of a row only, and group privacy with a cap of rows."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.errors import PrivacyWarning
from dpscd.estimators.classification import DPLogisticRegression
from dpscd.estimators.regression import DPRidge
from dpscd.metrics import decision_metrics
from dpscd_experiments.cells import Cell
from dpscd_experiments.datasets import Task
from dpscd_experiments.group_privacy import group_epsilon, row_epsilon
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.setting import Setting, Stored
from dpscd_experiments.opponents.tabled import cpu_seconds
from dpscd_experiments.persons import FLIGHTS, PersonData, capped_rows, load_persons, most_rows

__all__ = [
    "cells_of_cap",
    "cells_of_rows",
    "cells_of_weight",
    "play_cap",
    "play_row",
    "play_weight",
]

_TASKS: dict[str, Task] = {"squared": "regression", "logistic": "classification"}


def cells_of_weight(
    weight: str, setting: Setting, spec: Mapping[str, Any], stored: Stored
) -> list[Cell]:
    """Return the cells of ours, with rows of a person weighing as `weight` says."""
    del spec, stored
    return setting.results(weight, play_weight, {"person_weight": weight})


def cells_of_rows(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells of ours with privacy of a row: of the real table."""
    del spec, stored
    return setting.results("row", play_row, {}) if setting.dataset == FLIGHTS else []


def cells_of_cap(
    rows: int, own: bool, setting: Setting, spec: Mapping[str, Any], stored: Stored
) -> list[Cell]:
    """Return the cells of group privacy; none where nobody has so many rows."""
    del spec, stored
    if rows > most_rows(setting.dataset) or (own and setting.loss != "logistic"):
        return []
    method = f"cap-{rows}-own" if own else f"cap-{rows}"
    return setting.results(method, play_cap, {"rows": rows, "own": own})


def play_weight(cell: Cell) -> Metrics:
    """Run a cell of ours."""
    data = _data(cell)
    estimator = _estimator(data, cell, cell.epsilon)
    estimator.set_params(person_weight=cell.parameters["person_weight"])
    return _judge(data, estimator, data.X, data.y, groups=data.persons)[0]


def play_row(cell: Cell) -> Metrics:
    """Run a cell of ours without persons: the same epsilon, but of a row."""
    data = _data(cell)
    return _judge(data, _estimator(data, cell, cell.epsilon), data.X, data.y)[0]


def play_cap(cell: Cell) -> Metrics:
    """Run a cell of group privacy: some rows of each person, and noise for all of them."""
    data = _data(cell)
    most: Any = cell.parameters["rows"]
    kept = capped_rows(data.persons, most, cell.seed)
    X, y = data.X[kept], data.y[kept]
    own = bool(cell.parameters["own"])
    asked = row_epsilon(
        *X.shape, most, cell.epsilon, cell.delta, classifies=data.classifies, persons=own
    )
    persons = {"groups": np.arange(len(y))} if own else {}
    metrics, model = _judge(data, _estimator(data, cell, asked), X, y, **persons)
    events = [release.event for release in model.privacy_.releases]
    reached = group_epsilon(events, most, cell.epsilon, cell.delta)
    return {**metrics, "row_epsilon": asked, "group_epsilon": reached}


def _data(cell: Cell) -> PersonData:
    task = _TASKS[str(cell.parameters["loss"])]
    return load_persons(cell.dataset, task, cell.seed)


def _estimator(data: PersonData, cell: Cell, epsilon: float) -> Any:
    kind: Any = DPLogisticRegression if data.classifies else DPRidge
    return kind(epsilon, delta=cell.delta, random_state=cell.seed, **data.fit_parameters)


def _judge(
    data: PersonData, estimator: Any, X: Any, y: Any, **persons: Any
) -> tuple[dict[str, float], Any]:
    """Fit, and return metrics on test rows and the model."""
    start = cpu_seconds()
    with warnings.catch_warnings():
        # Seeds are known, which is warned of.
        warnings.simplefilter("ignore", PrivacyWarning)
        model = estimator.fit(X, y, **persons)
    seconds = cpu_seconds() - start
    found: dict[str, float] = {}
    if data.classifies:
        chance = model.predict_proba(data.X_test)[:, 1]
        of_truth = np.where(data.y_test > 0, chance, 1.0 - chance)
        losses = -np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0))
        found["auc"] = decision_metrics(data.y_test > 0, chance - 0.5)["auc"]
        name = "log_loss"
    else:
        bounds: Any = data.y_bounds
        losses = (np.clip(model.predict(data.X_test), *bounds) - data.y_test) ** 2
        name = "mse"
    found[name] = float(losses.mean())
    found[f"person_{name}"] = _person_mean(losses, data.persons_test)
    return {**found, "records": float(len(y)), "cpu_seconds": seconds}, model


def _person_mean(losses: npt.NDArray[np.float64], persons: npt.NDArray[np.int64]) -> float:
    """Return the mean over persons of the means over their rows."""
    counts = np.bincount(persons)
    there = counts > 0
    return float((np.bincount(persons, losses)[there] / counts[there]).mean())
