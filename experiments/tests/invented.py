"""Invented tables with the columns of the real ones, for tests that need no files."""

import numpy as np
import pandas as pd

from dpscd_experiments.table import RawTable, read_schema


def invented(name, n=600, seed=0):
    """Return a table of the schema `name` in which the first number says what to predict."""
    rng = np.random.default_rng(seed)
    schema = read_schema(name)
    columns = {}
    for column in schema.features:
        if column.kind == "number":
            columns[column.name] = rng.uniform(*column.bounds, n)
        else:
            columns[column.name] = rng.choice(column.values, n)
    first = next(column for column in schema.features if column.kind == "number")
    along = (columns[first.name] - first.bounds[0]) / (first.bounds[1] - first.bounds[0])
    if schema.target.classes:
        no, yes = schema.target.classes
        columns[schema.target.name] = np.where(rng.uniform(size=n) < along, yes, no)
    else:
        low, high = schema.target.bounds
        columns[schema.target.name] = low + (high - low) * (0.8 * along + 0.1)
    train, test = np.split(np.arange(n), [2 * n // 3])
    return RawTable(name, pd.DataFrame(columns), train, test, "invented rows", {})
