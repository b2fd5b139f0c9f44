"""Our model of a table as it comes: its schema, epsilon and delta are all it is told."""

import warnings
from collections.abc import Mapping
from typing import Any

from dpscd.errors import PrivacyWarning
from dpscd.estimators.registry import usual_kind
from dpscd.estimators.table import TableModel
from dpscd.estimators.table_answers import schema_chances
from dpscd_experiments.cells import Cell
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.setting import Setting, Stored
from dpscd_experiments.opponents.tabled import Answer, cpu_seconds, judge_table
from dpscd_experiments.tables import Table

__all__ = ["cells", "play"]


def cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells of the results; there is nothing to tune."""
    del spec, stored
    return setting.results("ours", play, {})


def play(cell: Cell) -> Metrics:
    """Run a cell."""
    return judge_table(cell, _answer)


def _answer(table: Table, cell: Cell) -> Answer:
    classifies = bool(table.schema.target.classes)
    kind: Any = usual_kind(classifies=classifies).estimator
    estimator = kind(cell.epsilon, delta=cell.delta, random_state=cell.seed)
    start = cpu_seconds()
    with warnings.catch_warnings():
        # Seeds are known, which is warned of.
        warnings.simplefilter("ignore", PrivacyWarning)
        model = TableModel(table.schema, estimator).fit(table.train)
    seconds = cpu_seconds() - start
    if classifies:
        return Answer(schema_chances(model, table.test)[:, 1], seconds)
    return Answer(model.predict(table.test), seconds)
