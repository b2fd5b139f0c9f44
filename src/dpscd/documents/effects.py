"""Effects of a model as documents draw them: curves, bars, maps of pairs, and tables of all."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, cast

from dpscd.documents.charts import Axis, Chart, axis_ends, bar, bars, reach, stepped
from dpscd.documents.described import Described, Weight
from dpscd.estimators.intervals import Intervals
from dpscd.preprocessing.column_features import declared_bounds
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.rendering import counted, fixed, number, whole

_SHOWN = 24  # weights of a model of arrays among the bars, and columns with a curve
_ROWS = 60  # effects among the bars, of whole columns
_LISTED = 2000  # in the table of all; a page must stay a page

_MAPS = 6  # the clearest
_ACROSS, _DOWN = 12, 24  # values shown: a map must fit on a phone, and on a page
_SHADES = 5
_MINUS = "\u2212"


def effects(model: Described, output: int) -> dict[str, Any]:
    """Return what a page says of the effects, or coefficients, of one output."""
    every, name = model.weights(output), model.outputs[output]
    listed = every if len(every) <= _LISTED else _clearest(every)[:_LISTED]
    columns = [list(own) for _, own in groupby(every, key=lambda x: x.group)]
    pairs = [own for own in columns if own[0].pair]
    columns = [own for own in columns if not own[0].pair]
    drawn = [own for own in columns if sum(x.at is not None for x in own) > 1][:_SHOWN]
    kept = {own[0].group for own in drawn}
    # Beside its curve a column may have a value that is no number: a missing one.
    left = [x for own in columns for x in own if x.group not in kept or x.at is None]
    private, bounded = model.card.private, model.card.private and model.fit.is_bounded
    return {
        "name": name,  # meaning of a positive effect
        "summary": _summary(model, every),
        "curves": _curves(model, drawn, name),
        "bars": _bars(model, left, name),
        "maps": [_map(model, own) for own in pairs[:_MAPS]],
        "maps_left": max(0, len(pairs) - _MAPS),
        "headings": [
            *(["Feature"] if model.schema is None else ["Column", "Value"]),
            model.noun.capitalize(),
            *(["± band"] if private else []),
            *(["± proved bound"] if bounded else []),
            *(["Says"] if private else []),
        ],
        "rows": [
            [
                *([] if model.schema is None else [x.group]),
                x.label if model.schema is None or x.label != x.group else "",
                number(x.value, 4),
                *([number(x.band, 3)] if private else []),
                *([number(x.bound, 3) if math.isfinite(x.bound) else ""] if bounded else []),
                *([x.word] if private else []),
            ]
            for x in [model.intercept(output), *listed]
        ],
        "rows_left": len(every) - len(listed),
        "count": f"All {counted(len(every), model.noun)}"
        if len(every) > 1
        else "The coefficient",
    }


def _clearest(weights: list[Weight]) -> list[Weight]:
    return sorted(weights, key=lambda x: x.clearness, reverse=True)


def _summary(model: Described, weights: list[Weight]) -> str:
    count = len(weights)
    if not model.card.private:
        return f"{counted(count, model.noun)}, without noise."
    if count == 1:
        return f"Its one {model.noun}: {weights[0].word}."
    clear = sum(x.clear for x in weights)
    return f"Clear: {whole(clear)} of {whole(count)} {model.noun}s."


# --- numbers --------------------------------------------------------------------------------


def _curves(model: Described, columns: list[list[Weight]], name: str) -> list[Chart]:
    """Return a curve with its band for each column of numbers, on one scale of effects."""
    columns = [[x for x in own if x.at is not None] for own in columns]
    every = [x for own in columns for x in own]
    if not every:
        return []
    end = reach([x.value for x in every], [abs(x.value) + x.band for x in every])
    return [_curve(model, own, end, name) for own in columns]


def _curve(model: Described, own: list[Weight], end: float, name: str) -> Chart:
    group, column = own[0].group, cast("Column", model.column(own[0].group))
    points = [(x.at or 0.0, x.value, x.value - x.band, x.value + x.band) for x in own]
    if column.shape == "steps" or (column.bins and not column.shape):
        points = stepped(points)  # type: ignore[assignment] # as many numbers each
    least, *_, most = sorted(own, key=lambda x: x.value)
    clear = [(x.at or 0.0, x.value) for x in own if x.clear]
    return Chart(
        group,
        f"Effect of {group} towards {name}: from {number(least.value, 2)} at {least.label} to "
        f"{number(most.value, 2)} at {most.label}; clear at {len(clear)} of {len(own)} values.",
        Axis(
            points[0][0],
            points[-1][0],
            scale="log1p" if column.transform == "log1p" else "linear",
        ),
        Axis(-end, end),
        [point[:2] for point in points],
        [(x, low, high) for x, _, low, high in points] if own[0].band else (),
        dots=clear,
    )


# --- everything else ------------------------------------------------------------------------


def _bars(model: Described, every: list[Weight], name: str) -> dict[str, Any] | None:
    chosen = _chosen(model, every)
    if not chosen:
        return None
    end = reach([x.value for x in chosen], [abs(x.value) + x.band for x in chosen])
    places = _places(every)
    kept = set(map(id, chosen))
    rows = [
        bar(
            (x.group, x.label),
            x.value,
            (x.value - x.band, x.value + x.band),
            (fixed(x.value, places), f"± {fixed(x.band, places)}" if x.band else "", x.word),
            end,
            clear=x.clear,
        )
        for x in every
        if id(x) in kept
    ]
    noun = model.noun.capitalize()
    short = noun if model.has_shapes else "Value"  # "Coefficient" is too long for a phone
    part = ": the clearest, by column" if len(chosen) < len(every) else ""
    return bars(
        f"{noun}s towards {name}{part}",
        (
            "Feature" if model.schema is None else "Value",
            f"{short} ± band" if model.card.private else short,
        ),
        rows,
        axis_ends(end),
        from_zero=True,
    )


def _chosen(model: Described, every: list[Weight]) -> list[Weight]:
    """Return the weights among the bars: whole columns of a table, else the clearest."""
    if not model.has_shapes:
        return _clearest(every)[:_SHOWN]
    chosen: list[Weight] = []
    for _, own in groupby(every, key=lambda x: x.group):
        column = list(own)
        if not chosen or len(chosen) + len(column) <= _ROWS:
            chosen += column
    return chosen


def _places(weights: list[Weight]) -> int:
    """Return how many decimal places show two digits of a typical band."""
    sizes = sorted(x.band or abs(x.value) / 10.0 for x in weights)
    typical = sizes[len(sizes) // 2]
    return max(0, min(8, 1 - math.floor(math.log10(typical)))) if typical > 0.0 else 2


# --- pairs ----------------------------------------------------------------------------------


def _map(model: Described, own: Sequence[Weight]) -> dict[str, Any]:
    """Return the effect of a pair of columns at values of both, which may be some of them."""
    group = own[0].group
    part = cast("Cross", model.column(group))
    first, second = part.first, part.second
    cells = {x.pair: x for x in own if x.pair is not None}
    down, across = (
        list(dict.fromkeys(x.pair[k] for x in sorted(own, key=lambda x: x.order[k]) if x.pair))
        for k in (0, 1)
    )
    if len(across) > len(down):
        cells = {(b, a): x for (a, b), x in cells.items()}
        first, second, down, across = second, first, across, down
    size = len(down) * len(across)
    down = _thinned(down, _DOWN, first, [(a, x) for (a, _), x in cells.items()])
    across = _thinned(across, _ACROSS, second, [(b, x) for (_, b), x in cells.items()])
    most = max(abs(x.value) for x in own) or 1.0
    return {
        "name": group,
        "names": (first.name, second.name),  # of the columns down and across
        "across": across,
        "rows": [
            (label, [_cell(cells.get((label, x)), most) for x in across]) for label in down
        ],
        "reach": number(most, 2),
        "part": len(down) * len(across) < size,
    }


def _thinned(
    labels: list[str], most: int, column: Column, cells: list[tuple[str, Weight]]
) -> list[str]:
    """Return the shown labels: numbers at regular distances, else the clearest."""
    if len(labels) <= most:
        return labels
    if column.kind == "number":
        return labels[:: -(-len(labels) // most)]
    clear: dict[str, tuple[bool, float]] = {}
    for label, effect in cells:
        clear[label] = max(clear.get(label, effect.clearness), effect.clearness)
    kept = sorted(labels, key=lambda label: clear[label], reverse=True)[:most]
    return [label for label in labels if label in kept]


def _cell(effect: Weight | None, most: float) -> dict[str, str] | None:
    """Return a field of a map: how it is shaded, its sign and a text for those who listen."""
    if effect is None:  # values that the model does not know
        return None
    side, sign = ("up", "+") if effect.value > 0.0 else ("down", _MINUS)
    return {
        "shade": f"{side}{round(_SHADES * abs(effect.value) / most)}",
        "sign": sign if effect.clear else "",
        "text": f"{number(effect.value, 2)} ± {number(effect.band, 2)}",
    }


# --- estimates with intervals ---------------------------------------------------------------

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Estimate:
    """One term of a summary, with its numbers there."""

    term: str
    group: str  # column of the term
    label: str  # the part of the column
    widest: float  # range of the feature, 0 if its unit cannot be changed
    refused: str | None  # why there is no interval: then the numbers are NaN
    value: float
    low: float
    high: float
    error: float
    p_value: float
    privacy: float

    @property
    def leaves_out_zero(self) -> bool:
        """Whether the interval does not contain 0."""
        return self.low > 0.0 or self.high < 0.0

    @property
    def extent(self) -> float:
        """Distance from 0 to the far end of the interval."""
        return max(abs(self.low), abs(self.high))

    def row(self, *, odds: bool) -> list[str]:
        """Return its numbers per unit, as the table has them."""
        found = [
            self.term,
            number(self.value, 4),
            f"{number(self.low)} to {number(self.high)}",
            number(self.error),
            number(self.p_value, 2) if self.p_value >= 1e-3 else "< 0.001",
            f"{100.0 * self.privacy:.0f} %",
        ]
        ends = f"{number(_odds(self.low), 4)} to {number(_odds(self.high), 4)}"
        return [*found, number(_odds(self.value), 4), ends] if odds else found


def estimates(model: Described, summary: Intervals) -> list[Estimate]:
    """Return the terms of a summary, the intercept last."""
    known = _terms(model)
    names = ("estimate", "low", "high", "std_error", "p_value", "privacy")
    found = []
    for row in summary.frame.to_dict(orient="records"):
        term = str(row["term"])
        group, label, widest = known.get(term, ("", term, 0.0))
        numbers = (float(row[name]) for name in names)
        shown = term if model.schema else label
        found.append(Estimate(shown, group, label, widest, row["refused"], *numbers))
    return found


def _terms(model: Described) -> dict[str, tuple[str, str, float]]:
    """Return column, label and width of the terms, by their names."""
    if model.schema is None:
        widest = 2.0 * model.facts.row_bound
        terms = model.features or [f"x{k}" for k in range(model.facts.d)]
        return {x: ("", own, widest) for x, own in zip(terms, model.names, strict=True)}
    found = {}
    for column in model.schema.features:
        name = column.name
        found[f"{name}=(missing)"] = name, "(missing)", 0.0
        if column.kind == "category":
            against = f"{name}, against {column.values[0]}"
            for level in (*column.values, "(other)", "(missing)"):
                found[f"{name}={level}"] = against, str(level), 0.0
        elif column.kind == "number":
            low, high = declared_bounds(column, model.bounds)
            term = f"log1p({name})" if column.transform else name
            found[term] = name, term, high - low if not column.transform else 0.0
        else:
            found[name] = name, name, 0.0
    return found


def forest(model: Described, sure: list[Estimate], level: str) -> dict[str, Any] | None:
    """Return the intervals as bars around their estimates, the clearest if there are many."""
    slopes, odds = [x for x in sure if x.term != INTERCEPT], not model.regression
    if not slopes:
        return None
    fixed_ = [x for x in slopes if not x.widest] or slopes  # whose unit cannot be changed
    end = reach([x.value for x in fixed_], [x.extent for x in fixed_])
    clearest = sorted(slopes, key=lambda x: -abs(x.value) / x.error)[:_ROWS]
    kept = set(map(id, clearest))
    shown = _odds if odds else float
    rows = []
    for x in (rescaled(x, end) for x in slopes if id(x) in kept):
        ends = f"({number(shown(x.low))} to {number(shown(x.high))})"
        texts = (number(shown(x.value)), ends, "clear" if x.leaves_out_zero else "may be none")
        names, at = (x.group, x.label), (x.low, x.high)
        rows.append(bar(names, x.value, at, texts, end, clear=x.leaves_out_zero))
    part = f": the {_ROWS} clearest" if len(slopes) > _ROWS else ""
    return bars(
        f"{'Odds ratios' if odds else 'Effects'} with intervals at {level}, towards "
        f"{model.outputs[0]}{part}",
        (
            "Feature" if model.schema is None else "Column or level",
            "Odds ratio, interval" if odds else "Estimate, interval",
        ),
        rows,
        axis_ends(end, shown),
        from_zero=False,
    )


def rescaled(estimate: Estimate, end: float) -> Estimate:
    """Return an estimate for the power of ten of its feature that fills the axis best."""
    if not estimate.widest or not estimate.extent:
        return estimate
    power = math.floor(math.log10(end / estimate.extent))
    step = 10.0 ** min(power, math.floor(math.log10(estimate.widest)))
    if step == 1.0:
        return estimate
    numbers = {name: step * getattr(estimate, name) for name in ("value", "low", "high")}
    return replace(estimate, label=f"{estimate.label}, per {step:g}", **numbers)


def _odds(value: float) -> float:
    """Return the factor of odds for this increase of their logarithm."""
    return math.exp(min(value, 700.0))
