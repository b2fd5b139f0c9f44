"""Bank Marketing: whether 41,188 customers whom a bank called took a deposit."""

import os

import numpy as np
import pandas as pd

from dpscd.preprocessing.encoding import encode
from dpscd_experiments.dataset import Dataset
from dpscd_experiments.sources import find_file, sha256_of
from dpscd_experiments.table import RawTable, split_table

__all__ = ["bank_table", "load_bank"]


def bank_table(folder: str | os.PathLike[str] | None = None) -> RawTable:
    """Read Bank Marketing (UCI, CC BY 4.0; Moro, Cortez and Rita 2014)."""
    name = "bank-additional-full.csv"
    path = find_file("bank", (f"{name}.gz", name), folder=folder)
    # Texts, as in the file: the schema says what a cell means.
    cells = pd.read_csv(path, sep=";", dtype=str, keep_default_na=False)
    return split_table("bank", cells, {path.name: sha256_of(path)})


def load_bank(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load Bank Marketing as features of its schema."""
    raw = bank_table(folder)
    table = raw.read("line")
    tuning = table.tuning()
    records = (tuning.train, tuning.test, table.test)
    X, X_validation, X_test = (
        encode(table.schema, one, as_sparse=False).astype(np.float64) for one in records
    )
    y, y_validation, y_test = (np.where(one.target == 1, 1, -1) for one in records)
    return Dataset(
        "bank",
        "classification",
        X, y, X_validation, y_validation, X_test, y_test,
        classes=(-1, 1),
        fit_intercept=True,
        notes=("bounds and values are declared: nothing was read from the data",),
        files=raw.files,
    )  # fmt: skip
