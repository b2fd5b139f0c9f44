"""Synthetic records by MST (McKenna et al. 2021, the package dpmm), then an ordinary model."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.preprocessing.parsing import MISSING, OTHER, Parsed
from dpscd.preprocessing.schema import Schema
from dpscd_experiments.cells import Cell
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.gradient_boosting import boosted_trees
from dpscd_experiments.opponents.peers import fit_elsewhere, interpreter_of
from dpscd_experiments.opponents.prepared import number
from dpscd_experiments.opponents.raw_columns import as_numbers, bounds_of, is_number
from dpscd_experiments.opponents.setting import Setting, Stored
from dpscd_experiments.opponents.tabled import Answer, cpu_seconds, judge_table
from dpscd_experiments.tables import Table

__all__ = ["cells", "domain_of", "play", "to_codes"]

Codes = npt.NDArray[np.int64]


def cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells of the problems that are small enough for it, with few seeds."""
    del stored
    own = spec["mst"]
    if setting.problem not in own["problems"]:
        return []
    few = replace(setting, seeds=min(setting.seeds, own["seeds"]))
    return few.results("mst", play, {"bins": own["bins"]})


def play(cell: Cell) -> Metrics:
    """Run a cell."""
    return judge_table(cell, _answer)


def domain_of(schema: Schema, bins: int) -> list[int]:
    """Return how many codes each column has: intervals, or values with two for the rest."""
    return [bins if is_number(column) else len(column.values) + 2 for column in schema.features]


def to_codes(schema: Schema, records: Parsed, bins: int) -> Codes:
    """Return records as codes: intervals of equal width between declared bounds, or values."""
    columns = []
    for column in schema.features:
        cells = records.columns[column.name]
        if is_number(column):
            low, high = bounds_of(column)
            along = (as_numbers(column, cells) - low) / (high - low)
            columns.append(np.clip((along * bins).astype(np.int64), 0, bins - 1))
        else:
            last = len(column.values)
            columns.append(
                np.where(cells == MISSING, last, np.where(cells == OTHER, last + 1, cells))
            )
    return np.column_stack(columns).astype(np.int64)


def _answer(table: Table, cell: Cell) -> Answer:
    interpreter_of("dpmm")  # or a reason why not, before rows are copied
    schema, bins = table.schema, int(number(cell, "bins"))
    sizes = [*domain_of(schema, bins), len(schema.target.classes)]
    codes = to_codes(schema, table.train, bins)
    start = cpu_seconds()
    made = fit_elsewhere(
        "dpmm",
        {
            "codes": np.column_stack([codes, table.train.target]),
            "sizes": np.array(sizes),
            "epsilon": cell.epsilon,
            "delta": cell.delta,
            "seed": cell.seed,
        },
        threads=1,
    )
    records = made["codes"]
    model = boosted_trees(schema, cell.seed).fit(records[:, :-1], records[:, -1])
    seconds = cpu_seconds() - start
    return Answer(model.predict_proba(to_codes(schema, table.test, bins))[:, 1], seconds)
