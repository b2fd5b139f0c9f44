"""DP-SCD as the paper publishes it, tuned over the paper's grid; no intercept."""

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np

from dpscd.problem import Model
from dpscd_experiments.cells import Cell
from dpscd_experiments.experiment import load_spec, settings_of
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.prepared import Prepared
from dpscd_experiments.opponents.setting import Play, Setting, Stored, number
from dpscd_experiments.sweeps import Config, grid_cells, prepared, trainer, tune

_METHOD = "dp-scd"  # in the reproduction of the paper


def cells(play: Play, setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells: one for tuning at each lot size, then the winner's results."""
    figure = {
        **settings_of(load_spec(setting.published), quick=False),
        **spec["published"],
        "dataset": setting.dataset,
        "epsilons": [setting.epsilon],
        "delta": setting.delta,
        "seeds": len(setting.tuning_seeds),
    }
    seed = setting.tuning_seeds[0]
    made = [
        setting.cell("published", tune_lot, "validation", seed, swept.parameters)
        for swept in grid_cells(figure, "accuracy", [_METHOD], tune_lot)
    ]
    if any(cell.key not in stored for cell in made):
        return made
    ended = [{row["metric"]: row["value"] for row in stored[cell.key]} for cell in made]
    worths = [setting.worth(found.get("validation", math.nan)) for found in ended]
    if max(worths) == -math.inf:
        return made
    best = worths.index(max(worths))
    cell, clip = made[best], ended[best]["clip"]
    config = {name: cell.parameters[name] for name in ("lam", "epochs", "lot_size")}
    return made + setting.results("published", play, {**config, "clip": clip})


def tune_lot(cell: Cell) -> Metrics:
    """Choose the clip at one lot size, as the paper does; only validation rows are used."""
    task, winner = tune(replace(cell, method=_METHOD))
    models = [
        winner.train(cell.seed + extra, None) for extra in range(int(number(cell, "seeds")))
    ]
    return {
        "validation": fmean(task.score(model, "validation") for model in models),
        "clip": winner.config.clip,
        "tried": winner.tried,
    }


def train(ready: Prepared, cell: Cell) -> Model:
    """Train at the lot size and clip that were chosen."""
    task = prepared(cell.dataset, ready.loss, number(cell, "lam"))
    config = Config(int(number(cell, "lot_size")), number(cell, "clip"))
    epochs = int(number(cell, "epochs"))
    train, _ = trainer(task, _METHOD, config, epochs, cell.epsilon, cell.delta)
    coef = train(cell.seed, None)
    return Model(coef.reshape(1, -1), np.zeros(1))
