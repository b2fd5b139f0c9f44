"""Invented tables with the columns of the real ones, and data sets, for tests without files."""

import numpy as np
import pandas as pd
from scipy import sparse

from dpscd_experiments.datasets import Dataset
from dpscd_experiments.tables import RawTable, read_schema


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
    return RawTable(name, pd.DataFrame(columns), train, test, "invented rows")


def generate(n, d, *, task="classification", layout="dense", seed=0):
    """Return a data set of rows within the unit ball whose labels come from a linear model."""
    rng = np.random.default_rng(seed)
    extra = round(n / 4)
    total = n + 2 * extra
    X = rng.standard_normal((total, d)) * np.arange(1, d + 1) ** -0.5
    X /= (np.sqrt(np.einsum("ij,ij->i", X, X)) * (1.0 + 2.0**-20))[:, None]
    score = X @ rng.standard_normal(d)
    score *= (3.0 if task == "classification" else np.sqrt(0.7)) / score.std()
    if task == "classification":
        y = np.where(rng.random(total) < 1.0 / (1.0 + np.exp(-score)), 1, -1)
        public = {"classes": (-1, 1)}
    else:
        y = np.clip(score + np.sqrt(1.0 - 0.7) * rng.standard_normal(total), -4.0, 4.0)
        public = {"y_bounds": (-4.0, 4.0)}
    X = sparse.csr_matrix(X) if layout == "csr" else X
    parts = slice(n), slice(n, n + extra), slice(n + extra, total)
    arrays = [one[part] for part in parts for one in (X, y)]
    return Dataset(f"generated-{task}", task, *arrays, fit_intercept=False, **public)
