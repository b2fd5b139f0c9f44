"""The columns of a table for models that take columns as they are: trees and their kin.

They are given what ours is given: the declared bounds, values and transforms.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.parsing import MISSING, OTHER, Parsed
from dpscd.preprocessing.schema import Schema

__all__ = ["as_codes", "as_numbers", "as_texts", "bounds_of", "is_number"]

Floats = npt.NDArray[np.float64]

_BEYOND = 1.0 / 16.0  # of the range: where missing numbers stand if they are to be told apart


def is_number(column: Column) -> bool:
    """Return whether a column has an order; otherwise it has values."""
    return column.kind != "category"


def bounds_of(column: Column) -> tuple[float, float]:
    """Return the bounds of a number as it is given, the place of missing ones included."""
    low, high = _declared(column)
    return low, high + (high - low) * _BEYOND * (column.missing == "column")


def as_texts(schema: Schema, records: Parsed) -> npt.NDArray[Any]:
    """Return records as an array of objects: floats for numbers, texts for categories."""
    out = np.empty((len(records), len(schema.features)), dtype=object)
    for place, column in enumerate(schema.features):
        cells = records.columns[column.name]
        if is_number(column):
            out[:, place] = as_numbers(column, cells)
        else:
            words = np.array([*column.values, "(missing)", "(other)"], dtype=object)
            last = len(column.values)
            known = np.where(cells == MISSING, last, np.where(cells == OTHER, last + 1, cells))
            out[:, place] = words[known]
    return out


def as_codes(schema: Schema, records: Parsed) -> Floats:
    """Return records as floats, NaN where missing or not listed; categories as codes."""
    columns = []
    for column in schema.features:
        cells = np.asarray(records.columns[column.name], dtype=np.float64)
        columns.append(
            np.where(cells < 0.0, np.nan, cells) if column.kind != "number" else cells
        )
    return np.column_stack(columns)


def _declared(column: Column) -> tuple[float, float]:
    if column.kind != "number":
        return 0.0, float(1 if column.kind == "boolean" else len(column.values) - 1)
    bounds: Any = column.bounds
    low, high = bounds
    return (math.log1p(low), math.log1p(high)) if column.transform else (low, high)


def as_numbers(column: Column, cells: npt.NDArray[Any]) -> Floats:
    """Return the numbers of a column within :func:`bounds_of`, none of them missing."""
    low, high = _declared(column)
    values = np.asarray(cells, dtype=np.float64)
    if column.kind == "number":
        absent = np.isnan(values)
        bounds: Any = column.bounds
        values = np.clip(values, *bounds)
        values = np.log1p(values) if column.transform else values
    else:
        absent = values < 0.0
    stand_in = bounds_of(column)[1] if column.missing == "column" else (low + high) / 2.0
    return np.where(absent, stand_in, values)
