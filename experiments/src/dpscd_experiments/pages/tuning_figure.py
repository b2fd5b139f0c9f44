"""The figure of the tuning cost: time of one configuration, and of the whole grid."""

from statistics import median
from typing import TYPE_CHECKING, Any

from dpscd_experiments.experiments.picking import pick, values
from dpscd_experiments.experiments.tuning import OURS, TUNED, grid_seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

_COLOURS = {"dp-scd": "#d55e00", "dp-sgd": "#009e73", OURS: "#0072b2"}


def draw(rows: list[dict[str, Any]], quick: bool) -> "Figure":
    """Draw the rows of the target 'tuning'."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_each(left, rows)
    _draw_grid(right, rows)
    note = " (quick: fewer configurations and seeds)" if quick else ""
    figure.suptitle(f"Tuning cost on Adult, SVM{note}")
    return figure


def _draw_each(axes: Any, rows: list[dict[str, Any]]) -> None:
    for method in TUNED:
        found = pick(rows, "seconds_each", method=method)
        lots = sorted({row["param.lot_size"] for row in found})
        by_lot = [values(found, "seconds_each", lot_size=L) for L in lots]
        colour = _COLOURS[method]
        axes.plot(lots, [median(at) for at in by_lot], "o-", ms=4, color=colour, label=method)
        low, high = [min(at) for at in by_lot], [max(at) for at in by_lot]
        axes.fill_between(lots, low, high, color=colour, alpha=0.2, lw=0)
    own = values(rows, "seconds_each", method=OURS)
    if own:
        label = f"{OURS} (100 epochs)"
        axes.axhline(median(own), color=_COLOURS[OURS], ls="--", lw=1.4, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("lot size L")
    axes.set_ylabel("processor seconds of one configuration")
    axes.set_title("One fit; band: range over seeds", fontsize=9)
    axes.legend(fontsize=8)


def _draw_grid(axes: Any, rows: list[dict[str, Any]]) -> None:
    totals = []
    for method in TUNED:
        found = pick(rows, "seconds_each", method=method)
        seeds = sorted({row["seed"] for row in found})
        totals.append([grid_seconds(rows, method, seed) for seed in seeds])
    totals.append(values(rows, "seconds_each", method=OURS))
    names = [*TUNED, OURS]
    counts = [int(values(rows, "configurations", method=name)[0]) for name in names]
    heights = [median(at) for at in totals]
    errors = [
        [middle - min(at) for middle, at in zip(heights, totals, strict=True)],
        [max(at) - middle for middle, at in zip(heights, totals, strict=True)],
    ]
    colours = [_COLOURS[name] for name in names]
    bars = axes.bar(names, heights, yerr=errors, color=colours, error_kw={"lw": 1.0})
    words = [
        f"{count} configuration{'s' if count > 1 else ''}\n{height:.1f} s"
        for count, height in zip(counts, heights, strict=True)
    ]
    axes.bar_label(bars, words, fontsize=8, padding=2)
    axes.set_yscale("log")
    axes.set_ylim(0.3 * min(heights), 8.0 * max(heights))
    axes.set_ylabel("processor seconds of the whole grid")
    axes.set_title("The grid, one seed and one epsilon; scaled from a sample", fontsize=9)
