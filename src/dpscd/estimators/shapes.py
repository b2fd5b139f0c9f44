"""What each column of a table does to the prediction, with its noise, by the model alone."""

import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.encoding import Bounds, knots_of, slots_of, width_of
from dpscd.preprocessing.parsing import MISSING, OTHER
from dpscd.preprocessing.schema import Schema
from dpscd.releases.moments import Moments, error_of_means

__all__ = ["BAND", "column_shapes"]

Floats = npt.NDArray[np.float64]

#: A band reaches so many standard deviations to both sides.
BAND = 2.0
_POINTS = 17  # of a curve that has no knots
# A value is seen if its feature's released mean is more than so many errors above 0: of a
# thousand values that no record has one is taken for seen.
_ERRORS = 3.0


def column_shapes(
    schema: Schema,
    bounds: Bounds,
    estimator: Any,
    means: Floats | None,
) -> pd.DataFrame:
    """Return the effect of every column at its values.

    Parameters
    ----------
    schema : Schema
        What the columns mean.
    bounds : dict
        Released bounds of the columns that have private ones.
    estimator : fitted estimator
        On the schema's features.
    means : array or None
        Released means of the features; without them effects are relative to the plain mean
        of those shown.

    Returns
    -------
    DataFrame
        column, value, effect, band and seen; with more than two classes also class. The column
        whose effects are the clearest comes first. `seen` says whether the released means show
        records with this level, or around this knot; where they are none, or too noisy to show
        a value with an even share of the records, or a number has no knots, it is True.
        Levels that the moments show to be absent are left out.

    Notes
    -----
    The noise of features is independent, at most `coef_noise_` each, if there is an
    intercept; else it may not be, and bands are those of the worst case.
    """
    coef, noise = np.atleast_2d(estimator.coef_), np.atleast_2d(estimator.coef_noise_)
    classes = estimator.classes_ if len(coef) > 1 else [None]
    unseen = estimator.unseen_features()
    unit = 1.0 / math.sqrt(len(schema.features)) if schema.rows == "scale" else 1.0
    error = _error(estimator)
    found, first = [], 0
    for column in schema.features:
        values, features = _points(column, bounds)
        own = slice(first, first + features.shape[1])
        first = own.stop
        shown = np.flatnonzero(~features[:, unseen[own]].any(axis=1))
        seen = np.ones(len(shown), dtype=bool)
        if means is not None:
            seen = _seen(column, unit * features[shown], means[own], error)
        values, rows = [values[place] for place in shown], unit * features[shown]
        away = rows - (rows.mean(axis=0) if means is None else means[own])
        for output, name in enumerate(classes):
            effect = away @ coef[output, own]
            spread = away * noise[output, own]
            sizes = np.linalg.norm(spread, axis=1)
            if not estimator.fit_intercept:
                sizes = np.abs(spread).sum(axis=1)
            part = pd.DataFrame(
                {
                    "column": column.name,
                    "value": pd.Series(values, dtype=object),
                    "effect": effect,
                    "band": BAND * sizes,
                    "seen": seen,
                }
            )
            if name is not None:
                part.insert(1, "class", name)
            found.append((_clearness(part), part))
    found.sort(key=lambda each: -each[0])
    return pd.concat([part for _, part in found], ignore_index=True)


def _error(estimator: Any) -> float:
    """Return the standard error of the released means; 0 without privacy."""
    listed = (x for x in estimator.privacy_.releases if x.what == Moments.what)
    return sum(error_of_means(x.event.noise_multiplier, x.n) for x in listed)


def _seen(
    column: Column, features: Floats, means: Floats, error: float
) -> npt.NDArray[np.bool_]:
    """Return at which values there are records, by released means of what is 0 elsewhere."""
    own = features > 0.0
    if column.kind != "category":
        own[:, 0] &= bool(column.bins) and not column.bent  # the value itself, not a knot
    limit = _ERRORS * error
    # Moments that would not show a value with an even share of the records say nothing.
    silent = limit > np.where(own, features, 0.0).max(axis=1) / len(features)
    found: npt.NDArray[np.bool_] = (own @ means > limit) | silent | ~own.any(axis=1)
    return found


def _clearness(part: pd.DataFrame) -> float:
    """Return the largest effect, of those seen, in units of its band."""
    part = part[part["seen"]]
    effect, band = part["effect"].abs().to_numpy(), part["band"].to_numpy()
    clear = np.divide(effect, band, out=effect.copy(), where=band > 0.0)
    return float(clear.max(initial=0.0))


def _points(column: Column, bounds: Bounds) -> tuple[list[Any], Floats]:
    """Return values of a column at which its effect is shown, and their features."""
    cells: npt.NDArray[Any]
    if column.kind == "number":
        # A fitted model knows all bounds.
        cells = _shown(column, cast("Floats", knots_of(column, bounds)))
        values: list[Any] = cells.tolist()
        missing: Any = math.nan
    else:
        values = list(column.values) if column.values else [False, True]
        cells, missing = np.arange(len(values)), MISSING
        if column.kind == "category" and not column.complete:
            values.append("(other)")
            cells = np.append(cells, OTHER)
    if column.missing == "column":
        values.append("(missing)")
        cells = np.append(cells, missing)
    features = np.zeros((len(cells), width_of(column)))
    for places, parts in slots_of(column, cells, bounds):
        features[np.arange(len(cells)), places] += parts
    return values, features


def _shown(column: Column, edges: Floats) -> Floats:
    if column.shape == "smooth":
        return edges
    if column.bins or column.shape == "steps":
        return (edges[1:] + edges[:-1]) / 2.0
    if column.transform:
        return np.expm1(np.linspace(math.log1p(edges[0]), math.log1p(edges[-1]), _POINTS))
    return edges[[0, -1]]
