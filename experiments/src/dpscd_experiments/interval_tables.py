"""Two real tables of which one would ask for coefficients: Adult and nycflights13."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.data import CATEGORIES
from dpscd_experiments.interval_designs import Family
from dpscd_experiments.tables import BOUNDS, CARRIERS, adult_table, flights_table

Floats = npt.NDArray[np.float64]


class Number(NamedTuple):
    """A column of numbers with declared bounds, shown by `unit` of its own units."""

    name: str
    low: float
    high: float
    unit: float
    words: str

    @property
    def half(self) -> float:
        """Half of the range, which becomes 1."""
        return (self.high - self.low) / 2.0


class Category(NamedTuple):
    """A column of which every listed level but the reference has a column."""

    name: str
    levels: tuple[str, ...]
    reference: str

    @property
    def others(self) -> tuple[str, ...]:
        """The levels that have a column."""
        return tuple(level for level in self.levels if level != self.reference)


@dataclass(frozen=True)
class Question:
    """What is asked of a table: public facts alone."""

    name: str  # of the table
    family: Family  # by which model
    words: str  # what is asked
    outcome: str  # what a coefficient says, with its unit
    columns: tuple[Number | Category, ...]  # by what
    read: Callable[[], tuple[Any, Floats]]  # returns cells and labels
    y_bounds: tuple[float, float] | None = None  # declared range of a regression's labels

    @property
    def robust(self) -> bool:
        """Whether errors are to hold without the model: for delays, which are not normal."""
        return self.family == "ridge"

    @property
    def terms(self) -> tuple[str, ...]:
        """What the columns of a row mean, in the units that are shown."""
        found: list[str] = []
        for column in self.columns:
            if isinstance(column, Number):
                found.append(column.words)
            else:
                found += [f"{level}, not {column.reference}" for level in column.others]
        return tuple(found)

    @property
    def units(self) -> Floats:
        """By what the coefficient of each column is multiplied to be shown."""
        found: list[float] = []
        for column in self.columns:
            if isinstance(column, Number):
                found.append(column.unit / column.half)
            else:
                found += [1.0] * len(column.others)
        return np.array(found)

    @property
    def row_bound(self) -> float:
        """No row is longer: each column of the table adds at most 1 to its square."""
        return float(np.sqrt(len(self.columns)))

    def rows(self, cells: Any) -> Floats:
        """Return rows: numbers moved to -1 to 1 by their bounds, and indicators of levels."""
        parts = []
        for column in self.columns:
            if isinstance(column, Number):
                values = cells[column.name].to_numpy(np.float64)
                inside = np.clip(values, column.low, column.high)
                parts.append((inside[:, None] - column.low) / column.half - 1.0)
            else:
                texts = cells[column.name].to_numpy(str)
                parts.append(texts[:, None] == np.array(column.others))
        return np.hstack(parts).astype(np.float64)


def _adult() -> tuple[Any, Floats]:
    cells = adult_table().cells
    return cells, (cells["income"] == ">50K").to_numpy(np.float64)


def _flights() -> tuple[Any, Floats]:
    cells = flights_table().cells
    return cells, np.clip(cells["arr_delay"].to_numpy(np.float64), *BOUNDS)


#: What is asked, by table.
QUESTIONS = {
    "adult": Question(
        "adult",
        "logistic",
        "who earned more than 50,000 dollars a year, census of 1994",
        "log odds of an income above 50,000 dollars",
        (
            Number("age", 17.0, 90.0, 10.0, "10 years of age"),
            Number("education-num", 1.0, 16.0, 1.0, "a level of education"),
            Number("hours-per-week", 1.0, 99.0, 10.0, "10 hours a week"),
            Category("sex", tuple(CATEGORIES["sex"]), "Female"),
            Category("marital-status", tuple(CATEGORIES["marital-status"]), "Never-married"),
        ),
        _adult,
    ),
    "nycflights13": Question(
        "nycflights13",
        "ridge",
        "how late flights out of New York arrived in 2013",
        "minutes of delay on arrival",
        (
            Number("distance", 0.0, 5000.0, 1000.0, "1,000 miles"),
            Number("hour", 0.0, 24.0, 1.0, "an hour later in the day"),
            Category("carrier", CARRIERS, "UA"),
        ),
        _flights,
        BOUNDS,
    ),
}


@lru_cache(maxsize=1)
def load_question(name: str) -> tuple[Floats, Floats]:
    """Return the rows and labels of a table."""
    asked = QUESTIONS[name]
    cells, y = asked.read()
    return asked.rows(cells), y
