"""The figure of the bench of features: accuracy against epsilon."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from dpscd_experiments.experiments.accuracy import Result
from dpscd_experiments.opponents.feature_registry import FEATURE_METHODS
from dpscd_experiments.opponents.registry import OURS
from dpscd_experiments.pages.features_page import PUBLISHED, TITLES
from dpscd_experiments.pages.parts import cells_of
from dpscd_experiments.pages.regret import best_rival
from dpscd_experiments.pages.style import LOOKS, quick_stamp

__all__ = ["draw"]

_MARKS = ("*", "P", "X", "h")

# Side by side: what is multiplied with epsilon to tell points apart.
_ASIDE = {OURS: 1.0, "dp-sgd": 0.975}
_PUBLISHED_ASIDE = (1.03, 1.03, 1.06, 1.03)


def draw(results: Sequence[Result], quick: bool) -> Any:
    """Return the figure: means over seeds with two standard errors, and published numbers."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    names = [name for name in TITLES if any(one.setting.dataset == name for one in results)]
    figure = Figure(figsize=(1.5 + 4.7 * len(names), 4.8), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        own = [one for one in results if one.setting.dataset == name]
        _draw_finalists(axes, own)
        rivals = [best_rival(cell.values(), FEATURE_METHODS) for cell in cells_of(own).values()]
        mine = [one for one in own if one.method == OURS]
        for look, label, chosen in (
            ("dp-sgd", "DP-SGD, tuned, the best of three", rivals),
            (OURS, FEATURE_METHODS[OURS].label, mine),
        ):
            points = sorted(
                (
                    one.setting.epsilon * _ASIDE[look],
                    *_mean_and_error(one.values("accuracy")),
                )
                for one in chosen
                if one is not None
            )
            if points:
                at, middle, error = zip(*points, strict=True)
                axes.errorbar(
                    at,
                    middle,
                    [2.0 * one for one in error],
                    label=label,
                    capsize=3,
                    markersize=5,
                    **LOOKS[look],
                )
        ticks = {one.setting.epsilon for one in own}
        for mark, aside, one in zip(_MARKS, _PUBLISHED_ASIDE, PUBLISHED, strict=True):
            own_values = one.values.items() if one.dataset == name else ()
            known = [(at * aside, value) for at, value in own_values]
            if known:
                axes.plot(*zip(*known, strict=True), mark, color="0.35", label=one.label, ms=7)
                ticks |= one.values.keys()
        axes.set_xscale("log")
        axes.set_xticks(sorted(ticks), [f"{epsilon:g}" for epsilon in sorted(ticks)])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("epsilon (delta 1e-5)")
        axes.set_ylabel("test accuracy (bars: two standard errors)")
        axes.set_title(TITLES[name])
        axes.grid(alpha=0.3)
        handles, labels = axes.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda at: not hasattr(handles[at], "has_yerr"))
        axes.legend(
            [handles[at] for at in order],
            [labels[at] for at in order],
            loc="lower right",
            fontsize=8,
        )
    figure.suptitle("Fashion-MNIST: a linear classifier, ours untuned, DP-SGD tuned")
    quick_stamp(figure, quick)
    return figure


def _draw_finalists(axes: Any, results: Sequence[Result]) -> None:
    """Draw the means of all settings of DP-SGD that were run with all seeds."""
    points = [
        (one.setting.epsilon * _ASIDE["dp-sgd"], fmean(one.values("accuracy")))
        for one in results
        if FEATURE_METHODS[one.method].rival
    ]
    if points:
        look = {"color": LOOKS["dp-sgd"]["color"], "fillstyle": "none", "markersize": 5}
        label = "DP-SGD, all three"
        axes.plot(*zip(*points, strict=True), "s", label=label, **look)


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return fmean(values), error
