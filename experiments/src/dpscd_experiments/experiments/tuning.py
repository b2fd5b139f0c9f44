"""What tuning costs: numbers of configurations, and measured time on a real data set."""

import math
import time
from statistics import mean, median
from typing import Any

import numpy as np

from dpscd.estimators.classification import DPLinearSVC
from dpscd.kernels.dual import Records
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd_experiments.cells import Cell
from dpscd_experiments.datasets import load_dataset
from dpscd_experiments.experiment import Spec, load_spec, settings_of, target
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.paper.algorithms import LOSSES, Settings
from dpscd_experiments.paper.methods import METHODS
from dpscd_experiments.paper.moments import moments_epsilon
from dpscd_experiments.paper.theory import LOT_SIZES
from dpscd_experiments.store import Row, pick, values
from dpscd_experiments.style import median_and_range, new_figure

#: The private methods that the paper tunes, in the text on tuning cost.
TUNED = ("dp-scd", "dp-sgd")

#: Our estimator with everything left to its rule.
OURS = "ours, untuned"

_COLOURS = {"dp-scd": "#d55e00", "dp-sgd": "#009e73", OURS: "#0072b2"}


def _cells(spec: Spec, quick: bool) -> list[Cell]:
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
    public = cell.parameters
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


def grid_seconds(rows: list[Row], method: str, seed: int) -> float:
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


def _totals(rows: list[Row], method: str) -> list[float]:
    """Return the seconds of the whole grid at each seed."""
    found = pick(rows, "seconds_each", method=method)
    if method == OURS:
        return [row["value"] for row in found]
    return [grid_seconds(rows, method, seed) for seed in sorted({x["seed"] for x in found})]


def _text(rows: list[Row], quick: bool) -> str:
    """Return what the rows say, as Markdown."""
    lines, totals = [], {}
    for method in (*TUNED, OURS):
        found = pick(rows, "seconds_each", method=method)
        totals[method] = _totals(rows, method)
        spent = values(rows, "epsilon_of_all", method=method)
        spent = spent or [float(row["epsilon"]) for row in found]
        wall = 1000.0 * median(values(rows, "wall_each", method=method))
        each = median_and_range([1000.0 * row["value"] for row in found], 0)
        lines.append(
            f"| {method} | {values(rows, 'configurations', method=method)[0]:.0f} | {each} "
            f"| {wall:.0f} | {median_and_range(totals[method], 1)} "
            f"| {min(spent):.1f} to {max(spent):.1f} |"
        )
    ratio = median(totals["dp-sgd"]) / median(totals["dp-scd"])
    count = METHODS["dp-sgd"].tuning_cost / METHODS["dp-scd"].tuning_cost
    return str(load_spec("tuning")["page"]).format(
        quick=" (quick)" if quick else "", lines="\n".join(lines), count=count, ratio=ratio,
        scd=_runnable("dp-scd"), sgd=_runnable("dp-sgd"),
        calibration=median(values(rows, "calibration")),
    )  # fmt: skip


def _runnable(method: str) -> int:
    runnable = sum(L > 0 for L in LOT_SIZES)
    return math.floor(METHODS[method].tuning_cost * runnable / len(LOT_SIZES))


def _draw(rows: list[Row], quick: bool) -> Any:
    figure, ((left, right),) = new_figure(10, 4.2, 1, 2)
    _draw_each(left, rows)
    _draw_grid(right, rows)
    note = " (quick: fewer configurations and seeds)" if quick else ""
    figure.suptitle(f"Tuning cost on Adult, SVM{note}")
    return figure


def _draw_each(axes: Any, rows: list[Row]) -> None:
    for method in TUNED:
        found = pick(rows, "seconds_each", method=method)
        lots = sorted({row["param.lot_size"] for row in found})
        by_lot = [values(found, "seconds_each", lot_size=L) for L in lots]
        colour = _COLOURS[method]
        axes.plot(lots, [median(at) for at in by_lot], "o-", ms=4, color=colour, label=method)
        low, high = [min(at) for at in by_lot], [max(at) for at in by_lot]
        axes.fill_between(lots, low, high, color=colour, alpha=0.2, lw=0)
    own = values(rows, "seconds_each", method=OURS)
    if own:
        label = f"{OURS} (100 epochs)"
        axes.axhline(median(own), color=_COLOURS[OURS], ls="--", lw=1.4, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("lot size L")
    axes.set_ylabel("processor seconds of one configuration")
    axes.set_title("One fit; band: range over seeds", fontsize=9)
    axes.legend(fontsize=8)


def _draw_grid(axes: Any, rows: list[Row]) -> None:
    names = [*TUNED, OURS]
    totals = [_totals(rows, method) for method in names]
    counts = [int(values(rows, "configurations", method=name)[0]) for name in names]
    heights = [median(at) for at in totals]
    errors = [
        [middle - min(at) for middle, at in zip(heights, totals, strict=True)],
        [max(at) - middle for middle, at in zip(heights, totals, strict=True)],
    ]
    colours = [_COLOURS[name] for name in names]
    bars = axes.bar(names, heights, yerr=errors, color=colours, error_kw={"lw": 1.0})
    words = [
        f"{count} configuration{'s' if count > 1 else ''}\n{height:.1f} s"
        for count, height in zip(counts, heights, strict=True)
    ]
    axes.bar_label(bars, words, fontsize=8, padding=2)
    axes.set_yscale("log")
    axes.set_ylim(0.3 * min(heights), 8.0 * max(heights))
    axes.set_ylabel("processor seconds of the whole grid")
    axes.set_title("The grid, one seed and one epsilon; scaled from a sample", fontsize=9)


EXPERIMENT = target(_cells, _text, _draw)
