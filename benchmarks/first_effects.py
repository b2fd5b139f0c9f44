"""Which of the effects that `dpscd inspect` shows first are of values that no record has.

Run as ``DPSCD_DATA=folder python benchmarks/first_effects.py [EPSILON [FITS]]``: default
logistic regressions of the bank table (epsilon 1, 12 fits, seeds from 0 up); of each the 15
effects that are listed first. A knot has a record if one lies between its neighbours. This
counts records, so it is for tables that are public.
"""

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd

from dpscd import DPLogisticRegression, TableModel
from dpscd.estimators.shape_points import points_of
from dpscd.preprocessing.encoding import encode, width_of
from dpscd.preprocessing.parsing import parse
from dpscd_experiments.bank import bank_table
from dpscd_experiments.table import read_schema

FIRST = 15


def occurring(model: TableModel, cells: pd.DataFrame) -> dict[str, set[Any]]:
    """Return the values of each column that some record has, or is next to."""
    schema = model.schema_
    rows = encode(schema, parse(schema, cells), model.bounds_, as_sparse=True)
    total = np.abs(np.asarray(rows.sum(axis=0)).ravel())
    found: dict[str, set[Any]] = {}
    first = 0
    for column in schema.features:
        width = width_of(column)
        points = points_of(column, model.bounds_, 1.0, np.zeros(width, dtype=bool))
        # As if released without error; the share that is even is then below every mean.
        _, there = points.shares(total[first : first + width], 0.0)
        first += width
        found[column.name] = {v for v, x in zip(points.values, there, strict=True) if x}
    return found


def main() -> None:
    """Fit and print."""
    warnings.simplefilter("ignore")
    epsilon = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    fits = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    raw = bank_table()
    train = raw.cells.iloc[raw.train]
    without = shown = 0
    for seed in range(fits):
        estimator = DPLogisticRegression(epsilon, delta=1e-5, random_state=seed)
        model = TableModel(read_schema("bank"), estimator).fit(train)
        there = occurring(model, train)
        effects = model.shapes().query("seen")
        effects["over"] = effects["effect"].abs() / effects["band"]
        effects = effects.sort_values(["clear", "over"], ascending=False)
        for place in effects.index[:FIRST]:
            row = effects.loc[place]
            shown += 1
            without += row["value"] not in there[row["column"]]
    print(f"epsilon {epsilon:g}: {without} of {shown} without records")  # noqa: T201


if __name__ == "__main__":
    main()
