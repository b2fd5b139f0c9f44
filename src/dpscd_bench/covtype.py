"""Covertype: the kind of forest on 581,012 patches of land."""

import os

import numpy as np

from dpscd_bench.dataset import Dataset, scale_columns, split_rows, unit_rows
from dpscd_bench.sources import find_file, sha256_of

__all__ = ["load_covtype"]


def load_covtype(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load Covertype (UCI): class 2, lodgepole pine, against the rest.

    Parameters
    ----------
    folder : path, optional
        Where ``covtype.csv`` (with header, class last; plain or gz) is; otherwise the
        folder in ``DPSCD_DATA``.

    Returns
    -------
    Dataset
        54 columns scaled to largest value 1 (by the training part), unit rows, labels -1
        and 1, with intercept; split 60/20/20.
    """
    path = find_file("covtype", ("covtype.csv.gz", "covtype.csv"), folder=folder)
    # The values are whole numbers below 2^15.
    table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int16, ndmin=2)
    y = np.where(table[:, -1] == 2, 1, -1)
    X = table[:, :-1].astype(np.float64)
    train, validation, test = split_rows(len(y), validation=0.25, test=0.2)
    scale_columns(X, train)
    X = unit_rows(X)
    return Dataset(
        "covtype",
        "classification",
        X[train], y[train], X[validation], y[validation], X[test], y[test],
        classes=(-1, 1),
        fit_intercept=True,
        notes=("not private: column scales of the training part",),
        files={path.name: sha256_of(path)},
    )  # fmt: skip
