"""Figures of the comparison by persons: losses against epsilon, and against the best cap."""

from collections.abc import Sequence
from typing import Any

from matplotlib.ticker import FuncFormatter

from dpscd_experiments.comparison import Result
from dpscd_experiments.experiments.persons import MEASURES, verdicts
from dpscd_experiments.opponents.registry import PERSON_METHODS, WEIGHTS
from dpscd_experiments.persons import FLIGHTS, LAWS
from dpscd_experiments.report import mean_and_error
from dpscd_experiments.style import LOOKS, epsilon_axis, new_figure, quick_stamp

__all__ = ["draw_flights", "draw_laws"]

_PANELS = {"squared": "ridge, arrival delay", "logistic": "logistic, late by 15 minutes"}
_AXES = {"squared": "test MSE (minutes$^2$)", "logistic": "test log loss"}
_COLOURS = ("#d55e00", "#0072b2", "#009e73")


def draw_flights(results: Sequence[Result], quick: bool) -> Any:
    """Return the figure of the planes: mean and standard error of all methods."""
    figure, (panels,) = new_figure(10.5, 4.8, 1, 2)
    for axes, (loss, measure) in zip(panels, MEASURES.items(), strict=True):
        own = [one for one in results if one.setting.loss == loss]
        for name, method in PERSON_METHODS.items():
            points = sorted(
                (one.setting.epsilon, *mean_and_error(one.values(measure)))
                for one in own
                if one.method == name and one.rows
            )
            if points:
                at, middle, error = zip(*points, strict=True)
                axes.errorbar(at, middle, error, label=method.label, **LOOKS[name])
        axes.set_yscale("log")
        ticks = (one.setting.epsilon for one in own)
        epsilon_axis(axes, ticks, "epsilon of a plane (of a flight, for the dashed line)")
        for which in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            which(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_ylabel(_AXES[loss])
        axes.set_title(_PANELS[loss])
        axes.grid(alpha=0.3, which="both")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    figure.suptitle(f"{FLIGHTS}: a plane with all flights is what is protected")
    quick_stamp(figure, quick)
    return figure


def draw_laws(results: Sequence[Result], quick: bool) -> Any:
    """Return the figure of generated persons: by how much ours is below the best cap."""
    there = {one.setting.dataset for one in results}
    laws = [law for law in LAWS if law in there]
    epsilons = sorted({one.setting.epsilon for one in results})
    figure, grid = new_figure(11.0, 2.2 + 0.95 * len(laws), 2, 2, sharey=True)
    for line, person in zip(grid, (False, True), strict=True):
        for axes, loss in zip(line, MEASURES, strict=True):
            own = [one for one in results if one.setting.loss == loss]
            _draw_verdicts(axes, own, person, laws, epsilons)
            kind = "persons' means" if person else "test rows"
            axes.set_title(f"{_PANELS[loss].split(',')[0]}, mean over {kind}", fontsize=10)
    for axes in grid[1]:
        axes.set_xlabel("loss below that of the best cap, percent (two standard errors)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(epsilons), fontsize=8)
    figure.suptitle("Generated persons: right of the line ours is better than group privacy")
    quick_stamp(figure, quick)
    return figure


def _draw_verdicts(
    axes: Any,
    results: Sequence[Result],
    person: bool,
    laws: Sequence[str],
    epsilons: Sequence[float],
) -> None:
    ways = [(weight, epsilon) for weight in WEIGHTS for epsilon in epsilons]
    for number, (weight, epsilon) in enumerate(ways):
        found = [
            one
            for one in verdicts(results, weight, person=person)
            if one.result.setting.epsilon == epsilon
        ]
        if not found:
            continue
        shift = 0.8 * ((number + 0.5) / len(ways) - 0.5)
        colour = _COLOURS[epsilons.index(epsilon) % len(_COLOURS)]
        axes.errorbar(
            [100.0 * one.part for one in found],
            [laws.index(one.result.setting.dataset) + shift for one in found],
            xerr=[200.0 * one.part_error for one in found],
            fmt="D" if weight == WEIGHTS[0] else "o",
            color=colour,
            markerfacecolor=colour if weight == WEIGHTS[0] else "white",
            markersize=5,
            linewidth=1.0,
            label=f"{PERSON_METHODS[weight].label}, epsilon {epsilon:g}",
        )
    axes.axvline(0.0, color="black", lw=1.0)
    axes.set_yticks(range(len(laws)), laws)
    axes.set_ylim(len(laws) - 0.5, -0.5)
    for edge in range(1, len(laws)):
        axes.axhline(edge - 0.5, color="0.9", lw=0.8)
    axes.grid(axis="x", alpha=0.3)
