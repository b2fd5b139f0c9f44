"""The packaged Adult data set: income and hours of 48,842 people, census of 1994."""

import csv
import lzma
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "CATEGORIES",
    "FILES",
    "Adult",
    "Split",
    "adult_declared",
    "packaged",
    "packaged_adult",
    "parse_adult",
]

Floats = npt.NDArray[np.float64]

#: The names of the training file and the test file, as UCI distributes them.
FILES = ("adult.data", "adult.test")

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status",
    "occupation", "relationship", "race", "sex", "capital-gain", "capital-loss",
    "hours-per-week", "native-country", "income",
)  # fmt: skip

# Public knowledge: the values that the census questionnaire allows (adult.names). A value
# that is not listed, '?' included, belongs to none.
CATEGORIES = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov "
    "Without-pay Never-worked",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed "
    "Married-spouse-absent Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial "
    "Prof-specialty Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing "
    "Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": "United-States Cambodia England Puerto-Rico Canada Germany "
    "Outlying-US(Guam-USVI-etc) India Japan Greece South China Cuba Iran Honduras Philippines "
    "Italy Poland Jamaica Vietnam Mexico Portugal Ireland France Dominican-Republic Laos "
    "Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia "
    "El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
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


def packaged(name: str) -> bytes:
    """Return a packaged file, unpacked: 'adult.data', 'adult.test' or 'adult.toml'."""
    folder = files("dpscd.data")
    if name in FILES:
        return lzma.decompress(folder.joinpath(f"{name}.xz").read_bytes())
    return folder.joinpath(name).read_bytes()


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
        rows.extend(row for row in table if len(row) == len(COLUMNS))
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True):
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
    questionnaire and is divided by the root of their number: no row is longer than 1, and no
    number was taken from the records.
    """
    adult = packaged_adult()
    column = adult.columns
    parts = [
        column[name][:, None] == np.array(levels.split()) for name, levels in CATEGORIES.items()
    ]
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
