"""Figures, which need the extra ``plot``: of a column's effect, and of an audit."""

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from dpscd.audit.audit import AuditResult
from dpscd.audit.bounds import claimed_mu, trade_off
from dpscd.estimators.purpose import clear_words
from dpscd.preprocessing.declarations import Column, Cross

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
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
    ends = {"color": _COLOURS[0], "alpha": 0.2, "linewidth": 0, "step": "mid" if flat else None}
    axes.fill_between(values, effect - band, effect + band, **ends)
    style = "steps-mid" if flat else "default"
    axes.plot(values, effect, "o-", color=_COLOURS[0], markersize=4, drawstyle=style)
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set_xlabel(column.name)
    axes.set_ylabel("effect")


def _points(axes: Any, shape: pd.DataFrame) -> None:
    places = range(len(shape))
    axes.errorbar(
        shape["effect"], places, xerr=shape["band"], fmt="o", color=_COLOURS[0], capsize=3
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


def audit_figure(results: Mapping[str, Mapping[str, AuditResult]], file: Path) -> None:
    """Draw results, given by model and kind of attack; needs the extra ``plot``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    _draw_bounds(left, results)
    _draw_roc(right, results)
    first = _first(results)
    figure.suptitle(
        f"Audit at epsilon {first.epsilon_claimed:g}, delta {first.delta:g}: "
        f"{first.trials:,} canaries in each world, {first.confidence:.0%} confidence"
    )
    figure.savefig(file, dpi=150)


def _first(results: Mapping[str, Mapping[str, AuditResult]]) -> AuditResult:
    return next(iter(next(iter(results.values())).values()))


def _draw_bounds(axes: Any, results: Mapping[str, Mapping[str, AuditResult]]) -> None:
    claimed = _first(results).epsilon_claimed
    axes.axhline(claimed, color="black", linewidth=1.5, label="claimed")
    kinds = list(next(iter(results.values())))
    bars = [(kind, bound) for kind in kinds for bound in ("Gaussian", "Clopper-Pearson")]
    width = 0.8 / len(bars)
    for number, (kind, bound) in enumerate(bars):
        name = "epsilon_lower" + ("" if bound == "Gaussian" else "_clopper_pearson")
        heights = [getattr(by_kind[kind], name) for by_kind in results.values()]
        places = np.arange(len(results)) + (number - (len(bars) - 1) / 2) * width
        drawn = axes.bar(
            places,
            heights,
            0.9 * width,
            color=_COLOURS[kinds.index(kind)],
            alpha=1.0 if bound == "Gaussian" else 0.45,
            label=f"{kind}, {bound}",
        )
        axes.bar_label(drawn, fmt="%.2f", fontsize=8, padding=2)
    axes.set_xticks(range(len(results)), list(results))
    axes.set_ylim(0.0, 1.45 * max(claimed, axes.get_ylim()[1] / 1.1))
    axes.set_ylabel("epsilon: claim and lower bounds")
    axes.set_title("Claimed against measured")
    axes.legend(fontsize=8, ncols=2, loc="upper center")


def _draw_roc(axes: Any, results: Mapping[str, Mapping[str, AuditResult]]) -> None:
    """Draw the advantage TPR - FPR: the ROC itself would be too close to the diagonal."""
    first = _first(results)
    mu = claimed_mu(first.epsilon_claimed, first.delta)
    grid = np.linspace(0.0, 1.0, 400)
    limit = trade_off(grid, mu) - grid
    highest = limit.max()
    for (model, by_kind), colour in zip(results.items(), _COLOURS, strict=False):
        for kind, result in by_kind.items():
            fpr, tpr = np.array(result.roc).T
            style = "-" if kind == "white-box" else "--"
            axes.plot(fpr, tpr - fpr, style, color=colour, lw=1.2, label=f"{model}, {kind}")
            highest = max(highest, (tpr - fpr).max())
    axes.plot(grid, limit, color="black", linewidth=1.5, label=f"the claim, mu = {mu:.3f}")
    # Where the ROC of a mechanism exactly at the limit lies, point by point.
    variance = (grid * (1.0 - grid) + (grid + limit) * (1.0 - grid - limit)) / first.trials
    spread = 1.96 * np.sqrt(np.maximum(variance, 0.0))
    band = {"color": "black", "alpha": 0.12, "linewidth": 0, "label": "... 95 % of samples"}
    axes.fill_between(grid, limit - spread, limit + spread, **band)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.15 * highest)
    axes.set_xlabel("false positive rate")
    axes.set_ylabel("true positive rate - false positive rate")
    axes.set_title("ROC against the trade-off curve of the claim")
    axes.legend(fontsize=8, ncols=2, loc="lower center")
