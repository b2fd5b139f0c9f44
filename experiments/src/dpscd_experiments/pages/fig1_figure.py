"""Figure 1: utility against epsilon, the published methods and ours."""

import math
from typing import Any

from dpscd_experiments.experiments.chosen import Chosen, best_by_method
from dpscd_experiments.pages.style import LOOKS, quick_stamp

__all__ = ["draw"]

_TITLES = {
    "msd": "Ridge regression, YearPredictionMSD",
    "nycflights13": "Ridge regression, nycflights13",
    "phishing": "Logistic regression, Phishing",
    "adult": "Support vector machine, Adult",
}
_NAMES = {"mse": "test MSE", "accuracy": "test accuracy"}


def draw(rows: list[dict[str, Any]], quick: bool) -> Any:
    """Return the figure of fig1a, fig1b, fig1c or fig1a-flights."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    chosen = best_by_method(rows)
    by: dict[str, list[Chosen]] = {}
    for one in chosen:
        by.setdefault(one.method, []).append(one)
    figure = Figure(figsize=(7.6, 4.8), layout="constrained")
    axes = figure.subplots()
    for method, points in by.items():
        middles = [one.middle for one in points]
        if not points[0].private:
            axes.axhline(middles[0], label=points[0].label, **LOOKS[method])
            continue
        epsilons = [one.epsilon for one in points]
        axes.plot(epsilons, middles, label=points[0].label, **LOOKS[method])
        low = [min(one.values) for one in points]
        high = [max(one.values) for one in points]
        axes.fill_between(epsilons, low, high, color=LOOKS[method]["color"], alpha=0.12, lw=0)
    ticks = sorted({one.epsilon for one in chosen if one.private})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{epsilon:g}" for epsilon in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    _limit(axes, chosen)
    axes.set_xlabel("epsilon that is claimed (delta = 0.001)")
    axes.set_ylabel(_NAMES[chosen[0].measure])
    dataset = str(rows[0]["dataset"])
    seeds = len(chosen[-1].values)
    axes.set_title(f"{_TITLES.get(dataset, dataset)}\nmedian and range of {seeds} seeds")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    quick_stamp(figure, quick)
    return figure


def _limit(axes: Any, chosen: list[Chosen]) -> None:
    """Show all medians but those far above the rest, which get an arrow and their number.

    A band that leaves the picture is cut.
    """
    finite = [one.middle for one in chosen if math.isfinite(one.middle)]
    low, high = min(finite), max(finite)
    if chosen[0].measure == "mse":  # has no largest value, unlike accuracy
        high = _top(finite)
    room = 0.08 * (high - low) or 1.0
    axes.set_ylim(low - room, high + room)
    for one in chosen:
        if one.middle > high:
            axes.annotate(
                f"{one.middle:.0f} \u2191",
                (one.epsilon, high + room),
                xytext=(6, -12),
                textcoords="offset points",
                fontsize=9,
                color=LOOKS[one.method]["color"],
            )


def _top(values: list[float]) -> float:
    """Return the largest value that does not take more than half of the height alone."""
    kept = sorted(values)
    while len(kept) > 2 and kept[-1] - kept[-2] > 0.5 * (kept[-1] - kept[0]):
        kept.pop()
    return kept[-1]
