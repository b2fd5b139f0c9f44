"""Columns whose effect may only rise, or only fall: a projection of the released shape.

The coefficients are public by then, and so is all that is used here: their noise, knots at
declared or released bounds. So it is post-processing.
"""

import numpy as np
import numpy.typing as npt

from dpscd.preprocessing.column_features import Bounds, declared_bounds, scaled_knots, width_of
from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.schema import Schema

Floats = npt.NDArray[np.float64]

#: By how much bands of projected shapes are wider: docs/proofs/noise_band.md, "Monotone
#: columns".
WIDER = 1.139


def made_monotone(schema: Schema, bounds: Bounds, coef: Floats, noise: Floats) -> Floats:
    """Return coefficients of features, of shape (outputs, d), monotone columns projected."""
    coef = np.array(coef)  # one output, if a column is monotone
    flat, noise = coef.reshape(-1), np.ravel(noise)
    for column, own in _monotone(schema):
        sign = 1.0 if column.monotone == "up" else -1.0
        flat[own] = sign * _rising(column, bounds, sign * flat[own], noise[own])
    return coef


def _monotone(schema: Schema) -> list[tuple[Column, slice]]:
    """Return the monotone columns, and which features are theirs, missing signs left out."""
    found, first = [], 0
    for column in schema.features:
        width = width_of(column)
        if column.monotone is not None:
            signs = int(column.missing == "column")
            found.append((column, slice(first, first + width - signs)))
        first += width
    return found


def _rising(column: Column, bounds: Bounds, coef: Floats, noise: Floats) -> Floats:
    """Return the coefficients of a column whose effect rises."""
    from sklearn.isotonic import isotonic_regression  # most models have no use for it

    alone = column.bins and not column.bent  # intervals without a slope
    line, shape = (0.0, coef) if alone else (float(coef[0]), coef[1:])
    if not len(shape):
        return np.maximum(coef, 0.0)
    knots = scaled_knots(column, *declared_bounds(column, bounds))
    at = knots if column.shape == "smooth" else (knots[1:] + knots[:-1]) / 2.0
    # The nearest values that rise, by the variance of their noise if it is known.
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
