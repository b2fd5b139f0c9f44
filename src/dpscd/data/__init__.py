"""The packaged Adult data set, for first steps: income and hours of 48,842 people in 1994."""

import csv
import lzma
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: The names of the training file and the test file, as UCI distributes them.
FILES = ("adult.data", "adult.test")


def packaged(name: str) -> bytes:
    """Return a packaged file, unpacked: 'adult.data', 'adult.test' or 'adult.toml'."""
    folder = files("dpscd.data")
    if name in FILES:
        return lzma.decompress(folder.joinpath(f"{name}.xz").read_bytes())
    return folder.joinpath(name).read_bytes()


_DECLARED = tomllib.loads(packaged("adult.toml").decode())
_NAMES = _DECLARED["table"]["names"]

#: Public knowledge: the values that the census questionnaire allows (adult.names). A value that
#: is not listed, '?' included, belongs to none.
CATEGORIES: dict[str, list[str]] = {
    name: own["values"]
    for name, own in _DECLARED["columns"].items()
    if own["kind"] == "category"
}


@dataclass(frozen=True)
class Adult:
    """The raw table: one array per column; the first `training` rows are the training file."""

    columns: dict[str, npt.NDArray[Any]]
    training: int


@dataclass(frozen=True)
class Split:
    """A training and a test part, ready for an estimator."""

    X: Floats
    y: npt.NDArray[Any]
    X_test: Floats
    y_test: npt.NDArray[Any]


def packaged_adult() -> Adult:
    """Return the packaged table."""
    return parse_adult(packaged(name).decode() for name in FILES)


def parse_adult(texts: Iterable[str]) -> Adult:
    """Return the table in the contents of ``adult.data`` and ``adult.test``, in this order."""
    rows: list[list[str]] = []
    training = 0
    for text in texts:
        training = len(rows)
        table = csv.reader(text.splitlines(), skipinitialspace=True)
        rows.extend(row for row in table if len(row) == len(_NAMES))
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, values in zip(_NAMES, zip(*rows, strict=True), strict=True):
        column = np.array(values)
        numeric = name not in CATEGORIES and name not in ("education", "income")
        columns[name] = column.astype(np.float64) if numeric else column
    columns["income"] = np.char.rstrip(columns["income"], ".")
    return Adult(columns, training)


def adult_declared(target: str = "income") -> Split:
    """Return Adult prepared from public facts alone, for classification or regression.

    The target is 'income' (bool: above 50K) or 'hours-per-week' (float). Categories are those
    of the questionnaire, age and hours fall into eight bins each, and gains and losses are
    logarithms over their declared maximum. A record has at most one 1 per column of the
    questionnaire and is divided by the root of their number, so that no row is longer than 1.
    """
    adult = packaged_adult()
    column = adult.columns
    parts = [column[name][:, None] == np.array(levels) for name, levels in CATEGORIES.items()]
    parts.append((column["education-num"] / 16.0)[:, None])
    for name, largest in (("capital-gain", 99999.0), ("capital-loss", 4356.0)):
        parts.append((np.log1p(column[name]) / np.log1p(largest))[:, None])
    parts.append(_bins(column["age"], np.linspace(17, 90, 9)))
    rich = column["income"] == ">50K"
    if target == "income":
        parts.append(_bins(column["hours-per-week"], np.linspace(0, 100, 9)))
        y = rich
    else:
        parts.append(rich[:, None])
        y = column["hours-per-week"]
    X = np.hstack(parts).astype(np.float64) / np.sqrt(len(parts))
    n = adult.training
    return Split(X[:n], y[:n], X[n:], y[n:])


def _bins(values: Floats, edges: Floats) -> npt.NDArray[np.bool_]:
    """Return which of the equal bins each value falls into; the ends are open."""
    bins: npt.NDArray[np.bool_] = np.digitize(values, edges[1:-1])[:, None] == np.arange(
        len(edges) - 1
    )
    return bins
