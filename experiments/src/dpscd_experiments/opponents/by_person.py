"""Privacy of a person: ours, of a row only, and group privacy with a cap of rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd_experiments.cells import Cell
from dpscd_experiments.datasets import Task
from dpscd_experiments.group_privacy import group_epsilon, row_epsilon
from dpscd_experiments.metrics import Metrics, decision_metrics
from dpscd_experiments.opponents.setting import Setting, Stored, timed_fit
from dpscd_experiments.persons import PersonData, capped_rows, load_persons, most_rows
from dpscd_experiments.sweeps import ESTIMATORS

_TASKS: dict[str, Task] = {"squared": "regression", "logistic": "classification"}


def cells_of_cap(
    rows: int, own: bool, setting: Setting, _spec: Mapping[str, Any], _stored: Stored
) -> list[Cell]:
    """Return the cells of group privacy; none where nobody has so many rows."""
    # `own`: every row is a person of its own, so that probabilities are made as ours are. Of
    # ridge regression that would be the same again.
    if rows > most_rows(setting.dataset) or (own and setting.loss != "logistic"):
        return []
    method = f"cap-{rows}-own" if own else f"cap-{rows}"
    return setting.results(method, play_cap, {"rows": rows, "own": own})


def play(cell: Cell) -> Metrics:
    """Run a cell of ours, with persons or without: the same epsilon, but of a row."""
    data = _data(cell)
    estimator = _estimator(data, cell, cell.epsilon)
    weight = cell.parameters.get("person_weight")
    if weight is None:
        return _judge(data, estimator, data.X, data.y)[0]
    estimator.set_params(person_weight=weight)
    return _judge(data, estimator, data.X, data.y, groups=data.persons)[0]


def play_cap(cell: Cell) -> Metrics:
    """Run a cell of group privacy: some rows of each person, and noise for all of them."""
    # The epsilon of a row is the largest at which that of the rows of a person is not exceeded:
    # it is computed before the fit from its plan and after it from its card.
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
    kind = ESTIMATORS[str(cell.parameters["loss"])]
    return kind(epsilon, delta=cell.delta, random_state=cell.seed, **data.fit_parameters)


def _judge(
    data: PersonData, estimator: Any, X: Any, y: Any, **persons: Any
) -> tuple[dict[str, float], Any]:
    """Fit, and return metrics on test rows and the model."""
    model, seconds = timed_fit(estimator, X, y, **persons)
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
