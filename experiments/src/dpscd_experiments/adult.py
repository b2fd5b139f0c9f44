"""Adult as its publisher distributes it, and as the paper prepares it."""

import os
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from dpscd.data.adult import CATEGORIES, Adult, packaged, parse_adult
from dpscd_experiments.dataset import SPLIT_SEED, Dataset, scale_columns, unit_rows
from dpscd_experiments.sources import OfficialFile, find_file, notes_on, sha256_of
from dpscd_experiments.table import RawTable

__all__ = ["ADULT_FILES", "SourcedAdult", "adult_paper", "adult_table", "read_adult"]

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


@dataclass(frozen=True)
class SourcedAdult(Adult):
    """The raw table, the checksums of the files it was read from, and what to say of them."""

    files: dict[str, str]
    notes: tuple[str, ...] = ()


def read_adult(
    folder: str | os.PathLike[str] | None = None, *, download: bool = False
) -> SourcedAdult:
    """Read the packaged files, or those in a folder."""
    texts: list[str] = []
    sums: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    for official in ADULT_FILES:
        if folder is None:
            texts.append(packaged(official.name).decode())
            sums[official.name] = str(official.sha256)
        else:
            path = find_file(
                "adult", (official.name,), folder=folder, official=official, fetch=download
            )
            texts.append(path.read_text(encoding="utf-8"))
            sums[official.name] = sha256_of(path)
            notes += notes_on(path, official)
    table = parse_adult(texts)
    return SourcedAdult(table.columns, table.training, sums, notes)


def adult_table(folder: str | os.PathLike[str] | None = None) -> RawTable:
    """Return the raw table: ``adult.data`` to train on, ``adult.test`` for test."""
    adult = read_adult(folder)
    cells = pd.DataFrame(adult.columns)
    train, test = np.split(np.arange(len(cells)), [adult.training])
    words = f"adult.data ({len(train):,} rows) to train on, adult.test ({len(test):,}) for test"
    return RawTable("adult", cells, train, test, words, adult.files)


def adult_paper(
    folder: str | os.PathLike[str] | None = None, *, download: bool = False
) -> Dataset:
    """Return Adult as in the paper's experiments: 81 columns, unit rows, labels -1 and 1."""
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
