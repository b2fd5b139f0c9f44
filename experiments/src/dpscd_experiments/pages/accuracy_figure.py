"""Figures of the accuracy bench: a metric against epsilon, and calibration curves."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import Any

from dpscd_experiments.experiments.accuracy import Result
from dpscd_experiments.opponents.registry import METHODS, Method
from dpscd_experiments.opponents.setting import measure_of
from dpscd_experiments.pages.style import LOOKS, quick_stamp

__all__ = ["draw", "draw_calibration", "quartiles"]

_NAMES = {"mse": "test MSE", "accuracy": "test accuracy", "auc": "test AUC", "r2": "test R2"}
_LEVELS = ("plain", "ebm", "boosting")  # not private: the same at every epsilon
_BINS = 10


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the first quartile, the median and the third; infinite where a run broke."""
    whole = [math.inf if math.isnan(value) else value for value in values]
    if len(whole) == 1 or not all(map(math.isfinite, whole)):
        ordered = sorted(whole)
        last = len(ordered) - 1
        return ordered[last // 4], ordered[last // 2], ordered[math.ceil(0.75 * last)]
    low, middle, high = quantiles(whole, n=4, method="inclusive")
    return low, middle, high


def draw(
    results: Sequence[Result],
    quick: bool,
    known: Mapping[str, Method] = METHODS,
    measure: str | None = None,
) -> Any:
    """Return the figure of one problem: median and quartiles of all methods."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    setting = results[0].setting
    measure = measure or measure_of(setting.loss)
    figure = Figure(figsize=(8.4, 4.8), layout="constrained")
    axes = figure.subplots()
    middles: list[tuple[str, float, float]] = []
    for method, own in known.items():
        points = sorted(
            (one.setting.epsilon, *quartiles(one.values(measure)))
            for one in results
            if one.method == method and one.rows
        )
        if not points:
            continue
        if method in _LEVELS:
            points = points[:1]  # a line across the figure counts once
        epsilons, low, middle, high = zip(*points, strict=True)
        middles += [
            (method, epsilon, value)
            for epsilon, value in zip(epsilons, middle, strict=True)
            if math.isfinite(value)
        ]
        if method in _LEVELS:
            axes.axhline(middle[0], label=own.label, **LOOKS[method])
            continue
        axes.plot(epsilons, middle, label=own.label, **LOOKS[method])
        axes.fill_between(epsilons, low, high, color=LOOKS[method]["color"], alpha=0.15, lw=0)
    ticks = sorted({one.setting.epsilon for one in results})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{epsilon:g}" for epsilon in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    _limit(axes, middles, measure)
    axes.set_xlabel(f"epsilon (delta = {setting.delta:g})")
    axes.set_ylabel(_NAMES[measure])
    seeds = max(len(one.values(measure)) for one in results)
    axes.set_title(f"{setting.problem}\nmedian and quartiles of {seeds} seeds")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    quick_stamp(figure, quick)
    return figure


def draw_calibration(results: Sequence[Result], quick: bool) -> Any:
    """Return the calibration curves of a logistic problem at one epsilon."""
    from matplotlib.figure import Figure

    setting = results[0].setting
    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.7", lw=1)
    for one in results:
        curve = _mean_curve(one.curve("calibration"))
        if curve:
            at, observed = zip(*curve, strict=True)
            axes.plot(at, observed, label=METHODS[one.method].label, **LOOKS[one.method])
    axes.set_xlabel("predicted probability")
    axes.set_ylabel("part that is positive")
    axes.set_title(
        f"{setting.problem}, epsilon {setting.epsilon:g}: mean of {setting.seeds} seeds"
    )
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    quick_stamp(figure, quick)
    return figure


def _mean_curve(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return one point a bin: the means over seeds."""
    bins: dict[int, list[tuple[float, float]]] = {}
    for at, value in points:
        bins.setdefault(min(_BINS - 1, int(_BINS * at)), []).append((at, value))
    return [
        (sum(at for at, _ in inside) / len(inside), sum(v for _, v in inside) / len(inside))
        for _, inside in sorted(bins.items())
    ]


def _limit(axes: Any, middles: Sequence[tuple[str, float, float]], measure: str) -> None:
    """Leave out medians far worse than the rest; an arrow and their number remain."""
    rises = measure != "mse"
    ordered = sorted((value for _, _, value in middles), reverse=rises)  # best first
    best, usual = ordered[0], ordered[(2 * (len(ordered) - 1)) // 3]
    reach = 2.0 * abs(usual - best) or 1.0
    kept = [value for value in ordered if abs(value - best) <= reach]
    room = 0.08 * (max(kept) - min(kept)) or 0.01
    low, high = min(kept) - room, max(kept) + room
    axes.set_ylim(low, high)
    above: Counter[float] = Counter()  # numbers that stand at an epsilon already
    for method, epsilon, value in middles:
        if not low <= value <= high:
            away = 12 * above[epsilon] + (6 if rises else 12)
            above[epsilon] += 1
            axes.annotate(
                f"{value:.2f} \u2193" if rises else f"{value:.0f} \u2191",
                (epsilon, low if rises else high),
                xytext=(6, away if rises else -away),
                textcoords="offset points",
                fontsize=9,
                color=LOOKS[method]["color"],
            )
