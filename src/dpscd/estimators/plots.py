"""Figures of a fitted model: effects, coefficients and intervals; need the extra ``plot``."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from dpscd.errors import DpscdError, ParameterError
from dpscd.estimators.shapes import BAND, band_words, effect_words
from dpscd.preprocessing.declarations import Column, Cross

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_FAINT = 0.35  # opacity of effects that are not clear
_ACROSS = 3  # figures of a grid beside each other
_MOST = 24  # levels, or coefficients, of one figure: the largest
_MISSING = "(missing)"
_LETTERS = 100  # of a line below a figure


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``, or say how it is installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise DpscdError(
            "plots need matplotlib; install it with: pip install 'dpscd[plot]'"
        ) from None
    return plt


def plot_effects(model: Any, column: str | None, ax: Any, label: Any) -> Any:
    """Draw one column or pair of a fitted model of a table, or a grid of all of them."""
    shapes, parts = model.shapes(), {part.name: part for part in model.schema_.parts}
    # The proved bound where there is no estimate.
    shapes["band"] = shapes["band"].fillna(shapes["bound"]).fillna(0.0)
    words = effect_words(model)
    if label is not None:
        shapes, words = _of_class(shapes, label), f"the score of {label}"
    if column is not None:
        if column not in parts:
            raise ParameterError(f"column={column!r} must be one of {', '.join(parts)}.")
        axes = _axes(ax, 4.0)
        _draw(axes, shapes[shapes["column"] == column], parts[column])
        axes.set_title(_text(f"{column}: effect on {words}"), fontsize="medium")
        return axes
    if ax is not None:
        raise ParameterError("ax is for one column: give its name, or leave ax out.")
    names = list(dict.fromkeys(shapes["column"]))
    rows = [names[first : first + _ACROSS] for first in range(0, len(names), _ACROSS)]
    heights = [
        max(_height(shapes[shapes["column"] == x], parts[x]) for x in row) for row in rows
    ]
    figure, grid = pyplot().subplots(
        len(rows),
        min(_ACROSS, len(names)),
        figsize=(4.0 * min(_ACROSS, len(names)), sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    figure.suptitle(_text(f"Effect on {words}"))
    figure.supxlabel("Faint bars, and curves without dots: not clear.", fontsize="small")
    shown = shapes[shapes["clear"]] if shapes["clear"].any() else shapes
    reach = 1.1 * float((shown["effect"].abs() + shown["band"]).max()) or 1.0
    for name, axes in zip(names, grid.flat, strict=False):
        _draw(axes, shapes[shapes["column"] == name], parts[name], reach)
        axes.set_title(_text(name), fontsize="medium")
    for axes in grid.flat[len(names) :]:
        axes.remove()
    return grid.ravel()[: len(names)]


def write_effect(model: Any, column: str, file: Path) -> None:
    """Write the figure of one column into a file, with what its band is below."""
    pyplot()  # or it is said how to install it
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    plot_effects(model, column, figure.subplots(), None)
    words = band_words(model)
    if words is not None:
        figure.supxlabel(fill(words, _LETTERS), fontsize="small")
    figure.savefig(file, dpi=150)


def plot_coefficients(model: Any, ax: Any) -> Any:
    """Draw the coefficients of a fitted estimator with their bands, or intervals."""
    if model.fit_.has_intervals:
        return model.summary().plot(ax)
    numbers = model.fit_.numbers
    names = [str(x) for x in getattr(model, "feature_names_in_", ())]
    names = names or [f"x{k}" for k in range(numbers.coef.shape[1])]
    classes = model.classes_ if len(numbers.coef) > 1 else [None]
    sd, bound = np.atleast_2d(model.coef_sd_), np.atleast_2d(model.coef_bound_)
    band = BAND * np.nan_to_num(np.where(np.isnan(sd), bound, sd))
    words = f"Coefficients of {type(model).__name__}" + (" \u00b1 band" if band.any() else "")
    return _rows(ax, names, numbers.coef, np.stack([band, band]), classes, words)


def plot_intervals(found: Any, ax: Any) -> Any:
    """Draw the intervals of a summary; terms without one, and the intercept, are left out."""
    frame = found.frame[found.frame["refused"].isna() & (found.frame["term"] != "(intercept)")]
    value, low, high = (frame[x].to_numpy()[None] for x in ("estimate", "low", "high"))
    words = f"{found.heading.split(',')[0]}, {100.0 * found.level:g} % intervals"
    reach = np.stack([value - low, high - value])
    return _rows(ax, frame["term"].tolist(), value, reach, [None], words)


def _rows(
    ax: Any, names: Sequence[str], values: Any, reach: Any, classes: Sequence[Any], words: str
) -> Any:
    """Draw `values`, a row a class, and what they `reach` below and above; the largest."""
    kept = np.sort(np.argsort(-np.abs(values).max(axis=0), kind="stable")[:_MOST])
    axes = _axes(ax, 1.2 + 0.26 * len(kept) * max(1.0, 0.5 * len(values)))
    for number, label in enumerate(classes):
        axes.errorbar(
            values[number, kept],
            np.arange(len(kept)) + _shift(number, len(classes)),
            xerr=reach[:, number, kept],
            fmt="o",
            markersize=4,
            capsize=3,
            color=_COLOURS[number % len(_COLOURS)],
            label=None if label is None else _text(label),
        )
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(kept)), [_text(names[place]) for place in kept])
    axes.set_ylim(len(kept) - 0.5, -0.5)
    some = f", the largest {len(kept)} of {len(names)}" if len(kept) < len(names) else ""
    axes.set_title(_text(f"{words}{some}"), fontsize="medium")
    _legend(axes, classes)
    return axes


def _axes(ax: Any, height: float) -> Any:
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=(6.4, height), layout="constrained")[1]


def _of_class(shapes: pd.DataFrame, label: Any) -> pd.DataFrame:
    known = list(dict.fromkeys(shapes["class"])) if "class" in shapes else []
    found = [one for one in known if str(one) == str(label)]
    if not found:
        raise ParameterError(
            f"label={label!r} must be one of the classes of a model of three or more, "
            f"{', '.join(map(str, known)) or 'which this is not'}."
        )
    return shapes[shapes["class"] == found[0]].drop(columns="class")


def _height(shape: pd.DataFrame, part: Column | Cross) -> float:
    if isinstance(part, Column) and part.kind == "number":
        return 3.0
    if isinstance(part, Cross):
        return 4.0
    levels: int = shape["value"].nunique()
    return max(2.0, 0.9 + 0.24 * min(_MOST, levels))


def _draw(
    axes: Any, shape: pd.DataFrame, part: Column | Cross, reach: float | None = None
) -> None:
    """Draw a curve, bars or a map; effects up to `reach` are shown."""
    if isinstance(part, Cross):
        _map(axes, shape, part)
        return
    classes = sorted(set(shape["class"])) if "class" in shape else [None]
    by_class = [shape if x is None else shape[shape["class"] == x] for x in classes]
    if part.kind == "number":
        for number, own in enumerate(by_class):
            _curve(axes, own, part, classes[number], _COLOURS[number % len(_COLOURS)])
        axes.axhline(0.0, color="black", linewidth=0.8)
        axes.set_ylabel("effect")
        axes.set_ylim(None if reach is None else (-reach, reach))
    else:
        names = by_class[0]["value"].tolist()
        size = shape["effect"].abs().groupby(shape["value"]).max()
        names = [x for x in names if x in set(size.nlargest(_MOST).index)]
        for number, own in enumerate(by_class):
            shift = _shift(number, len(classes)), 0.8 / len(classes)
            chosen = own[own["value"].isin(names)]
            _bars(axes, chosen, shift, classes[number], _COLOURS[number % len(_COLOURS)])
        axes.axvline(0.0, color="black", linewidth=0.8)
        axes.set_yticks(range(len(names)), [_text(x) for x in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("effect")
        axes.set_xlim(None if reach is None else (-reach, reach))
    _legend(axes, classes)


def _curve(axes: Any, shape: pd.DataFrame, column: Column, label: Any, colour: str) -> None:
    """Draw a curve with its band; dots are where it is clear."""
    missing, known = (shape[(shape["value"] == _MISSING) == x] for x in (True, False))
    values = known["value"].astype(float).to_numpy()
    if column.transform:
        powers = [0.0, *(10.0**power for power in range(20))]
        marks = [x for x in powers if values[0] <= x <= values[-1]]
        axes.set_xticks(np.log1p(marks), [f"{x:,.0f}" for x in marks], fontsize="small")
        values = np.log1p(values)
    effect, band = (known[name].to_numpy() for name in ("effect", "band"))
    flat = column.shape == "steps" or (column.bins and not column.shape)
    ends = {"color": colour, "alpha": 0.2, "linewidth": 0, "step": "mid" if flat else None}
    axes.fill_between(values, effect - band, effect + band, **ends)
    style = {"color": colour, "drawstyle": "steps-mid" if flat else "default"}
    axes.plot(values, effect, **style, label=None if label is None else _text(label))
    clear = known["clear"].to_numpy(dtype=bool)
    axes.plot(values[clear], effect[clear], "o", color=colour, markersize=4)
    if len(missing):
        (row,) = missing.to_dict(orient="records")
        end = values[-1] + 0.12 * max(float(np.ptp(values)), 1e-300)
        ends = {"yerr": row["band"], "markersize": 5, "capsize": 3}
        fmt = "s" if row["clear"] else "_"
        axes.errorbar(end, row["effect"], color=colour, fmt=fmt, **ends)
        words = {"xycoords": ("data", "axes fraction"), "ha": "center", "fontsize": "small"}
        axes.annotate("missing", (end, 0.02), **words)
        axes.set_xlim(None, end + end - values[-1])


def _bars(
    axes: Any, shape: pd.DataFrame, shift: tuple[float, float], label: Any, colour: str
) -> None:
    """Draw bars, faint if not clear, moved by and as high as `shift` says."""
    axes.barh(
        np.arange(len(shape)) + shift[0],
        shape["effect"],
        shift[1],
        xerr=shape["band"],
        color=[(colour, 1.0 if clear else _FAINT) for clear in shape["clear"]],
        ecolor="#444444",
        error_kw={"capsize": 2, "linewidth": 1.0},
        label=None if label is None else _text(label),
    )


def _shift(number: int, count: int) -> float:
    """Return where a class stands within its row."""
    return 0.8 * ((number + 0.5) / count - 0.5)


def _map(axes: Any, shape: pd.DataFrame, pair: Cross) -> None:
    """Draw a map, faint where the effect is not clear, and with its sign where it is."""
    name = pair.second.name
    if "class" in shape:
        largest = shape.loc[shape["effect"].abs().idxmax(), "class"]
        shape, name = shape[shape["class"] == largest], f"{name} (for {largest})"
    down, across = (list(dict.fromkeys(shape[key])) for key in ("value", "other"))
    signs: list[tuple[tuple[int, int], str]] = []
    grid, opacity = np.full((2, len(down), len(across)), np.nan)
    for row in shape.to_dict(orient="records"):
        place = down.index(row["value"]), across.index(row["other"])
        grid[place], opacity[place] = row["effect"], 1.0 if row["clear"] else _FAINT
        if row["clear"]:
            signs.append((place, "+" if row["effect"] > 0.0 else "\u2212"))
    most = float(np.nanmax(np.abs(grid))) or 1.0
    for place, sign in signs:
        colour = "white" if abs(grid[place]) > 0.6 * most else "black"
        axes.text(place[1], place[0], sign, ha="center", va="center", color=colour)
    look = {"cmap": "RdBu", "vmin": -most, "vmax": most, "aspect": "auto"}
    drawn = axes.imshow(grid, alpha=np.nan_to_num(opacity), **look)
    axes.set_yticks(range(len(down)), [_text(x) for x in down])
    axes.set_xticks(range(len(across)), [_text(x) for x in across], rotation=90)
    axes.set_ylabel(_text(pair.first.name))
    axes.set_xlabel(_text(name))
    axes.figure.colorbar(drawn, ax=axes, label="effect")


def _text(value: Any) -> str:
    """Return a value or name as it is written, not as a formula."""
    return (f"{value:.4g}" if isinstance(value, float) else str(value)).replace("$", r"\$")


def _legend(axes: Any, classes: Sequence[Any]) -> None:
    if len(classes) > 1:
        axes.legend(fontsize="small")
