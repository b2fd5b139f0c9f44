"""What intervals of a table are about: columns in their own units, levels against one."""

import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.estimators.intervals import Terms
from dpscd.preprocessing.column_features import Bounds, column_names, declared_bounds
from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.encoding import unit_of, width_of
from dpscd.preprocessing.levels import levels_of
from dpscd.preprocessing.schema import Schema
from dpscd.standard import Levels

__all__ = ["table_terms"]

Floats = npt.NDArray[np.float64]


def table_terms(schema: Schema, bounds: Bounds, reference: Mapping[str, Any] | None) -> Terms:
    """Return the terms of a model of a table, each a function of the model's coefficients.

    The schema is of lines and levels. A number has its unit, an ordinal its step, a level its
    difference to the one in `reference`, or to the first listed; the intercept is where numbers
    are 0 and levels those of reference.
    """
    chosen = {str(name): str(level) for name, level in (reference or {}).items()}
    categories = {part.name for part in schema.parts if _is_category(part)}
    for name in chosen:
        if name not in categories:
            raise ParameterError(f"reference has a level of {name!r}, which is no category.")
    width = sum(width_of(part) for part in schema.parts)
    unit = unit_of(schema)
    names: list[str] = []
    rows: list[Floats] = []
    unknown: list[Floats] = []
    doubtful: list[Floats] = []
    intercept = np.zeros(width + 1)
    intercept[-1] = 1.0
    first = 0
    for part in schema.parts:
        if not isinstance(part, Column):
            raise ParameterError(f"intervals are not available for the pair {part.name!r}.")
        own = column_names(part, bounds)
        places = range(first, first + len(own))
        first += len(own)
        if _is_category(part):
            level = chosen.get(part.name, str(part.values[0]))
            if f"{part.name}={level}" not in own:
                raise ParameterError(f"{level!r} is no level of {part.name!r}.")
            base = places[own.index(f"{part.name}={level}")]
            for name, place in zip(own, places, strict=True):
                if place != base:
                    row = np.zeros(width + 1)
                    row[place], row[base] = unit, -unit
                    names.append(name)
                    rows.append(row)
            intercept[base] = unit
            change = np.zeros(width + 1)
            change[places.start : places.stop], change[-1] = 1.0, -unit
            exact = not (part.complete and part.missing == "average")
            (unknown if exact else doubtful).append(change)
            continue
        step, zero = _step(part, bounds)
        row = np.zeros(width + 1)
        row[places[0]] = unit * step
        intercept[places[0]] = unit * zero
        names.append(f"log1p({part.name})" if part.transform else part.name)
        rows.append(row)
        if part.missing == "column":
            sign = np.zeros(width + 1)
            sign[places[-1]] = unit
            names.append(own[-1])
            rows.append(sign)
    return Terms(
        [*names, "(intercept)"],
        np.array([*rows, intercept]),
        np.array(unknown) if unknown else None,
        np.array(doubtful) if doubtful else None,
        cast("Levels", levels_of(schema)).value,
    )


def _is_category(part: Any) -> bool:
    return isinstance(part, Column) and part.kind == "category"


def _step(column: Column, bounds: Bounds) -> tuple[float, float]:
    """Return by what a feature grows with its column, and what it is where that is 0."""
    if column.kind != "number":
        top = 1 if column.kind == "boolean" else len(column.values) - 1
        return 2.0 / top, -1.0
    low, high = declared_bounds(column, bounds)
    if column.transform:
        low, high = math.log1p(low), math.log1p(high)
    half = high / 2.0 - low / 2.0
    return 1.0 / half, -(low / 2.0) / half * 2.0 - 1.0
