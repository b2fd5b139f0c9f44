"""What each column of a table does to the prediction, with its noise, and words about it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import ParameterError
from dpscd.estimators.intervals import Terms
from dpscd.preprocessing.column_features import (
    Bounds,
    column_names,
    column_slots,
    declared_bounds,
    knots_of,
    pair_slots,
    sides_of,
    whole_steps,
    width_of,
)
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.monotone import WIDER
from dpscd.preprocessing.schema import Schema
from dpscd.records.cells import MISSING, OTHER
from dpscd.records.encoding import levels_of, unit_of
from dpscd.releases.moments import Moments
from dpscd.standard import Levels

Floats = npt.NDArray[np.float64]

#: An effect that is called clear is at least this part of the largest, and of a value that at
#: least this share of the records has.
LEAST_SIZE, LEAST_SHARE = 0.05, 0.005
_CURVE = 17  # points of a curve that has no knots
# A value is seen if its feature's released mean is more than so many errors above 0: of a
# thousand values that no record has one is taken for seen.
_ERRORS = 3.0


@dataclass(frozen=True)
class Points:
    """Values of a column, or of two, with the few features that each has."""

    values: list[Any]  # of the column, or of the first of a pair
    others: list[Any]  # of the second; None for a column alone
    # of shape (points, slots): features of each, within the column or pair
    places: npt.NDArray[np.intp]
    sizes: Floats  # their values
    width: int  # features of the column or pair

    def average(self) -> Floats:
        """Return the plain mean of the features."""
        total = np.bincount(self.places.ravel(), self.sizes.ravel(), minlength=self.width)
        return total / max(len(self.values), 1)

    def effect(self, coef: Floats, centre: Floats) -> Floats:
        """Return what coefficients give each point, relative to `centre`.

        Several models, one in each row, give several effects.
        """
        own = (self.sizes * coef[..., self.places]).sum(axis=-1)
        found: Floats = own - (coef @ centre)[..., None]
        return found

    def spread(self, noise: Floats, centre: Floats, *, apart: bool) -> Floats:
        """Return the standard deviation of :meth:`effect`, given that of each coefficient.

        If `apart`, the noise of features is independent; else the result is its worst case.
        """
        power = 2.0 if apart else 1.0
        each = noise**power
        common = np.abs(centre) ** power
        # A point has few features: all others are as far away as the centre is from 0.
        own = np.abs(self.sizes - centre[self.places]) ** power - common[self.places]
        total = float(common @ each) + (own * each[self.places]).sum(axis=1)
        found: Floats = np.maximum(total, 0.0) ** (1.0 / power)
        return found

    def shares(self, means: Floats, error: float) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return the share of records at each point, and where there are any.

        By released means and their error. A feature that is nowhere negative is one of a level
        or a knot: 0 in all records that do not have it. Points without such features count as
        seen, and their share is NaN, as it is where the means are too noisy to tell.
        """
        signed = np.zeros(self.width, dtype=bool)
        signed[self.places[self.sizes < 0.0]] = True
        own = np.where(signed[self.places], 0.0, self.sizes)
        limit = _ERRORS * error
        # Moments that would not show a value with an even share of the records say nothing.
        silent = limit > own.max(axis=1, initial=0.0) / max(len(own), 1)
        mean = (own * means[self.places]).sum(axis=1)
        shown = mean > limit * np.linalg.norm(own, axis=1)
        known = own.any(axis=1) & ~silent
        share = np.full(len(own), np.nan)
        np.divide(mean, np.square(own).sum(axis=1), out=share, where=known)
        return share, shown | ~known


def points_of(
    part: Column | Cross, bounds: Bounds, unit: float, unseen: npt.NDArray[np.bool_]
) -> Points:
    """Return where the effect of a column or a pair is shown.

    Its features are multiplied by `unit`; levels that the released moments did not show are
    `unseen`, and left out.
    """
    if isinstance(part, Cross):
        sides = [_cells(side, bounds) for side in sides_of(part)]
        (values, first), (others, second) = sides
        slots = pair_slots(
            part, np.repeat(first, len(second)), np.tile(second, len(first)), bounds
        )
        values, others = ([value for value in values for _ in others], others * len(values))
    else:
        values, cells = _cells(part, bounds)
        others = [None] * len(values)
        slots = column_slots(part, cells, bounds)
    places = np.column_stack([place for place, _ in slots]).astype(np.intp)
    sizes = np.column_stack([size for _, size in slots]).astype(np.float64)
    shown = np.flatnonzero(~(unseen[places] & (sizes != 0.0)).any(axis=1))
    return Points(
        [values[place] for place in shown],
        [others[place] for place in shown],
        places[shown],
        unit * sizes[shown],
        width_of(part),
    )


def _cells(column: Column, bounds: Bounds) -> tuple[list[Any], npt.NDArray[Any]]:
    """Return values of a column as people write them, and as they are parsed."""
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
    return values, cells


def _shown(column: Column, edges: Floats) -> Floats:
    if column.cyclic:  # the end is the beginning; after the last integer comes the first
        return edges[:-1] if column.integer else edges
    if column.shape == "smooth":
        return edges
    if column.integer and (column.bins or column.shape == "steps"):
        middle: Floats = np.mean(whole_steps(edges), axis=1)
        return middle
    if column.bins or column.shape == "steps":
        return (edges[1:] + edges[:-1]) / 2.0
    if column.transform:
        return np.expm1(np.linspace(math.log1p(edges[0]), math.log1p(edges[-1]), _CURVE))
    return edges[[0, -1]]


#: A band reaches so many standard deviations to both sides.
BAND = 2.0


def column_shapes(
    schema: Schema, bounds: Bounds, estimator: Any, means: Floats | None
) -> pd.DataFrame:
    """Return the effect of every column at its values.

    As ``TableModel.shapes`` says. Without released `means` effects are relative to the plain
    mean of those shown. `seen` says whether the means show records with this level, or around
    this knot; where they are none, or too noisy to show a value with an even share of the
    records, or a number has no knots, it is True. Levels that the moments show to be absent
    are left out.

    `band` is from the estimated spread of the model, `bound` from the proved one: the noise of
    features is independent, at most `coef_bound_` each, if there is an intercept; else it may
    not be, and the bound is that of the worst case.
    """
    coef, bound = np.atleast_2d(estimator.coef_), np.atleast_2d(estimator.coef_bound_)
    spread, apart = estimator.fit_.spread, estimator.fit_intercept
    classes = estimator.classes_ if len(coef) > 1 else [None]
    unseen = estimator.unseen_features()
    unit = unit_of(schema) if schema.rows == "scale" else 1.0
    listed = estimator.fit_.plan.listed(Moments.what)  # none without privacy
    error = 0.0 if listed is None else listed.error
    found, first = [], 0
    for part in schema.parts:
        own = slice(first, first + width_of(part))
        first = own.stop
        points = points_of(part, bounds, unit, unseen[own])
        centre = points.average() if means is None else means[own]
        wider = WIDER if isinstance(part, Column) and part.monotone else 1.0
        share, seen = (np.nan, True) if means is None else points.shares(means[own], error)
        for output, name in enumerate(classes):
            if spread.factor is None or spread.chance is None:
                band, chance = (
                    points.spread(x[output, own], centre, apart=True)
                    for x in (spread.coef, spread.total)
                )
            else:
                moved = points.effect(spread.factor[output][:, own], centre)
                band = np.linalg.norm(moved, axis=0)
                chance = np.linalg.norm(moved * spread.chance[output][:, None], axis=0)
            # Noise in the means moves all effects of the part together.
            moving = 0.0 if means is None else error * float(np.linalg.norm(coef[output, own]))
            rows = {
                "column": part.name,
                "value": pd.Series(points.values, dtype=object),
                "effect": points.effect(coef[output, own], centre),
                "band": BAND * np.hypot(wider * band, moving),
                "bound": BAND * points.spread(bound[output, own], centre, apart=apart),
                "seen": seen,
                "share": share,
                "chance": BAND * np.hypot(wider * chance, moving),
            }
            frame = pd.DataFrame(rows)
            if schema.pairs:
                frame.insert(2, "other", pd.Series(points.others, dtype=object))
            if name is not None:
                frame.insert(1, "class", name)
            found.append(frame)
    return _clearest_first(found)


def effect_words(model: Any) -> str:
    """Return what the effects of a model of a table are added to, in words."""
    facts, target = model.privacy_.facts, model.schema_.target
    if facts.task == "regression":
        return str(target.trained_on)
    if facts.task == "counts":
        return f"the logarithm of {target.name}"
    if len(target.classes) == 2:
        return f"the score of {target.name} = {target.classes[1]}"
    return f"the score of each class of {target.name}"


def prediction_note(model: Any, noun: str = "coefficient") -> str | None:
    """Return a caution about the coefficients of a fit for prediction.

    None where they have intervals, or no noise.
    """
    if model.fit_.has_intervals or not model.privacy_.private:
        return None
    able = model.kind.has_intervals and len(getattr(model, "classes_", (0, 1))) == 2
    where = " For estimates with intervals train with --inference." if able else ""
    return f"These {noun}s are for prediction, which shrinks or inflates them.{where}"


def band_words(model: Any) -> str | None:
    """Return the sentences that say what bands and bounds are; None without noise.

    Proof: docs/proofs/spread.md and docs/proofs/noise_band.md.
    """
    fit = model.fit_
    if not fit.card.private:
        return None
    if fit.spread.why is not None:
        words = f"There is no band: {fit.spread.why}."
    else:
        words = (
            "The band is an estimate of two standard deviations over repeated fits of the same "
            "records, from released numbers alone. It takes columns to be unrelated: where "
            "they go together it is too narrow, sometimes by ten times or more."
        )
    if fit.is_bounded:
        words += (
            " The bound is a proved upper limit for two standard deviations of the noise, "
            "unless the rows of a lot are nearly parallel."
        )
    return words


def clear_words(noun: str) -> str:
    """Return which effects, or coefficients, are called clear."""
    if noun != "effect":
        return "it is larger than the band and chance in the records explain"
    return (
        "the effect is larger than the band and chance in the records explain, it is at least "
        f"{100.0 * LEAST_SIZE:g} % of the largest, and at least {100.0 * LEAST_SHARE:g} % of "
        "the records have the value, as far as released means tell"
    )


def _clearest_first(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return all parts, with `clear` for `share`, in the order of their clearest effect."""
    shapes = pd.concat(parts, ignore_index=True)
    # Where there is no band, a bound tells too what stands out of it.
    size, band = shapes["effect"].abs(), shapes.pop("chance").fillna(shapes["bound"])
    enough = shapes["seen"] & ~(shapes.pop("share") < LEAST_SHARE)
    output = shapes["class"] if "class" in shapes else np.zeros(len(shapes))
    enough &= size >= LEAST_SIZE * size.where(enough, 0.0).groupby(output).transform("max")
    shapes["clear"] = enough & (size > band)
    clearness = (size / band.where(band != 0.0, 1.0)).fillna(0.0).where(enough, 0.0)
    part = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
    most = clearness.groupby(part).transform("max")
    return shapes.iloc[np.argsort(-most, kind="stable")].reset_index(drop=True)


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
    width, unit, stop = sum(map(width_of, schema.parts)), unit_of(schema), 0
    names: list[str] = []
    against: list[str] = []
    rows: list[Floats] = []
    unknown: list[Floats] = []
    doubtful: list[Floats] = []

    def row_of(places: Any, values: Any, last: float = 0.0) -> Floats:
        row = np.zeros(width + 1)
        row[places], row[-1] = values, last
        return row

    intercept = row_of([], [], 1.0)
    for part in schema.parts:
        if not isinstance(part, Column):
            raise ParameterError(f"intervals are not available for the pair {part.name!r}.")
        own = column_names(part, bounds)
        first, stop = stop, stop + len(own)
        if not _is_category(part):
            step, zero = _step(part, bounds)
            names.append(f"log1p({part.name})" if part.transform else part.name)
            rows.append(row_of(first, unit * step))
            intercept[first] = unit * zero
            if part.missing == "column":
                names.append(own[-1])
                rows.append(row_of(stop - 1, unit))
            continue
        level = chosen.get(part.name, str(part.values[0]))
        if f"{part.name}={level}" not in own:
            raise ParameterError(f"{level!r} is no level of {part.name!r}.")
        against.append(f"{part.name}={level}")
        base = first + own.index(against[-1])
        others = [place for place in range(first, stop) if place != base]
        names += [own[place - first] for place in others]
        rows += [row_of([place, base], [unit, -unit]) for place in others]
        intercept[base] = unit
        exact = not (part.complete and part.missing == "average")
        (unknown if exact else doubtful).append(row_of(slice(first, stop), 1.0, -unit))
    return Terms(
        [*names, "(intercept)"],
        np.array([*rows, intercept]),
        np.array(unknown) if unknown else None,
        np.array(doubtful) if doubtful else None,
        cast("Levels", levels_of(schema)).value,
        against,
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
