"""Figure 2: the primal objective after each epoch, ridge regression on MSD."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from dpscd.privacy.random import source_for
from dpscd.solvers.sdca import sdca
from dpscd_experiments.cells import Cell
from dpscd_experiments.experiment import Spec, settings_of, target
from dpscd_experiments.experiments.fig1 import LABELS, Chosen, best_by_method, setting
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.paper import Diagnostics
from dpscd_experiments.solvers.looks import exact_looks
from dpscd_experiments.store import Row
from dpscd_experiments.style import LOOKS, markdown_table, new_figure, quick_stamp
from dpscd_experiments.sweeps import grid_cells, judged, prepared, tune

_OPTIMUM = "optimum"
_ARRIVED = 1e-4  # of the optimum: closer than this there is no speed to speak of
_EXACT = 1e-9  # duality gap, relative, at which the optimum is taken as known

#: A line of the figure: the configuration and its points (epoch, low, median, high).
Line = tuple[Chosen, list[tuple[float, float, float, float]]]


def _cells(spec: Spec, quick: bool) -> list[Cell]:
    """Return the cells: the sweep of figure 1 again, with the path of the winners."""
    settings = settings_of(spec, quick)
    parameters = {name: settings[name] for name in ("loss", "lam")}
    optimum = Cell(solved, "fig2", settings["dataset"], _OPTIMUM, parameters=parameters)
    return [*grid_cells(settings, "fig2", settings["methods"], traced), optimum]


def traced(cell: Cell) -> Metrics:
    """Tune at one lot size, and follow the objective of the best with all seeds."""
    task, winner = tune(cell)
    models, paths = [], []
    for seed in range(cell.parameters["seeds"]):
        watch = Diagnostics(task.problem, task.rows, task.records)
        models.append(winner.train(seed, watch))
        paths.append([point.primal for point in watch.points])
    of: dict[str, Callable[[Sequence[float]], float]] = {
        "primal": median,
        "primal_low": min,
        "primal_high": max,
    }
    return {
        **judged(task, winner, models),
        **{
            name: list(enumerate(map(middle, zip(*paths, strict=True))))
            for name, middle in of.items()
        },
    }


def solved(cell: Cell) -> Metrics:
    """Return the objective at the optimum, from SCD run until the duality gap vanishes."""
    task = prepared(cell.dataset, cell.parameters["loss"], cell.parameters["lam"])
    watch = Diagnostics(task.problem, task.rows, task.records)
    sdca(
        task.problem, task.rows, task.records, source_for(cell.seed),
        tolerance=_EXACT, max_epochs=10_000, observer=exact_looks(watch),
    )  # fmt: skip
    return {"primal": watch.points[-1].primal}


def optimum_of(rows: Sequence[Row]) -> float:
    """Return the objective at the optimum."""
    return next(float(row["value"]) for row in rows if row["method"] == _OPTIMUM)


def curves(rows: Sequence[Row]) -> list[Line]:
    """Return the line of each method and epsilon, at the lot size that validation chose."""
    lines = []
    for one in best_by_method(rows):
        by: dict[str, dict[float, float]] = {}
        for row in rows:
            if row["cell"] == one.cell and str(row["metric"]).startswith("primal"):
                by.setdefault(row["metric"], {})[row["at"]] = row["value"]
        points = [
            (epoch, by["primal_low"][epoch], middle, by["primal_high"][epoch])
            for epoch, middle in sorted(by["primal"].items())
        ]
        lines.append((one, points))
    return lines


def _text(rows: list[Row], quick: bool) -> str:
    """Return the setting, the table and what agrees with the paper, in Markdown."""
    best = optimum_of(rows)
    lines = curves(rows)
    body = []
    ends: dict[str, dict[float, float]] = {}
    for one, points in lines:
        last = median(point[2] for point in points[-5:])
        above = max(0.0, last - best)
        ends.setdefault(one.method, {})[one.epsilon] = above
        reached = next((p[0] for p in points if p[2] - best <= 2.0 * above), None)
        known = reached is not None and above > _ARRIVED * best
        body.append(
            [
                one.label,
                f"{one.epsilon:g}",
                f"{last:.3f}",
                f"{above:.3f}",
                f"{reached:g}" if known else "",
            ]
        )
    table = markdown_table(
        ["method", "epsilon", "objective", "above the optimum", "epochs to twice that"], body
    )
    notes = []
    for method, by_epsilon in ends.items():
        if len(by_epsilon) > 1:
            inner = sorted(by_epsilon)
            distances = [by_epsilon[epsilon] for epsilon in inner]
            grows = all(a > b for a, b in pairwise(distances))
            verdict = "grows" if grows else "does not grow everywhere"
            notes.append(f"* {LABELS[method]}: the distance {verdict} as epsilon shrinks.")
    head = (
        f"{setting(rows, quick)} The objective of the last model is read off the training "
        f"rows: not private. Median of the last five epochs; the optimum is {best:.4f}."
    )
    return "\n".join([head, "", table, "", *notes, ""])


def _draw(rows: list[Row], quick: bool) -> Any:
    lines = curves(rows)
    best = optimum_of(rows)
    epsilons = sorted({one.epsilon for one, _ in lines if one.private})
    figure, (panels,) = new_figure(10.5, 4.8, 1, len(epsilons), sharey=True)
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


EXPERIMENT = target(_cells, _text, _draw)
