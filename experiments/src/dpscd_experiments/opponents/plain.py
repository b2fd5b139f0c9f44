"""Without privacy: our estimators at an infinite epsilon, with the best lam."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpscd.problem import Model
from dpscd_experiments.cells import Cell
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.ours import fitted, model_of
from dpscd_experiments.opponents.prepared import Prepared, judge, number
from dpscd_experiments.opponents.search import search
from dpscd_experiments.opponents.setting import Setting, Stored

__all__ = ["cells", "play", "train"]


def cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells: the same for all epsilons, with one seed, as nothing is random."""
    only = replace(
        setting, epsilon=math.inf, delta=0.0, seeds=1, tuning_seeds=setting.tuning_seeds[:1]
    )
    lams = [{"lam": lam} for lam in spec["plain"]["lams"]]
    return search(only, "plain", play, [lambda _: lams], stored)


def play(cell: Cell) -> Metrics:
    """Run a cell."""
    return judge(cell, train)


def train(ready: Prepared, cell: Cell) -> Model:
    """Train without privacy at the lam of the cell."""
    estimator = fitted(
        ready.data,
        ready.loss,
        epsilon=math.inf,
        lam=number(cell, "lam"),
        random_state=cell.seed,
    )
    return model_of(estimator)
