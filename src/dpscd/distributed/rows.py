"""Some of the rows of Dask collections: on the workers, or fetched."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from dask import array, dataframe
from dask.base import compute
from dask.delayed import delayed
from scipy import sparse

__all__ = ["fetched_rows", "row_counts", "some_rows"]

Ints = npt.NDArray[np.int64]


def row_counts(X: Any) -> list[int]:
    """Return the number of records of each partition, counted where they are."""
    return [int(x) for x in compute(*(delayed(_count)(part) for part in _parts(X)))]


def some_rows(X: Any, kept: Sequence[Ints]) -> Any:
    """Return a collection with these rows of each partition, where they are.

    `kept` has row numbers within each partition; an array is divided by rows only.
    """
    parts = [delayed(_taken)(part, rows) for part, rows in zip(_parts(X), kept, strict=True)]
    if not hasattr(X, "chunks"):
        return dataframe.from_delayed(parts, meta=X._meta, verify_meta=False)
    shapes = [(len(rows), *X.shape[1:]) for rows in kept]
    return array.concatenate(
        [
            array.from_delayed(part, shape=shape, dtype=X.dtype, meta=X._meta)
            for part, shape in zip(parts, shapes, strict=True)
        ]
    )


def fetched_rows(X: Any, kept: Sequence[Ints]) -> Any:
    """Return these rows of each partition in the memory of this process; a secret."""
    found = compute(
        *(delayed(_taken)(part, rows) for part, rows in zip(_parts(X), kept, strict=True))
    )
    if isinstance(found[0], pd.DataFrame | pd.Series):
        return pd.concat(found)
    if sparse.issparse(found[0]):
        return sparse.vstack(found, format="csr")
    return np.concatenate(found)


def _parts(X: Any) -> list[Any]:
    if hasattr(X, "chunks"):
        whole = X.rechunk({1: -1}) if X.ndim > 1 else X
        return list(whole.to_delayed().ravel())
    return list(X.to_delayed())


def _count(part: Any) -> int:
    return int(part.shape[0])


def _taken(part: Any, rows: Ints) -> Any:
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]
