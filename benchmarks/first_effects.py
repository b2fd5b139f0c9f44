"""Which of the effects that `dpscd inspect` shows first are of values that no record has.

Run as ``DPSCD_DATA=folder python benchmarks/first_effects.py [EPSILON [FITS]]``: default
logistic regressions of the bank table (epsilon 1, 12 fits, seeds from 0 up); of each the 15
effects that are the clearest. A knot has a record if one lies between its neighbours. This
counts records, so it is for tables that are public.
"""

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd

from dpscd import DPLogisticRegression, TableModel
from dpscd.estimators.shapes import _points
from dpscd.preprocessing.encoding import encode, width_of
from dpscd.preprocessing.parsing import parse
from dpscd_bench.bank import bank_table
from dpscd_bench.table import read_schema

FIRST = 15


def occurring(model: TableModel, cells: pd.DataFrame) -> dict[str, set[Any]]:
    """Return the values of each column that some record has, or is next to."""
    schema = model.schema_
    rows = encode(schema, parse(schema, cells), model.bounds_, as_sparse=True)
    total = np.abs(np.asarray(rows.sum(axis=0)).ravel())
    found: dict[str, set[Any]] = {}
    first = 0
    for column in schema.features:
        own = total[first : first + width_of(column)]
        first += width_of(column)
        values, features = _points(column, model.bounds_)
        start = int(column.bent)  # the value itself comes before its knots
        there = np.abs(features[:, start:]) @ own[start:] > 0.0
        found[column.name] = {value for value, x in zip(values, there, strict=True) if x}
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
        model = TableModel(read_schema("bank", None), estimator).fit(train)
        there = occurring(model, train)
        effects = model.shapes().query("seen")
        clear = (effects["effect"].abs() / effects["band"]).sort_values(ascending=False)
        for place in clear.index[:FIRST]:
            row = effects.loc[place]
            shown += 1
            without += row["value"] not in there[row["column"]]
    print(f"epsilon {epsilon:g}: {without} of {shown} without records")  # noqa: T201


if __name__ == "__main__":
    main()
