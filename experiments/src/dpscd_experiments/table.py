"""Raw tables with their schema: what the bench of tables trains on."""

import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import train_test_split

from dpscd.data.adult import packaged
from dpscd.preprocessing.parsing import Parsed, parse
from dpscd.preprocessing.schema import Schema
from dpscd_experiments.dataset import SPLIT_SEED

__all__ = ["RawTable", "Table", "read_schema", "split_table", "taken"]

_TEST = 0.2


@dataclass(frozen=True)
class RawTable:
    """A table as published, and which of its rows are for training and for test."""

    name: str  # its name in result rows, and that of its schema
    cells: pd.DataFrame = field(repr=False)  # the columns, with the target
    train: npt.NDArray[Any] = field(repr=False)  # row numbers
    test: npt.NDArray[Any] = field(repr=False)
    split: str  # how they were chosen, in words
    files: dict[str, str]  # SHA-256 of each file that was read

    def read(self, shape: str | None = None) -> "Table":
        """Return the table as its schema reads it; a shape is for numbers that declare none."""
        schema = read_schema(self.name, shape)
        records = parse(schema, self.cells)
        return Table(schema, taken(records, self.train), taken(records, self.test))


@dataclass(frozen=True)
class Table:
    """Records for training and for test, as numbers and codes, and what they mean."""

    schema: Schema
    train: Parsed = field(repr=False)
    test: Parsed = field(repr=False)

    def tuning(self) -> "Table":
        """Return the training records alone: three quarters to train on, a quarter to judge."""
        fit, judged = train_test_split(
            np.arange(len(self.train)), test_size=0.25, random_state=SPLIT_SEED
        )
        return Table(self.schema, taken(self.train, fit), taken(self.train, judged))


def read_schema(name: str, shape: str | None = None) -> Schema:
    """Return the schema of a table."""
    if name == "adult":
        text = packaged("adult.toml").decode()
    else:
        text = (files("dpscd_experiments") / "schemas" / f"{name}.toml").read_text(
            encoding="utf-8"
        )
    values = tomllib.loads(text)
    for column in values["columns"].values():
        if column["kind"] == "number":
            column.pop("bins", None)
            if shape is not None:
                column.setdefault("shape", shape)
    return Schema.from_dict(values)


def split_table(name: str, cells: pd.DataFrame, files: dict[str, str]) -> RawTable:
    """Return a table of which a fifth of the rows, always the same, is for test."""
    train, test = train_test_split(
        np.arange(len(cells)), test_size=_TEST, random_state=SPLIT_SEED
    )
    words = (
        f"{len(train):,} rows to train on and {len(test):,} for test, by scikit-learn's "
        f"`train_test_split(test_size={_TEST:g}, random_state={SPLIT_SEED})`"
    )
    return RawTable(name, cells, train, test, words, files)


def taken(records: Parsed, rows: npt.NDArray[Any]) -> Parsed:
    """Return some of the records."""
    columns = {name: values[rows] for name, values in records.columns.items()}
    return Parsed(columns, records.target[rows], len(rows))
