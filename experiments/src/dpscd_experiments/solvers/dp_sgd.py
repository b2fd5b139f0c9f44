"""DP-SGD: clipped gradients of Poisson lots with Gaussian noise, for comparison.

The same sampler, noise, grid, clipping and accounting as the product; only the step is a
gradient, which has a learning rate to choose.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.plan import Plan
from dpscd.privacy.random import Source
from dpscd.privacy.relation import Relation
from dpscd.privacy.sampling import Lots
from dpscd.problem import Problem
from dpscd.solvers.dp_scd import check_plan, draws, epoch_of
from dpscd.solvers.observer import Look, Observer
from dpscd_experiments.kernels.gradient import descend_private

Floats = npt.NDArray[np.float64]


def dp_sgd(
    problem: Problem,
    plan: Plan,
    rows: Rows,
    records: Records,
    source: Source,
    *,
    learning_rate: float,
    draw_ahead: bool = False,
    observer: Observer | None = None,
) -> Floats:
    """Run the plan with gradient steps and return the shared vector.

    Guarantee: the models after every step, hence what is returned, satisfy
    ``plan.claim()``.
    Requires: `source` was not used before; `learning_rate` was chosen without the data.
    Proof: docs/proofs/shared_vector.md, with gradients as the steps: they have no memory.
    """
    check_plan(problem, plan, rows, records)
    numbers = plan.constants(problem.strength)
    decay = decay_of(problem, learning_rate)
    rate = learning_rate / (plan.rate * plan.n)
    epoch = epoch_of(plan)
    pause = epoch if observer else plan.steps
    chunks = draws(plan, source, len(records.labels), pause=pause, draw_ahead=draw_ahead)

    def advance(lots: Lots, normals: Floats, start: int, model: Floats, mean: Floats) -> int:
        return descend_private(
            problem.loss, rows, records, numbers, decay, rate,
            lots.ids, lots.starts, normals, start, model, mean,
        )  # fmt: skip

    return follow(problem, chunks, advance, plan.steps, plan.average_from, epoch, observer)


@lru_cache(maxsize=64)
def unit_plan(
    n: int,
    d: int,
    outputs: int,
    intercept: bool,
    lot_size: int,
    epochs: int,
    epsilon: float,
    delta: float,
) -> Plan:
    """Return a plan at clip 1: its noise multiplier serves all clips."""
    size = min(lot_size, n)
    return Plan(
        epsilon=epsilon,
        delta=delta,
        relation=Relation.ZERO_OUT,
        n=n,
        d=d,
        outputs=outputs,
        intercept=intercept,
        lam=1.0,
        steps=epochs * math.ceil(n / size),
        rate=size / n,
        clip=1.0,
        separability=1.0,
        averaging=0.0,
    ).calibrated()


def decay_of(problem: Problem, learning_rate: float) -> float:
    """Return the factor by which the ridge shrinks the model in one step."""
    if not (math.isfinite(learning_rate) and learning_rate > 0.0):
        raise ParameterError(f"learning_rate={learning_rate!r} must be positive and finite.")
    return 1.0 - learning_rate * problem.strength / problem.n


def follow(
    problem: Problem,
    draws: Iterable[tuple[Lots, Floats]],
    advance: Callable[[Lots, Floats, int, Floats, Floats], int],
    steps: int,
    average_from: int,
    epoch: int,
    observer: Observer | None,
) -> Floats:
    """Let `advance` take the model through all chunks; return the shared vector."""
    model = np.zeros((problem.outputs, problem.width))
    average = np.zeros_like(model)
    first = clipped = taken = 0
    for lots, normals in draws:
        clipped += advance(lots, normals, average_from - first, model, average)
        taken += len(lots.ids)
        first += len(normals)
        if observer is not None and first % epoch == 0:
            shared = problem.strength * model
            observer(Look(first // epoch, shared, clipped=clipped / max(1, taken)))
            clipped = taken = 0
    return average * (problem.strength / (steps - average_from))
