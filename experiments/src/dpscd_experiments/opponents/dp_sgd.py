"""DP-SGD with Poisson lots and tight accounting, tuned on validation rows free of charge.

What counts in its favour: its tuning costs no privacy, and for ridge its clip is in units of
the standard deviation of the training labels, which it is given without noise.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from typing import Any

from dpscd.plan import Plan
from dpscd.privacy.random import source_for
from dpscd.privacy.relation import Relation
from dpscd.problem import Model
from dpscd_experiments.cells import Cell
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.prepared import Prepared, judge, number
from dpscd_experiments.opponents.search import search
from dpscd_experiments.opponents.setting import Config, Setting, Stored
from dpscd_experiments.solvers.dp_sgd import dp_sgd

__all__ = ["cells", "play", "proposals", "train"]

_NAMES = ("epochs", "lot_size", "clip", "learning_rate", "lam", "averaging")


def cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells that are known to be needed."""
    stages = [partial(proposals, stage) for stage in spec["dp_sgd"][setting.grid]]
    return search(setting, "dp-sgd", play, stages, stored)


def proposals(
    stage: Mapping[str, Any], ranked: Sequence[Mapping[str, Any]]
) -> Iterator[Config]:
    """Return the configurations of a stage."""
    values = {name: stage[name] for name in _NAMES if name in stage}
    bases = ranked[: stage["best"]] if "best" in stage else [{}]
    for base in bases:
        for chosen in product(*values.values()):
            for divisor in stage.get("rate_divisors", [1]):
                config = {**base, **dict(zip(values, chosen, strict=True))}
                if divisor != 1:
                    # Four digits: a key must not depend on the last bit of a division.
                    config["learning_rate"] = float(f"{config['learning_rate'] / divisor:.4g}")
                yield {name: config[name] for name in _NAMES}


def play(cell: Cell) -> Metrics:
    """Run a cell."""
    return judge(cell, train)


def train(ready: Prepared, cell: Cell) -> Model:
    """Train one configuration with the privacy that the cell asks for."""
    # Gradients of unit rows are at most as long as residuals: the scale of the clip.
    label_scale = float(ready.labels.std()) if ready.loss == "squared" else 1.0
    problem = ready.problem(number(cell, "lam"), label_scale)
    plan = _unit_plan(
        problem.n,
        problem.d,
        problem.constant != 0.0,
        int(number(cell, "lot_size")),
        int(number(cell, "epochs")),
        cell.epsilon,
        cell.delta,
    )
    plan = replace(
        plan, clip=number(cell, "clip"), lam=problem.lam, averaging=number(cell, "averaging")
    )
    shared = dp_sgd(
        problem,
        plan,
        ready.rows,
        ready.records(problem),
        source_for(cell.seed),
        learning_rate=number(cell, "learning_rate"),
    )
    return problem.model(shared)


@lru_cache(maxsize=64)
def _unit_plan(
    n: int, d: int, intercept: bool, lot_size: int, epochs: int, epsilon: float, delta: float
) -> Plan:
    """Return a plan at clip 1: its noise multiplier serves all clips."""
    return Plan(
        epsilon=epsilon,
        delta=delta,
        relation=Relation.ZERO_OUT,
        n=n,
        d=d,
        outputs=1,
        intercept=intercept,
        lam=1.0,
        steps=epochs * math.ceil(n / lot_size),
        rate=lot_size / n,
        clip=1.0,
        separability=1.0,
        averaging=0.0,
    ).calibrated()
