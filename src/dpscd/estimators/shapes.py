"""What each column of a table does to the prediction, with its noise, by the model alone."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.estimators.monotone import WIDER
from dpscd.estimators.purpose import LEAST_SHARE, LEAST_SIZE
from dpscd.estimators.shape_points import points_of
from dpscd.preprocessing.column_features import Bounds
from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.encoding import unit_of, width_of
from dpscd.preprocessing.schema import Schema
from dpscd.releases.moments import Moments, error_of_means

__all__ = ["BAND", "column_shapes"]

Floats = npt.NDArray[np.float64]

#: A band reaches so many standard deviations to both sides.
BAND = 2.0


def column_shapes(
    schema: Schema,
    bounds: Bounds,
    estimator: Any,
    means: Floats | None,
) -> pd.DataFrame:
    """Return the effect of every column at its values.

    The column with the clearest effects comes first. The frame has column, value, effect, band,
    seen and clear; with more than two classes also class, with pairs also other, the value of
    the second column. Without released `means` effects are relative to the plain mean of those
    shown. `seen` says whether the means show records with this level, or around this knot;
    where they are none, or too noisy to show a value with an even share of the records, or a
    number has no knots, it is True. `clear` are effects of which
    :func:`~dpscd.estimators.purpose.clear_words` is true. Levels that the moments show to be
    absent are left out.

    The noise of features is independent, at most `coef_noise_` each, if there is an intercept;
    else it may not be, and bands are those of the worst case.
    """
    coef, noise = np.atleast_2d(estimator.coef_), np.atleast_2d(estimator.coef_noise_)
    classes = estimator.classes_ if len(coef) > 1 else [None]
    unseen = estimator.unseen_features()
    unit = unit_of(schema) if schema.rows == "scale" else 1.0
    error = _error(estimator)
    found, first = [], 0
    for part in schema.parts:
        own = slice(first, first + width_of(part))
        first = own.stop
        points = points_of(part, bounds, unit, unseen[own])
        centre = points.average() if means is None else means[own]
        wider = WIDER if isinstance(part, Column) and part.monotone else 1.0
        share, seen = (np.nan, True) if means is None else points.shares(means[own], error)
        for output, name in enumerate(classes):
            rows = {
                "column": part.name,
                "value": pd.Series(points.values, dtype=object),
                "effect": points.effect(coef[output, own], centre),
                "band": BAND
                * wider
                * points.spread(noise[output, own], centre, apart=estimator.fit_intercept),
                "seen": seen,
                "share": share,
            }
            frame = pd.DataFrame(rows)
            if schema.pairs:
                frame.insert(2, "other", pd.Series(points.others, dtype=object))
            if name is not None:
                frame.insert(1, "class", name)
            found.append(frame)
    return _clearest_first(found)


def _error(estimator: Any) -> float:
    """Return the standard error of the released means; 0 without privacy."""
    listed = (x for x in estimator.privacy_.releases if x.what == Moments.what)
    return sum(error_of_means(x.event.noise_multiplier, x.n) for x in listed)


def _clearest_first(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return all parts, with `clear` for `share`, in the order of their clearest effect."""
    shapes = pd.concat(parts, ignore_index=True)
    size, band = shapes["effect"].abs(), shapes["band"]
    enough = shapes["seen"] & ~(shapes.pop("share") < LEAST_SHARE)
    output = shapes["class"] if "class" in shapes else np.zeros(len(shapes))
    enough &= size >= LEAST_SIZE * size.where(enough, 0.0).groupby(output).transform("max")
    shapes["clear"] = enough & (size > band)
    clearness = (size / band.where(band > 0.0, 1.0)).where(enough, 0.0)
    part = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
    most = clearness.groupby(part).transform("max")
    return shapes.iloc[np.argsort(-most, kind="stable")].reset_index(drop=True)
