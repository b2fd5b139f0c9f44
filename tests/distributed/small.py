"""A few records on Dask, and their reader."""

import dask.array as da
import numpy as np

from dpscd.records.labels import NumberLabels
from dpscd.records.rows import RowReader

SCHEMA = {
    "target": {"column": "won", "classes": ["no", "yes"]},
    "columns": {"age": {"kind": "number", "bounds": [0, 100]}},
}


def arrays(rows=12, chunks=4):
    X = np.arange(3.0 * rows).reshape(rows, 3) / 100.0
    return da.from_array(X, chunks=(chunks, 3)), da.from_array(X[:, 0], chunks=chunks)


def reader(**changes):
    values = {"labels": NumberLabels(0.0, 1.0), "features": 3, "sparse": False}
    return RowReader(**{**values, **changes})
