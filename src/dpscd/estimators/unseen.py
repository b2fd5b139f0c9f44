"""Levels of which a model knows nothing: a prediction counts them as the column's average."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.preprocessing.encoding import levels_of, width_of
from dpscd.preprocessing.schema import Schema

__all__ = ["as_average"]

Floats = npt.NDArray[np.float64]


def as_average(rows: Any, schema: Schema, coef: Floats, means: Floats | None) -> Any:
    """Return rows in which released means stand for levels that are not known.

    Parameters
    ----------
    rows : array of shape (n, features)
        Of the schema; written to.
    schema : Schema
        What the columns mean.
    coef : array of shape (outputs, features)
        Coefficients: exactly 0 for a level that the released moments did not show.
    means : array of shape (features,), or None
        Released means of the features; without them rows stay as they are.

    Notes
    -----
    A record without any level of a column, because its cell is missing in a complete list,
    counts in the same way. What a row becomes is a function of the row and of released numbers.
    """
    levels = levels_of(schema)
    if means is None or levels is None:
        return rows
    known = (levels.value == 0.0) | coef.any(axis=0)
    stop = 0
    for column in schema.features:
        own = slice(stop, stop + width_of(column))
        stop = own.stop
        cells = rows[:, own]
        unknown = cells[:, ~known[own]].any(axis=1)
        if column.complete and column.missing == "average":
            unknown |= ~cells.any(axis=1)
        cells[unknown] = means[own]
    return rows
