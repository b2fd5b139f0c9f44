"""Classifiers of pictures: ours as it comes, and DP-SGD with softmax, tuned free of charge."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from dpscd.estimators.classification import DPLogisticRegression
from dpscd.problem import Model
from dpscd_experiments.cells import Cell
from dpscd_experiments.features import Features, Split, load_features
from dpscd_experiments.metrics import Curve, Metrics
from dpscd_experiments.opponents.setting import (
    Config,
    Setting,
    Stored,
    cpu_seconds,
    number,
    timed_fit,
)
from dpscd_experiments.solvers.lots import unit_training
from dpscd_experiments.solvers.softmax_sgd import softmax_sgd
from dpscd_experiments.store import Row

#: The method of the cells that try settings of DP-SGD on validation rows.
TUNING = "dp-sgd"

#: How the metric of a setting in tuning begins; its share of averaging follows.
SCORE = "validation-"

# The column of the intercept, beside rows no longer than 1.
_CONSTANT = 0.25


def cells_of_ours(setting: Setting, spec: Mapping[str, Any], _stored: Stored) -> list[Cell]:
    """Return the cells of ours; there is nothing to tune."""
    return setting.results("ours", play_ours, _records(spec))


def cells_of_sgd(
    rank: int, setting: Setting, spec: Mapping[str, Any], stored: Stored
) -> list[Cell]:
    """Return the cells of the setting of DP-SGD that is number `rank` on validation rows."""
    grid = spec["dp_sgd"]
    common = {**_records(spec), "momentum": grid["momentum"], "clip": grid["clip"]}
    tried = {
        "steps": " ".join(f"{step:g}" for step in grid["steps"][setting.dataset]),
        "averages": " ".join(f"{share:g}" for share in grid["averaging"]),
    }
    configs = [
        {**common, "epochs": epochs, "lot_size": lots, **tried}
        for epochs, lots in grid["epochs_and_lots"]
    ]
    seed = setting.tuning_seeds[0]
    tuning = [setting.cell(TUNING, play_tuning, "validation", seed, one) for one in configs]
    if any(cell.key not in stored for cell in tuning):
        return tuning
    best = ranked(row for cell in tuning for row in stored[cell.key])
    if len(best) < rank:
        return tuning
    config = {**common, **best[rank - 1]}
    return [*tuning, *setting.results(f"{TUNING}-{rank}", play_sgd, config)]


def ranked(rows: Iterable[Row]) -> list[Config]:
    """Return the settings in rows of tuning, best first; broken ones are left out."""
    scores = [row for row in rows if str(row["metric"]).startswith(SCORE)]
    scores.sort(key=lambda row: -row["value"])
    return [
        {
            **{name: row[f"param.{name}"] for name in ("epochs", "lot_size")},
            "averaging": float(row["metric"].removeprefix(SCORE)),
            "step": float(row["at"]),
        }
        for row in scores
        if math.isfinite(row["value"])
    ]


def play_ours(cell: Cell) -> Metrics:
    """Run a cell of ours: told epsilon, delta, the classes and the longest row."""
    data = _data(cell)
    rows = data.whole
    estimator = DPLogisticRegression(
        cell.epsilon,
        delta=cell.delta,
        classes=data.classes,
        row_bound=data.row_bound,
        random_state=cell.seed,
    )
    model, seconds = timed_fit(estimator, rows.X, rows.y)
    return {**_scores(rows, model.predict_log_proba(rows.X_judged)), "cpu_seconds": seconds}


def play_tuning(cell: Cell) -> Metrics:
    """Run a cell of tuning: one pass for all steps and averages, judged on validation rows."""
    data = _data(cell)
    rows = data.tuning
    steps, averages = (
        [float(word) for word in str(cell.parameters[name]).split()]
        for name in ("steps", "averages")
    )
    models, seconds = _trained(data, rows, cell, steps, averages)
    scores = [_scores(rows, _log_chances(rows, model))["accuracy"] for model in models]
    found: dict[str, float | Curve] = {"tried": len(scores), "cpu_seconds": seconds}
    for at, share in enumerate(averages):
        own = scores[at * len(steps) : (at + 1) * len(steps)]
        found[f"{SCORE}{share:g}"] = list(zip(steps, own, strict=True))
    return found


def play_sgd(cell: Cell) -> Metrics:
    """Run a cell of DP-SGD with one setting, on all training rows."""
    data = _data(cell)
    rows = data.whole
    step, share = number(cell, "step"), number(cell, "averaging")
    (model,), seconds = _trained(data, rows, cell, [step], [share])
    return {**_scores(rows, _log_chances(rows, model)), "cpu_seconds": seconds}


def _trained(
    data: Features, rows: Split, cell: Cell, steps: Sequence[float], averaging: Sequence[float]
) -> tuple[list[Model], float]:
    """Return all models of one pass, and the processor's seconds of all of them."""
    start = cpu_seconds()
    clip = number(cell, "clip")
    plan = unit_training(
        *rows.X.shape, min(int(number(cell, "lot_size")), len(rows.X)),
        int(number(cell, "epochs")), cell.epsilon, cell.delta,
        len(data.classes), constant=_CONSTANT,
    )  # fmt: skip
    with np.errstate(over="ignore", invalid="ignore"):
        models = softmax_sgd(
            replace(plan, clip=clip),
            rows.X,
            rows.y,
            np.random.default_rng(cell.seed),
            rates=[step / clip for step in steps],
            averaging=averaging,
            momentum=number(cell, "momentum"),
            scale=data.row_bound,
            constant=_CONSTANT,
        )
    return models, cpu_seconds() - start


def _log_chances(rows: Split, model: Model) -> npt.NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore"):
        margins = rows.X_judged @ model.coef.T.astype(np.float32) + model.intercept
        return np.asarray(log_softmax(margins.astype(np.float64), axis=1))


def _scores(rows: Split, logs: npt.NDArray[np.float64]) -> dict[str, float]:
    """Return accuracy and log loss; NaN for a broken model."""
    if np.isnan(logs).any():
        return {"accuracy": math.nan, "log_loss": math.nan}
    own = logs[np.arange(len(rows.y_judged)), rows.y_judged]
    least = math.log(np.finfo(np.float64).eps)
    return {
        "accuracy": float((logs.argmax(axis=1) == rows.y_judged).mean()),
        "log_loss": float(-np.maximum(own, least).mean()),
    }


def _records(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return of how many pictures a run is, if not of all."""
    return {"records": spec["records"]} if "records" in spec else {}


def _data(cell: Cell) -> Features:
    records: Any = cell.parameters.get("records")
    return load_features(cell.dataset, records)
