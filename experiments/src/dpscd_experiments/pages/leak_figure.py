"""The figure of the leak: lower bounds on epsilon against the claim, and Lemma 1."""

from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from dpscd_experiments.experiments.leak import OURS, VARIANTS
from dpscd_experiments.experiments.lemma1 import SEARCHES
from dpscd_experiments.experiments.picking import pick, values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

_COLOURS = ("#d55e00", "#e69f00", "#56b4e9", "#0072b2")
_SEARCH_COLOURS = ("#009e73", "#d55e00", "#0072b2")


def draw(rows: list[dict[str, Any]], quick: bool) -> "Figure":
    """Draw the rows of the target 'leak'."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.6, 1.0))
    _draw_bounds(left, rows)
    _draw_search(right, rows)
    note = " (quick: fewer canaries and values of epsilon)" if quick else ""
    figure.suptitle(f"Algorithm 1 with duals in sight, and Lemma 1{note}")
    return figure


def _draw_bounds(axes: Any, rows: list[dict[str, Any]]) -> None:
    epsilons = sorted({row["epsilon"] for row in rows if row["metric"] == "claimed"})
    methods = [name for name, _, _ in VARIANTS] + [OURS]
    kinds = ("epsilon_gaussian", "epsilon_clopper_pearson")
    width = 0.8 / (len(methods) * len(kinds))
    floor = 0.5 * min(epsilons, default=1.0)
    for number, method in enumerate(methods):
        for side, kind in enumerate(kinds):
            found = [values(rows, kind, method=method, epsilon=epsilon) for epsilon in epsilons]
            middle = np.array([median(numbers) for numbers in found])
            spread = np.array([(min(numbers), max(numbers)) for numbers in found]).T
            place = (2 * number + side - (2 * len(methods) - 1) / 2) * width
            axes.bar(
                np.arange(len(epsilons)) + place,
                np.maximum(middle, floor),
                0.92 * width,
                color=_COLOURS[number],
                alpha=1.0 if side == 0 else 0.5,
                yerr=np.abs(np.maximum(spread, floor) - np.maximum(middle, floor)),
                error_kw={"lw": 0.8},
                label=method if side == 0 else None,
            )
    for place, epsilon in enumerate(epsilons):
        ends = (place - 0.45, place + 0.45)
        label = {"label": "the claim"} if place == 0 else {}
        axes.plot(ends, (epsilon, epsilon), color="black", lw=1.8, **label)
        theory = values(rows, "theory", epsilon=epsilon)
        if theory:
            label = {"label": "visible duals, in theory"} if place == 0 else {}
            axes.plot(ends, (theory[0], theory[0]), color="black", lw=1.2, ls=":", **label)
    axes.set_yscale("log")
    axes.set_ylim(floor, 1.0e3)
    axes.set_xticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
    axes.set_xlabel("claimed epsilon")
    axes.set_ylabel("lower bound on epsilon, 95 %")
    axes.set_title(
        "Full: Gaussian bound; pale: counting bound; no bar: none above the axis", fontsize=9
    )
    axes.legend(fontsize=8, ncols=2, loc="upper center")


def _draw_search(axes: Any, rows: list[dict[str, Any]]) -> None:
    for search, colour in zip(SEARCHES, _SEARCH_COLOURS, strict=True):
        for seed in sorted({row["seed"] for row in pick(rows, "search", method=search)}):
            curve = pick(rows, "search", method=search, seed=seed)
            tried, best = np.array([(row["at"], row["value"]) for row in curve]).T
            label = {"label": search} if seed == 0 else {}
            axes.step(tried, best, where="post", color=colour, lw=1.4, **label)
    limits = ((1.0, "C"), (np.sqrt(2.0), "sqrt(2) C, Lemma 1"), (np.sqrt(5.0), "sqrt(5) C"))
    place = axes.get_yaxis_transform()
    for height, name in limits:
        axes.axhline(height, color="black", lw=1.0, ls=":")
        axes.text(0.98, height + 0.02, name, fontsize=8, ha="right", transform=place)
    axes.set_xscale("log")
    axes.set_ylim(0.0, 2.5)
    axes.set_xlabel("random states tried")
    axes.set_ylabel("largest change of one lot, in units of C")
    axes.set_title("Sensitivity when a record is zeroed out", fontsize=9)
    axes.legend(fontsize=8, loc="lower right")
