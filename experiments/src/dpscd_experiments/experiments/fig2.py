"""Figure 2: the primal objective after each epoch, ridge regression on MSD."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from dpscd.privacy.random import source_for
from dpscd.solvers.sdca import sdca
from dpscd_experiments.cells import Cell
from dpscd_experiments.experiments.chosen import (
    LABELS,
    Chosen,
    best_by_method,
    markdown_table,
    setting,
)
from dpscd_experiments.experiments.specs import settings_of
from dpscd_experiments.experiments.sweeps import grid_cells, tune
from dpscd_experiments.experiments.training import prepared
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.paper import Diagnostics

__all__ = ["OPTIMUM", "cells", "curves", "optimum_of", "text"]

OPTIMUM = "optimum"

_ARRIVED = 1e-4  # of the optimum: closer than this there is no speed to speak of
_EXACT = 1e-9  # duality gap, relative, at which the optimum is taken as known

#: A line of the figure: the configuration and its points (epoch, low, median, high).
Line = tuple[Chosen, list[tuple[float, float, float, float]]]


def cells(spec: Mapping[str, Any], quick: bool) -> list[Cell]:
    """Return the cells: the sweep of figure 1 again, with the path of the winners."""
    settings = settings_of(spec, quick)
    optimum = Cell(
        function=solved,
        experiment=settings["target"],
        dataset=settings["dataset"],
        method=OPTIMUM,
        parameters={name: settings[name] for name in ("loss", "lam")},
    )
    return [*grid_cells(settings, settings["target"], settings["methods"], traced), optimum]


def traced(cell: Cell) -> Metrics:
    """Tune at one lot size, and follow the objective of the best with all seeds."""
    task, winner = tune(cell)
    models, paths = [], []
    for seed in range(int(str(cell.parameters["seeds"]))):
        watch = Diagnostics(task.problem, task.rows, task.records)
        models.append(winner.train(seed, watch))
        paths.append([point.primal for point in watch.points])
    tests = [(float(seed), task.score(model, "test")) for seed, model in enumerate(models)]
    by_epoch = list(enumerate(zip(*paths, strict=True)))
    return {
        task.measure: tests,
        "validation": median(task.score(model, "validation") for model in models),
        "clip": winner.config.clip,
        "learning_rate": winner.config.learning_rate,
        "sigma": winner.sigma,
        "tried": winner.tried,
        "primal": [(epoch, median(values)) for epoch, values in by_epoch],
        "primal_low": [(epoch, min(values)) for epoch, values in by_epoch],
        "primal_high": [(epoch, max(values)) for epoch, values in by_epoch],
    }


def solved(cell: Cell) -> Metrics:
    """Return the objective at the optimum, from SCD run until the duality gap vanishes."""
    loss, lam = str(cell.parameters["loss"]), float(str(cell.parameters["lam"]))
    task = prepared(cell.dataset, loss, lam)
    watch = Diagnostics(task.problem, task.rows, task.records)
    sdca(
        task.problem, task.rows, task.records, source_for(cell.seed),
        tolerance=_EXACT, max_epochs=10_000, observer=watch,
    )  # fmt: skip
    return {"primal": watch.points[-1].primal}


def optimum_of(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the objective at the optimum."""
    return next(float(row["value"]) for row in rows if row["method"] == OPTIMUM)


def curves(rows: Sequence[Mapping[str, Any]]) -> list[Line]:
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


def text(rows: list[dict[str, Any]], quick: bool) -> str:
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
