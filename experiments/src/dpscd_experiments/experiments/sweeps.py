"""Tune a method as the paper does: a sweep on validation rows, then seeds on test rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from dpscd_experiments.cells import Cell
from dpscd_experiments.experiments.training import (
    Config,
    Task,
    Train,
    prepared,
    trainer,
    untuned,
)
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.paper import METHODS

__all__ = ["Winner", "grid_cells", "ours", "sweep", "tune"]

_TUNING_SEED = 1000  # apart from those of the final runs, which count from 0
_COORDINATES = 90  # lots of Algorithm 2 hold coordinates, of which MSD has 90


@dataclass(frozen=True)
class Winner:
    """The best configuration of a sweep."""

    config: Config
    train: Train
    sigma: float
    tried: int
    broken: int


def grid_cells(
    settings: Mapping[str, Any], experiment: str, methods: Sequence[str], function: Any
) -> list[Cell]:
    """Return the cells of tuned methods: one for each method, epsilon and lot size."""
    cells = []
    for method in methods:
        published = METHODS.get(method)
        tuned = published.tuned if published else ("lot_size", "clip")
        noisy = published is None or published.noisy
        sizes = settings["lot_sizes"] if "lot_size" in tuned else [1]
        if published and published.over_features:
            sizes = [size for size in sizes if size <= _COORDINATES]
        grids = {
            name: _text(settings[f"{name}s"])
            for name in ("clip", "learning_rate")
            if name in tuned
        }
        cells += [
            Cell(
                function=function,
                experiment=experiment,
                dataset=settings["dataset"],
                method=method,
                epsilon=epsilon,
                delta=settings["delta"] if noisy else 0.0,
                seed=_TUNING_SEED,
                parameters={
                    **{name: settings[name] for name in ("loss", "lam", "epochs", "seeds")},
                    "lot_size": size,
                    **{f"{name}s": grid for name, grid in grids.items()},
                },
            )
            for epsilon in (settings["epsilons"] if noisy else [math.inf])
            for size in sizes
        ]
    return cells


def sweep(cell: Cell) -> Metrics:
    """Tune C and eta at one lot size with one seed, then run the best with all seeds."""
    task, winner = tune(cell)
    seeds = range(int(_number(cell, "seeds")))
    models = [winner.train(seed, None) for seed in seeds]
    tests = [task.score(model, "test") for model in models]
    return {
        task.measure: list(zip(map(float, seeds), tests, strict=True)),
        "validation": median(task.score(model, "validation") for model in models),
        "clip": winner.config.clip,
        "learning_rate": winner.config.learning_rate,
        "sigma": winner.sigma,
        "tried": winner.tried,
        "broken": winner.broken,
    }


def ours(cell: Cell) -> Metrics:
    """Run our estimator as it comes, with all seeds; the validation rows are not used."""
    task = _task(cell)
    runs = [
        untuned(task, cell.epsilon, cell.delta, seed)
        for seed in range(int(_number(cell, "seeds")))
    ]
    tests = [
        (float(seed), task.score(coef, "test", intercept))
        for seed, (coef, intercept, _) in enumerate(runs)
    ]
    validation = median(
        task.score(coef, "validation", intercept) for coef, intercept, _ in runs
    )
    return {task.measure: tests, "validation": validation, "sigma": runs[0][2], "tried": 1}


def tune(cell: Cell) -> tuple[Task, Winner]:
    """Return the task of a cell and the best configuration of its grid, by validation."""
    task = _task(cell)
    configs = [
        Config(int(_number(cell, "lot_size")), clip, rate)
        for clip in _numbers(cell.parameters.get("clips"), math.inf)
        for rate in _numbers(cell.parameters.get("learning_rates"), 1.0)
    ]
    best: tuple[float, Config, Train, float] | None = None
    broken = 0
    for config in configs:
        train, sigma = trainer(
            task, cell.method, config, int(_number(cell, "epochs")), cell.epsilon, cell.delta
        )
        worth = -math.inf
        if len(configs) > 1:  # otherwise there is nothing to choose
            worth = task.worth(task.score(train(cell.seed, None), "validation"))
            broken += math.isinf(worth)
        if best is None or worth > best[0]:
            best = worth, config, train, sigma
    if best is None:
        raise ValueError("the grid is empty")
    return task, Winner(*best[1:], tried=len(configs), broken=broken)


def _task(cell: Cell) -> Task:
    return prepared(cell.dataset, str(cell.parameters["loss"]), _number(cell, "lam"))


def _text(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _numbers(text: Any, default: float) -> list[float]:
    return [float(part) for part in text.split(",")] if text else [default]


def _number(cell: Cell, name: str) -> float:
    value = cell.parameters[name]
    if not isinstance(value, int | float):
        raise ValueError(f"{name}={value!r} must be a number.")
    return float(value)
