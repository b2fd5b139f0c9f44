"""Columns whose effect may only rise, or only fall: a projection of the released shape.

The coefficients are public by then, and so is all that is used here: their noise, knots at
declared or released bounds. So it is post-processing.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.preprocessing.column_features import Bounds, column_width, declared_bounds
from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.knots import scaled_knots
from dpscd.preprocessing.schema import Schema

__all__ = ["WIDER", "is_monotone", "made_monotone"]

Floats = npt.NDArray[np.float64]

#: By how much bands of projected shapes are wider: docs/proofs/noise_band.md, "Monotone
#: columns".
WIDER = 1.139

# In units of the largest effect: what rounding leaves of a flat part.
_ROUNDING = 1e-9


def made_monotone(schema: Schema, bounds: Bounds, model: Any) -> npt.NDArray[Any]:
    """Return the coefficients of a fitted estimator, monotone columns projected.

    Knots, or the middles of intervals, get the nearest values that rise, weighted by one over
    the variance of their noise; equally where noise is the same for all, or absent. The model
    has one output if a column is monotone.
    """
    coef = np.array(model.coef_)
    flat, noise = coef.reshape(-1), np.ravel(model.coef_noise_)
    for column, own in _monotone(schema):
        sign = 1.0 if column.monotone == "up" else -1.0
        flat[own] = sign * _rising(column, bounds, sign * flat[own], noise[own])
    return coef


def is_monotone(schema: Schema, bounds: Bounds, model: Any) -> bool:
    """Return whether coefficients are as :func:`made_monotone` leaves them, up to rounding."""
    flat = np.ravel(model.coef_)
    for column, own in _monotone(schema):
        sign = 1.0 if column.monotone == "up" else -1.0
        line, shape = _split(column, sign * flat[own])
        if column.shape == "smooth":  # hats and line change together
            growth = np.diff(line * _places(column, bounds) + shape)
        else:
            growth = np.append(np.diff(shape), line)
        if (growth < -_ROUNDING * (abs(line) + np.abs(shape).max(initial=0.0))).any():
            return False
    return True


def _monotone(schema: Schema) -> list[tuple[Column, slice]]:
    """Return the monotone columns, and which features are theirs, missing signs left out."""
    found, first = [], 0
    for column in schema.features:
        width = column_width(column)
        if column.monotone is not None:
            found.append(
                (column, slice(first, first + width - int(column.missing == "column")))
            )
        first += width
    return found


def _rising(column: Column, bounds: Bounds, coef: Floats, noise: Floats) -> Floats:
    """Return the coefficients of a column whose effect rises."""
    from sklearn.isotonic import isotonic_regression  # most models have no use for it

    line, shape = _split(column, coef)
    if not len(shape):
        return np.maximum(coef, 0.0)
    at = _places(column, bounds)
    spread = noise[-len(shape) :]
    weights = 1.0 / spread**2 if (spread > 0.0).all() else np.ones(len(shape))
    values = line * at + shape
    risen = isotonic_regression(values, sample_weight=weights)
    shape = shape + (risen - values)
    if column.shape == "steps":
        # The line may keep as much of its slope as no step has to fall for.
        kept = float(np.clip((np.diff(risen) / np.diff(at)).min(), 0.0, max(line, 0.0)))
        shape, line = shape + (line - kept) * at, kept
    return shape if len(shape) == len(coef) else np.append(line, shape)


def _split(column: Column, coef: Floats) -> tuple[float, Floats]:
    """Return the slope of a column, and the coefficients of its knots or intervals."""
    if column.bins and not column.bent:
        return 0.0, coef
    return float(coef[0]), coef[1:]


def _places(column: Column, bounds: Bounds) -> Floats:
    """Return the scaled values that belong to the coefficients of knots or intervals."""
    knots = scaled_knots(column, *declared_bounds(column, bounds))
    if column.shape == "smooth":
        return knots
    return (knots[1:] + knots[:-1]) / 2.0
