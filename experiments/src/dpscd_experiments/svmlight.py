"""Data sets in svmlight text: Phishing and w8a."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_svmlight_file

from dpscd_experiments.dataset import Dataset, split_rows, unit_rows
from dpscd_experiments.sources import OfficialFile, find_file, notes_on, sha256_of

__all__ = ["PHISHING_FILE", "W8A_FILE", "load_phishing", "load_w8a"]

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
# LIBSVM publishes no checksums.
PHISHING_FILE = OfficialFile("phishing", f"{_LIBSVM}/phishing", None)
W8A_FILE = OfficialFile("w8a", f"{_LIBSVM}/w8a", None)

_ENDINGS = ("", ".bz2", ".txt", ".svm", ".svm.gz", ".svm.bz2")


def load_phishing(
    folder: str | os.PathLike[str] | None = None, *, download: bool = False
) -> Dataset:
    """Load Phishing (UCI, as distributed by LIBSVM) as in the paper's experiments."""
    path = _find("phishing", PHISHING_FILE, folder, download)
    X, y = _read(path, 68)
    # All values of a column are equal or zero, so scaling columns as the paper does would
    # be undone by scaling rows.
    rows = unit_rows(X.toarray())
    train, validation, test = split_rows(len(y), validation=0.25, test=0.25)
    return Dataset(
        "phishing",
        "classification",
        rows[train], y[train], rows[validation], y[validation], rows[test], y[test],
        classes=(-1, 1),
        fit_intercept=False,
        notes=(
            "rows scaled to length 1, each on its own; nothing else read from the data",
            *notes_on(path, PHISHING_FILE),
        ),
        files={path.name: sha256_of(path)},
    )  # fmt: skip


def load_w8a(
    folder: str | os.PathLike[str] | None = None, *, download: bool = False
) -> Dataset:
    """Load w8a (LIBSVM): sparse, 3 % of the labels positive."""
    path = _find("w8a", W8A_FILE, folder, download)
    X, y = _read(path, 300)
    rows = unit_rows(X)
    train, validation, test = split_rows(len(y), validation=0.25, test=0.2)
    return Dataset(
        "w8a",
        "classification",
        rows[train], y[train], rows[validation], y[validation], rows[test], y[test],
        classes=(-1, 1),
        fit_intercept=True,
        notes=(
            "rows scaled to length 1, each on its own; nothing else read from the data",
            *notes_on(path, W8A_FILE),
        ),
        files={path.name: sha256_of(path)},
    )  # fmt: skip


def _find(
    name: str, official: OfficialFile, folder: str | os.PathLike[str] | None, download: bool
) -> Path:
    names = [name + ending for ending in _ENDINGS]
    return find_file(name, names, folder=folder, official=official, fetch=download)


def _read(path: Path, width: int) -> tuple[Any, npt.NDArray[np.int64]]:
    """Return a CSR matrix and labels -1 and 1; positive numbers are the class 1."""
    X, y = load_svmlight_file(str(path), n_features=width)
    return X.tocsr(), np.where(y > 0, 1, -1)
