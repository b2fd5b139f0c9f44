"""YearPredictionMSD: the year of a song from 90 numbers about its sound."""

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from dpscd.errors import DataError
from dpscd_experiments.dataset import SPLIT_SEED, Dataset, scale_columns, split_rows, unit_rows
from dpscd_experiments.sources import OfficialFile, find_file, notes_on, sha256_of

__all__ = ["MSD_FILE", "YEARS", "load_msd"]

# UCI publishes no checksum of this archive.
MSD_FILE = OfficialFile(
    "YearPredictionMSD.txt.zip",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/00203/YearPredictionMSD.txt.zip",
    None,
)

#: The years that the data set's description says it covers.
YEARS = (1922.0, 2011.0)

_SUBSET = "msd_subset_float32.npz"
_TEXT = "YearPredictionMSD.txt"
_OFFICIAL_TRAINING = 463_715  # the first rows; no artist is on both sides (UCI's page)
_OFFICIAL_TEST = 51_630


def load_msd(
    folder: str | os.PathLike[str] | None = None, *, download: bool = False
) -> Dataset:
    """Load YearPredictionMSD as in the paper's experiments: the whole, or a part of it."""
    path = find_file(
        "msd",
        (_TEXT, MSD_FILE.name, _SUBSET),
        folder=folder,
        subfolder="msd_subset",
        official=MSD_FILE,
        fetch=download,
    )
    if path.name == _SUBSET:
        with np.load(path) as arrays:
            X, years = arrays["X"].astype(np.float64), arrays["y"].astype(np.float64)
        origin = (
            f"{len(years)} rows of the official training part, 7000 of them drawn uniformly, "
            "the others its first rows; the official test rows are not there"
        )
        official_training = None
    else:
        X, years = _read_text(path)
        origin = f"{len(years)} rows of the official text"
        official_training = _OFFICIAL_TRAINING
        if len(years) <= official_training:
            raise DataError(
                f"{path.name} must have the {official_training} lines of the training part and "
                "more: it is not the whole file."
            )
    train, validation, test = _split(len(years), official_training)
    scale_columns(X, train)
    X = unit_rows(X)
    centre = float(years[train].mean())
    y = years - centre
    return Dataset(
        "msd",
        "regression",
        X[train], y[train], X[validation], y[validation], X[test], y[test],
        y_bounds=(YEARS[0] - centre, YEARS[1] - centre),
        fit_intercept=False,
        notes=(
            origin,
            f"not private: column scales and the mean year of the training part, {centre:.3f}",
            f"y_bounds: the years {YEARS[0]:.0f} to {YEARS[1]:.0f} less that mean",
            *notes_on(path, MSD_FILE),
        ),
        files={path.name: sha256_of(path)},
    )  # fmt: skip


def _split(
    n: int, official_training: int | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    if official_training is None:
        share = _OFFICIAL_TEST / (_OFFICIAL_TRAINING + _OFFICIAL_TEST)
        return split_rows(n, validation=0.25, test=round(n * share))
    rows = np.arange(n)
    train, validation = train_test_split(
        rows[:official_training], test_size=0.25, random_state=SPLIT_SEED
    )
    return train, validation, rows[official_training:]


def _read_text(path: Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Read UCI's text: one song a line, the year first, commas between."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive, archive.open(_TEXT) as packed:
            table = np.loadtxt(io.TextIOWrapper(packed, "ascii"), delimiter=",", ndmin=2)
    else:
        table = np.loadtxt(path, delimiter=",", ndmin=2)
    if table.shape[1] != 91:
        raise DataError(f"{path.name} must have a year and 90 numbers a line.")
    return np.ascontiguousarray(table[:, 1:]), table[:, 0].copy()
