"""scikit-learn's gradient boosting of trees, without privacy: what a table can give."""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from dpscd_bench.cells import Cell
from dpscd_bench.metrics import Metrics
from dpscd_bench.opponents.raw_columns import as_codes, is_number
from dpscd_bench.opponents.setting import Setting, Stored
from dpscd_bench.opponents.tabled import Answer, judge_table
from dpscd_bench.table import Table

__all__ = ["cells", "play"]


def cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the one cell, the same for all epsilons."""
    del spec, stored
    only = replace(setting, epsilon=math.inf, delta=0.0, seeds=1)
    return only.results("boosting", play, {})


def play(cell: Cell) -> Metrics:
    """Run a cell."""
    return judge_table(cell, _answer)


def _answer(table: Table, cell: Cell) -> Answer:
    schema = table.schema
    X, X_test = (as_codes(schema, one) for one in (table.train, table.test))
    own = {
        "categorical_features": [not is_number(column) for column in schema.features],
        "random_state": cell.seed,
    }
    start = time.perf_counter()
    if schema.target.classes:
        model = HistGradientBoostingClassifier(**own).fit(X, table.train.target == 1)
        seconds = time.perf_counter() - start
        return Answer(model.predict_proba(X_test)[:, 1], seconds)
    bounds: Any = schema.target.bounds
    regressor = HistGradientBoostingRegressor(**own)
    regressor.fit(X, np.clip(table.train.target, *bounds))
    return Answer(regressor.predict(X_test), time.perf_counter() - start)
