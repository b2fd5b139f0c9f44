"""Covertype: the kind of forest on 581,012 patches of land."""

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd_experiments.dataset import Dataset, scale_columns, split_rows, unit_rows
from dpscd_experiments.sources import find_file, sha256_of
from dpscd_experiments.table import RawTable, split_table

__all__ = ["covtype_table", "load_covtype"]

_QUANTITIES = (
    "Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways", "Hillshade_9am",
    "Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points",
)  # fmt: skip
_AREAS, _SOILS = 4, 40


def covtype_table(folder: str | os.PathLike[str] | None = None) -> RawTable:
    """Read Covertype's twelve quantities; signs become categories."""
    path, table = _read(folder)
    first = len(_QUANTITIES)
    cells = pd.DataFrame(table[:, :first], columns=list(_QUANTITIES))
    cells["Wilderness_Area"] = _category(table[:, first : first + _AREAS])
    cells["Soil_Type"] = _category(table[:, first + _AREAS : first + _AREAS + _SOILS])
    cells["Cover_Type"] = table[:, -1]
    return split_table("covtype", cells, {path.name: sha256_of(path)})


def _category(signs: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    """Return which column of a record is 1, counted from 1; 0 if none is."""
    return np.where(signs.any(axis=1), signs.argmax(axis=1) + 1, 0)


def _read(folder: str | os.PathLike[str] | None) -> tuple[Path, npt.NDArray[np.int16]]:
    path = find_file("covtype", ("covtype.csv.gz", "covtype.csv"), folder=folder)
    # The values are whole numbers below 2^15.
    return path, np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int16, ndmin=2)


def load_covtype(folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load Covertype (UCI): class 2, lodgepole pine, against the rest."""
    path, table = _read(folder)
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
