"""The figure of the bench of features: accuracy against epsilon."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from dpscd_bench.experiments.accuracy import Result
from dpscd_bench.opponents.feature_registry import FEATURE_METHODS
from dpscd_bench.pages.features_page import PUBLISHED, TITLES
from dpscd_bench.pages.style import LOOKS, quick_stamp

__all__ = ["draw"]

_MARKS = ("*", "P", "X", "h")


def draw(results: Sequence[Result], quick: bool) -> Any:
    """Return the figure: means over seeds with two standard errors, and published numbers.

    Parameters
    ----------
    results : sequence of Result
        Those with rows.
    quick : bool
        Whether they are of a quick run.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    names = [name for name in TITLES if any(one.setting.dataset == name for one in results)]
    figure = Figure(figsize=(1.5 + 4.7 * len(names), 4.8), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        own = [one for one in results if one.setting.dataset == name]
        for method, words in FEATURE_METHODS.items():
            points = sorted(
                (one.setting.epsilon, *_mean_and_error(one.values("accuracy")))
                for one in own
                if one.method == method
            )
            if points:
                at, middle, error = zip(*points, strict=True)
                axes.errorbar(
                    at,
                    middle,
                    [2.0 * one for one in error],
                    label=words.label,
                    capsize=2,
                    markersize=5,
                    **LOOKS[method],
                )
        ticks = {one.setting.epsilon for one in own}
        for mark, one in zip(_MARKS, PUBLISHED, strict=True):
            known = [(at, value) for at, value in one.values.items() if one.dataset == name]
            if known:
                axes.plot(*zip(*known, strict=True), mark, color="black", label=one.label, ms=8)
                ticks |= {at for at, _ in known}
        axes.set_xscale("log")
        axes.set_xticks(sorted(ticks), [f"{epsilon:g}" for epsilon in sorted(ticks)])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("epsilon (delta 1e-5)")
        axes.set_ylabel("test accuracy (bars: two standard errors)")
        axes.set_title(TITLES[name])
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right", fontsize=8)
    figure.suptitle("Fashion-MNIST: a linear classifier, ours untuned, DP-SGD tuned")
    quick_stamp(figure, quick)
    return figure


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return fmean(values), error
