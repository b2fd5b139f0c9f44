"""What tuning costs: numbers of configurations, and measured time on a real data set."""

import math
import time
from statistics import mean, median
from typing import Any

import numpy as np

from dpscd.estimators.svc import DPLinearSVC
from dpscd.kernels.dual import Records
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd_experiments.datasets import load_dataset
from dpscd_experiments.experiments.picking import median_and_range, pick, values
from dpscd_experiments.experiments.specs import settings_of
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.paper.methods import METHODS
from dpscd_experiments.paper.moments import moments_epsilon
from dpscd_experiments.paper.algorithms import LOSSES, Settings
from dpscd_experiments.paper.theory import LOT_SIZES
from dpscd_experiments.runner import Cell

__all__ = ["OURS", "TUNED", "cells", "grid_seconds", "text", "time_ours", "time_published"]

#: The private methods that the paper tunes, in the text on tuning cost.
TUNED = ("dp-scd", "dp-sgd")

#: Our estimator with everything left to its rule.
OURS = "ours, untuned"


def cells(spec: dict[str, Any], quick: bool) -> list[Cell]:
    """Return the cells: a method, a lot size and a seed each; and ours."""
    chosen = settings_of(spec, quick)
    setting = {name: chosen[name] for name in ("loss", "lam", "epochs")}
    privacy = {"epsilon": chosen["epsilon"], "delta": chosen["delta"]}
    clips = " ".join(map(str, chosen["clips"]))
    rates = " ".join(map(str, chosen["learning_rates"]))
    made = []
    for seed in chosen["seeds"]:
        for method in TUNED:
            sample = {"clips": clips}
            if "learning_rate" in METHODS[method].tuned:
                sample["learning_rates"] = rates
            made += [
                Cell(
                    time_published,
                    "tuning",
                    chosen["dataset"],
                    method,
                    seed=seed,
                    parameters={**setting, **sample, "lot_size": lot_size},
                    **privacy,
                )
                for lot_size in chosen["lot_sizes"]
            ]
        made.append(Cell(time_ours, "tuning", chosen["dataset"], OURS, seed=seed, **privacy))
    return made


def time_published(cell: Cell) -> Metrics:
    """Time one configuration: the mean over a sample of clips and learning rates.

    Compiling is not counted; neither is the search for sigma, which is the same for all
    configurations of a lot size and is given on its own. Times are of the processor, which
    other work on the machine does not lengthen; the wall clock is given next to them.
    """
    public: Any = cell.parameters
    data = load_dataset(cell.dataset)
    problem = Problem(LOSSES[public["loss"]], public["lam"], *data.X.shape)
    rows = problem.rows(data.X)
    records = Records(data.y.astype(np.float64), np.ones(len(data.y)))
    method = METHODS[cell.method]
    base = Settings(public["epochs"], public["lot_size"], clip=1.0)
    moments_epsilon.cache_clear()  # of cells before this one
    start = time.process_time()
    base = method.calibrated(problem, base, cell.epsilon, cell.delta)
    calibration = time.process_time() - start
    sample = [
        Settings(base.epochs, base.lot_size, float(clip), base.sigma, base.lots, float(rate))
        for clip in public["clips"].split()
        for rate in public.get("learning_rates", "1").split()
    ]
    short = Settings(1, records.labels.size, 1.0, base.sigma)  # compiles
    method.run(problem, rows, records, short, SeededSource(b"tuning"))
    taken, waited = [], []
    for number, settings in enumerate(sample):
        source = SeededSource(f"tuning {cell.key} {number}".encode())
        start, wall = time.process_time(), time.perf_counter()
        method.run(problem, rows, records, settings, source)
        taken.append(time.process_time() - start)
        waited.append(time.perf_counter() - wall)
    rate, steps = method.rate_and_steps(problem, base)
    return {
        "seconds_each": mean(taken),
        "wall_each": mean(waited),
        "calibration": calibration,
        "configurations": float(method.tuning_cost),
        "epsilon_of_all": moments_epsilon(
            cell.delta, base.sigma, rate, steps * method.tuning_cost
        ),
    }


def time_ours(cell: Cell) -> Metrics:
    """Time a fit of the estimator that needs no tuning, calibration of the noise included."""
    data = load_dataset(cell.dataset)
    taken = waited = 0.0
    for _ in range(2):  # the first compiles
        model = DPLinearSVC(
            cell.epsilon, delta=cell.delta, random_state=cell.seed, **data.fit_parameters
        )
        start, wall = time.process_time(), time.perf_counter()
        model.fit(data.X, data.y)
        taken, waited = time.process_time() - start, time.perf_counter() - wall
    return {"seconds_each": taken, "wall_each": waited, "configurations": 1.0}


def grid_seconds(rows: list[dict[str, Any]], method: str, seed: int) -> float:
    """Return the time of a method's whole grid, scaled from the sample of one seed.

    Lot sizes that were not timed take what lies between their neighbours, on a
    logarithmic scale; the paper's lot size 0, which cannot be run, takes nothing.
    """
    timed = sorted(
        (row["param.lot_size"], row["value"])
        for row in pick(rows, "seconds_each", method=method, seed=seed)
    )
    sizes, seconds = np.log(np.array(timed)).T
    runnable = [L for L in LOT_SIZES if L > 0]
    each = np.exp(np.interp(np.log(runnable), sizes, seconds))
    per_lot_size = METHODS[method].tuning_cost // len(LOT_SIZES)
    return float(per_lot_size * each.sum())


def text(rows: list[dict[str, Any]], quick: bool) -> str:
    """Return what the rows say, as Markdown."""
    lines, totals = [], {}
    for method in (*TUNED, OURS):
        found = pick(rows, "seconds_each", method=method)
        if method == OURS:
            totals[method] = values(found, "seconds_each")
            spent = [float(row["epsilon"]) for row in found]
        else:
            seeds = sorted({row["seed"] for row in found})
            totals[method] = [grid_seconds(rows, method, seed) for seed in seeds]
            spent = values(rows, "epsilon_of_all", method=method)
        wall = 1000.0 * median(values(rows, "wall_each", method=method))
        each = median_and_range([1000.0 * row["value"] for row in found], 0)
        lines.append(
            f"| {method} | {values(rows, 'configurations', method=method)[0]:.0f} | {each} "
            f"| {wall:.0f} | {median_and_range(totals[method], 1)} "
            f"| {min(spent):.1f} to {max(spent):.1f} |"
        )
    ratio = median(totals["dp-sgd"]) / median(totals["dp-scd"])
    count = METHODS["dp-sgd"].tuning_cost / METHODS["dp-scd"].tuning_cost
    body = "\n".join(lines)
    calibration = median(values(rows, "calibration"))
    return f"""\
Tuning cost{" (quick)" if quick else ""}.
Training on Adult, SVM, 10 epochs (ours: 100); median, and range over lot sizes and seeds for
one configuration, over seeds for the grid. Times are of the processor, single-threaded: the
wall clock of a core that does nothing else. The grid is scaled from a sample, one seed and one
epsilon; the paper's 4 values of epsilon and 10 seeds are 40 times that.

| method | configurations | ms each | on the wall clock | grid, seconds | epsilon if all count |
|---|---|---|---|---|---|
{body}

The grid of DP-SGD is {count:.0f} times larger and takes {ratio:.1f} times longer. One
configuration takes about as long in both: the difference is the number of them. Both counts
include a lot size of 0, which cannot be run ({_runnable("dp-scd")} and {_runnable("dp-sgd")}
configurations remain). The search for sigma, once for each lot size and epsilon, takes
{calibration:.2f} s more. The last column composes all configurations at the published noise,
by lot size: what the grid would cost if every model it trains were released. The paper does
not count it.
"""


def _runnable(method: str) -> int:
    runnable = sum(L > 0 for L in LOT_SIZES)
    return math.floor(METHODS[method].tuning_cost * runnable / len(LOT_SIZES))
