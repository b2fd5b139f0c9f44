"""Levels of which a model knows nothing: a prediction counts them as the column's average."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.preprocessing.column_features import width_of
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.encoding import unit_of
from dpscd.preprocessing.schema import Schema

Floats = npt.NDArray[np.float64]


def as_average(
    rows: Any, schema: Schema, unseen: npt.NDArray[np.bool_], means: Floats | None
) -> Any:
    """Return rows in which released means stand for levels that are not known.

    `rows` are written to; `unseen` are levels that the released moments did not show. Without
    `means` rows stay as they are. A record without any level of a column, because its cell is
    missing in a complete list, counts in the same way, and so does one without any feature of a
    pair.

    Guarantee: what a row becomes is a function of the row and of released numbers.
    """
    if means is None:
        return rows
    stop = 0
    for part in schema.parts:
        own = slice(stop, stop + width_of(part))
        stop = own.stop
        cells = rows[:, own]
        unknown = cells[:, unseen[own]].any(axis=1)
        if _may_be_absent(part):
            unknown |= ~cells.any(axis=1)
        cells[unknown] = means[own]
    return rows


def averages_in(
    coef: Floats, intercept: Floats, schema: Schema, unseen: Any, means: Floats | None
) -> tuple[Floats, Floats]:
    """Return a model of rows as they are encoded that predicts what this one does.

    This one is the model for which :func:`as_average` prepares rows. A record has one level of
    a category, or none: the column's average is taken from its levels and added to the
    intercept. What it has of a pair always adds up to the same, or is none. Where numbers have
    a sign for missing values, it gets the average.
    """
    coef, intercept = coef.copy(), intercept.copy()
    if means is None:
        return coef, intercept
    unit = unit_of(schema)
    stop = 0
    for part in schema.parts:
        own = slice(stop, stop + width_of(part))
        stop = own.stop
        average = coef[:, own] @ means[own]
        if isinstance(part, Cross) or part.kind == "category":
            coef[:, own] -= average[:, None] / unit
            coef[:, own][:, unseen[own]] = 0.0
            intercept += average
        elif unseen[own].any():
            coef[:, own][:, unseen[own]] = average[:, None] / unit
    return coef, intercept


def _may_be_absent(part: Column | Cross) -> bool:
    """Return whether a record may have no feature of a column or pair."""
    columns = (part,) if isinstance(part, Column) else (part.first, part.second)
    return any(column.complete and column.missing == "average" for column in columns)
