"""Figures of a column's effect, which need the extra ``plot``."""

from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from dpscd.estimators.purpose import clear_words
from dpscd.preprocessing.declarations import Column, Cross

_COLOUR = "#0072b2"
_ACROSS = 100  # letters of a line below


def shape_figure(
    shape: pd.DataFrame, column: Column | Cross, words: str, file: Path, band: str | None
) -> None:
    """Draw one column or pair, of one class, of :meth:`dpscd.TableModel.shapes` into `file`.

    `words` name the scale of the effect, `band` describes the band (None without noise), and
    the ending of `file` gives the format. Needs the extra ``plot``.
    """
    from matplotlib.figure import Figure

    height = 5.0 if isinstance(column, Cross) else 4.0
    if isinstance(column, Column) and column.kind != "number":
        height = max(2.4, 1.2 + 0.3 * len(shape))
    figure = Figure(figsize=(6.4, height), layout="constrained")
    axes = figure.subplots()
    if isinstance(column, Cross):
        figure.colorbar(_map(axes, shape, column), label="effect")
        signs = f"Signs: {clear_words('effect')}."
        band = signs if band is None else f"{signs} {band}"
    elif column.kind != "number":
        _points(axes, shape)
    else:
        _curve(axes, shape[shape["value"] != "(missing)"], column)
    figure.suptitle(f"{column.name}: effect on {words}", fontsize=11)
    if band is not None:
        figure.supxlabel(fill(band, _ACROSS), fontsize=8)
    figure.savefig(file, dpi=150)


def _curve(axes: Any, shape: pd.DataFrame, column: Column) -> None:
    values = shape["value"].astype(float).to_numpy()
    if column.transform:
        powers = [0.0, *(10.0**power for power in range(20))]
        marks = [x for x in powers if values[0] <= x <= values[-1]]
        axes.set_xticks(np.log1p(marks), [f"{x:,.0f}" for x in marks])
        values = np.log1p(values)
    effect, band = shape["effect"].to_numpy(), shape["band"].to_numpy()
    flat = column.shape == "steps" or (column.bins and not column.shape)
    ends = {"color": _COLOUR, "alpha": 0.2, "linewidth": 0, "step": "mid" if flat else None}
    axes.fill_between(values, effect - band, effect + band, **ends)
    style = "steps-mid" if flat else "default"
    axes.plot(values, effect, "o-", color=_COLOUR, markersize=4, drawstyle=style)
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_xlabel(column.name)
    axes.set_ylabel("effect")


def _points(axes: Any, shape: pd.DataFrame) -> None:
    places = range(len(shape))
    axes.errorbar(
        shape["effect"], places, xerr=shape["band"], fmt="o", color=_COLOUR, capsize=3
    )
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(places, [str(x) for x in shape["value"]])
    axes.invert_yaxis()
    axes.set_xlabel("effect")


def _map(axes: Any, shape: pd.DataFrame, pair: Cross) -> Any:
    """Draw a map, with a sign where the effect is clear, and return its image."""
    down, across = (list(dict.fromkeys(shape[key])) for key in ("value", "other"))
    grid = np.full((len(down), len(across)), np.nan)
    for row in shape.to_dict(orient="records"):
        place = down.index(row["value"]), across.index(row["other"])
        grid[place] = row["effect"]
        if row["clear"]:
            sign = "+" if row["effect"] > 0.0 else "\u2212"
            axes.text(place[1], place[0], sign, ha="center", va="center")
    reach = float(np.nanmax(np.abs(grid)))
    drawn = axes.imshow(grid, cmap="RdBu", vmin=-reach, vmax=reach, aspect="auto")
    axes.set_yticks(range(len(down)), [_short(x) for x in down])
    axes.set_xticks(range(len(across)), [_short(x) for x in across], rotation=90)
    axes.set_ylabel(pair.first.name)
    axes.set_xlabel(pair.second.name)
    return drawn


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
