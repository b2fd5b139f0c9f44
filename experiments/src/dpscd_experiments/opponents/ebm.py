"""Explainable boosting machines of interpret-core (the extra ``dpscd-experiments[peers]``)."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from dpscd_experiments.cells import Cell, Skip
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.prepared import number
from dpscd_experiments.opponents.raw_columns import as_texts, bounds_of, is_number
from dpscd_experiments.opponents.setting import Setting, Stored
from dpscd_experiments.opponents.tabled import Answer, cpu_seconds, judge_table
from dpscd_experiments.tables import Table

__all__ = ["ABSENT", "cells", "plain_cells", "play"]

#: Why they take no part.
ABSENT = "interpret-core is not installed: pip install 'dpscd-experiments[peers]'"


def cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells of the private one; it is not tuned."""
    del spec, stored
    return setting.results("dp-ebm", play, {})


def plain_cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cell of the one that is not private, the same for all epsilons."""
    del stored
    only = replace(setting, epsilon=math.inf, delta=0.0, seeds=1)
    return only.results("ebm", play, spec["ebm"])


def play(cell: Cell) -> Metrics:
    """Run a cell."""
    return judge_table(cell, _answer)


def _answer(table: Table, cell: Cell) -> Answer:
    kind = "Classifier" if table.schema.target.classes else "Regressor"
    private = cell.method == "dp-ebm"
    home, prefix = ("privacy", "DP") if private else ("glassbox", "")
    try:
        module = import_module(f"interpret.{home}")
    except ImportError:
        raise Skip(ABSENT) from None
    features = table.schema.features
    parameters: dict[str, Any] = {
        "feature_names": [column.name for column in features],
        "feature_types": [
            "continuous" if is_number(column) else "nominal" for column in features
        ],
        "random_state": cell.seed,
        "n_jobs": 1,
    }
    y = table.train.target
    if private:
        parameters |= {
            "epsilon": cell.epsilon,
            "delta": cell.delta,
            "privacy_bounds": {
                column.name: bounds_of(column) for column in features if is_number(column)
            },
        }
        if kind == "Regressor":
            bounds: Any = table.schema.target.bounds
            low, high = bounds
            parameters |= {"privacy_target_min": low, "privacy_target_max": high}
            y = np.clip(y, low, high)
    else:
        parameters["outer_bags"] = int(number(cell, "outer_bags"))
    model = getattr(module, f"{prefix}ExplainableBoosting{kind}")(**parameters)
    X, X_test = (as_texts(table.schema, one) for one in (table.train, table.test))
    start = cpu_seconds()
    with warnings.catch_warnings():
        # It warns that a seed is for tests.
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = cpu_seconds() - start
    if kind == "Regressor":
        return Answer(model.predict(X_test), seconds)
    return Answer(model.predict_proba(X_test)[:, 1], seconds)
