"""The packaged Adult data set: income and hours of 48,842 people, census of 1994."""

import csv
import lzma
import os
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from dpscd.bench.dataset import SPLIT_SEED, Dataset, scale_columns, unit_rows
from dpscd.bench.sources import OfficialFile, find_file, notes_on, sha256_of

__all__ = [
    "ADULT_FILES",
    "Adult",
    "Split",
    "adult_declared",
    "adult_paper",
    "read_adult",
]

Floats = npt.NDArray[np.float64]

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult"
#: The files as UCI distributes them; the packaged ones have the same bytes.
ADULT_FILES = (
    OfficialFile(
        "adult.data",
        f"{_UCI}/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    OfficialFile(
        "adult.test",
        f"{_UCI}/adult.test",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
)

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
    """The raw table: one array a column; the first `training` rows are the training file."""

    columns: dict[str, npt.NDArray[Any]]
    training: int
    files: dict[str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Split:
    """A training and a test part, ready for an estimator."""

    X: Floats
    y: npt.NDArray[Any]
    X_test: Floats
    y_test: npt.NDArray[Any]


def read_adult(
    folder: str | os.PathLike[str] | None = None, *, download: bool = False
) -> Adult:
    """Read the packaged files, or those in a folder.

    Parameters
    ----------
    folder : path, optional
        Where ``adult.data`` and ``adult.test`` are, as UCI distributes them. None reads
        the packaged ones.
    download : bool, default=False
        Whether to fetch them into the folder when they are not there.

    Returns
    -------
    Adult
        The raw table.
    """
    rows: list[list[str]] = []
    training = 0
    sums: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    for official in ADULT_FILES:
        training = len(rows)
        if folder is None:
            packed = files("dpscd.bench").joinpath("data", f"{official.name}.xz").read_bytes()
            text = lzma.decompress(packed).decode()
            sums[official.name] = str(official.sha256)
        else:
            path = find_file(
                "adult", (official.name,), folder=folder, official=official, fetch=download
            )
            text = path.read_text(encoding="utf-8")
            sums[official.name] = sha256_of(path)
            notes += notes_on(path, official)
        table = csv.reader(text.splitlines(), skipinitialspace=True)
        rows.extend(row for row in table if len(row) == len(COLUMNS))
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True):
        column = np.array(values)
        numeric = name not in CATEGORIES and name not in ("education", "income")
        columns[name] = column.astype(np.float64) if numeric else column
    columns["income"] = np.char.rstrip(columns["income"], ".")
    return Adult(columns, training, sums, notes)


def adult_paper(
    folder: str | os.PathLike[str] | None = None, *, download: bool = False
) -> Dataset:
    """Return Adult as in the paper's experiments: 81 columns, unit rows, labels -1 and 1.

    Not private: modes, frequent levels and column scales are read from the data, as the
    paper does. A quarter of the training file is for validation
    (``train_test_split(random_state=1)``: 24,420 and 8141 rows), the test part is the test
    file (16,281).

    Parameters
    ----------
    folder : path, optional
        Where UCI's files are; None takes the packaged ones.
    download : bool, default=False
        Whether to fetch them into the folder when they are not there.

    Returns
    -------
    Dataset
        The prepared data.
    """
    adult = read_adult(folder, download=download)
    n = adult.training
    parts = []
    for name, column in adult.columns.items():
        if name in ("fnlwgt", "education", "income"):
            continue
        if name not in CATEGORIES:
            parts.append(column[:, None])
            continue
        levels, counts = np.unique(column[:n][column[:n] != "?"], return_counts=True)
        mode = levels[counts.argmax()]
        known = np.where(column == "?", mode, column)
        # The mode is the most frequent level, so it is the one left out.
        parts.append(known[:, None] == levels[levels != mode])
    X = np.hstack(parts).astype(np.float64)
    y = np.where(adult.columns["income"] == ">50K", 1, -1)
    train, validation = train_test_split(np.arange(n), test_size=0.25, random_state=SPLIT_SEED)
    scale_columns(X, train)
    X = unit_rows(X)
    return Dataset(
        "adult",
        "classification",
        X[train], y[train], X[validation], y[validation], X[n:], y[n:],
        classes=(-1, 1),
        fit_intercept=False,
        notes=(
            "not private: modes and levels of the training file (missing values take the "
            "mode, which is then left out), column scales of the training part",
            *adult.notes,
        ),
        files=adult.files,
    )  # fmt: skip


def adult_declared(target: str = "income") -> Split:
    """Return Adult prepared from public facts alone, for classification or regression.

    Parameters
    ----------
    target : {'income', 'hours-per-week'}
        Label: whether the income is above 50K (bool), or weekly hours (float).

    Notes
    -----
    Categories are those of the questionnaire, age and hours fall into eight bins each, and
    gains and losses are logarithms over their declared maximum. A record has at most one 1
    a column of the questionnaire and is divided by the root of their number: no row is
    longer than 1, and no number was taken from the records.
    """
    adult = read_adult()
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
