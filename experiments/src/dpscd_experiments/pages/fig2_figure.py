"""Figure 2: the primal objective after each epoch."""

from typing import Any

from dpscd_experiments.experiments.fig2 import curves, optimum_of
from dpscd_experiments.pages.style import LOOKS, quick_stamp

__all__ = ["draw"]


def draw(rows: list[dict[str, Any]], quick: bool) -> Any:
    """Return the figure of fig2: one panel an epsilon."""
    from matplotlib.figure import Figure

    lines = curves(rows)
    best = optimum_of(rows)
    epsilons = sorted({one.epsilon for one, _ in lines if one.private})
    figure = Figure(figsize=(10.5, 4.8), layout="constrained")
    panels = figure.subplots(1, len(epsilons), sharey=True, squeeze=False)[0]
    start = max(points[0][2] for _, points in lines)
    highest = start
    for axes, epsilon in zip(panels, epsilons, strict=True):
        for one, points in lines:
            if one.private and one.epsilon != epsilon:
                continue
            epochs, low, middle, high = zip(*points, strict=True)
            look = {**LOOKS[one.method], "marker": None}
            axes.plot(epochs, middle, label=one.label, **look)
            axes.fill_between(epochs, low, high, color=look["color"], alpha=0.12, lw=0)
            highest = max(highest, *middle)
        axes.axhline(best, color="black", linestyle=":", label="optimum")
        axes.set_title(f"epsilon = {epsilon:g}")
        axes.set_xlabel("epoch")
        axes.grid(alpha=0.3)
    room = 0.05 * (highest - best)
    panels[0].set_ylim(best - room, highest + room)
    panels[0].set_ylabel("primal objective on the training rows (not private)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8)
    figure.suptitle("Convergence, ridge regression on YearPredictionMSD: median and range")
    quick_stamp(figure, quick)
    return figure
