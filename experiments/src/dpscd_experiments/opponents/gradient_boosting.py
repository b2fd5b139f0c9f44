"""scikit-learn's gradient boosting of trees, without privacy: what a table can give."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from dpscd.preprocessing.schema import Schema
from dpscd_experiments.cells import Cell
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.raw_columns import as_codes, is_number
from dpscd_experiments.opponents.setting import Setting, Stored
from dpscd_experiments.opponents.tabled import Answer, cpu_seconds, judge_table
from dpscd_experiments.tables import Table

__all__ = ["boosted_trees", "cells", "play"]


def cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the one cell, the same for all epsilons."""
    del spec, stored
    only = replace(setting, epsilon=math.inf, delta=0.0, seeds=1)
    return only.results("boosting", play, {})


def play(cell: Cell) -> Metrics:
    """Run a cell."""
    return judge_table(cell, _answer)


def boosted_trees(schema: Schema, seed: int) -> Any:
    """Return the model for a schema's columns, not fitted."""
    kind = (
        HistGradientBoostingClassifier
        if schema.target.classes
        else HistGradientBoostingRegressor
    )
    categories = [not is_number(column) for column in schema.features]
    return kind(categorical_features=categories, random_state=seed)


def _answer(table: Table, cell: Cell) -> Answer:
    schema = table.schema
    X, X_test = (as_codes(schema, one) for one in (table.train, table.test))
    y = table.train.target
    bounds: Any = schema.target.bounds
    model = boosted_trees(schema, cell.seed)
    start = cpu_seconds()
    model.fit(X, y if bounds is None else np.clip(y, *bounds))
    seconds = cpu_seconds() - start
    predicted = model.predict_proba(X_test)[:, 1] if bounds is None else model.predict(X_test)
    return Answer(predicted, seconds)
