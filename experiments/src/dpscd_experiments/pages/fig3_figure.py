"""Figure 3: MSE against the lot size for several clips."""

from statistics import median
from typing import Any

from dpscd_experiments.experiments.fig3 import valley, valleys
from dpscd_experiments.pages.style import quick_stamp

__all__ = ["draw"]

_MARKERS = "ovs^Dd<>ph"
_TOP = 1.35  # of the least MSE; beyond it there is nothing to choose


def draw(rows: list[dict[str, Any]], quick: bool) -> Any:
    """Return the figure of fig3."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    found = valleys(rows)
    least = min(valley(points)[0] for points in found.values())
    figure = Figure(figsize=(7.6, 4.8), layout="constrained")
    axes = figure.subplots()
    for number, (clip, points) in enumerate(found.items()):
        colour = colormaps["viridis"](0.92 * number / max(1, len(found) - 1))
        sizes = [size for size, _ in points]
        middles = [median(values) for _, values in points]
        marker = _MARKERS[number % len(_MARKERS)]
        axes.plot(sizes, middles, marker=marker, color=colour, label=f"C = {clip:g}")
        low = [min(values) for _, values in points]
        high = [max(values) for _, values in points]
        axes.fill_between(sizes, low, high, color=colour, alpha=0.1, lw=0)
        height, place = valley(points)
        axes.plot([place], [height], marker="o", ms=13, mfc="none", mec=colour, lw=0)
    axes.set_xscale("log")
    axes.set_ylim(0.98 * least, _TOP * least)
    axes.set_xlabel("lot size L")
    axes.set_ylabel("test MSE")
    axes.set_title(
        f"DP-SCD as published, {rows[0]['dataset']}, epsilon = {rows[0]['epsilon']:g}\n"
        "median and range; a ring marks the least MSE of each C"
    )
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    quick_stamp(figure, quick)
    return figure
