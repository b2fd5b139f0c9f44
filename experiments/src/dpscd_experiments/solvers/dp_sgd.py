"""DP-SGD: clipped gradients of Poisson lots with Gaussian noise, for comparison.

The same sampler, noise, grid, clipping and accounting as the product; only the step is a
gradient, which has a learning rate to choose.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.privacy.draws import Lots
from dpscd.privacy.random import Source
from dpscd.problem import Problem
from dpscd.releases.training import Training
from dpscd.solvers.dp_scd import check_plan, draws
from dpscd_experiments.kernels.gradient import descend_private
from dpscd_experiments.solvers.looks import Look, Observer

Floats = npt.NDArray[np.float64]


def dp_sgd(
    problem: Problem,
    plan: Training,
    rows: Rows,
    records: Records,
    source: Source,
    *,
    learning_rate: float,
) -> Floats:
    """Run the plan with gradient steps and return the shared vector.

    Guarantee: the models after every step, hence what is returned, cost ``plan.cost``.
    Requires: `source` was not used before; `learning_rate` was chosen without the data.
    Proof: docs/proofs/shared_vector.md, with gradients as the steps: they have no memory.
    """
    check_plan(problem, plan, rows, records)
    numbers = plan.constants(problem.strength)
    decay = decay_of(problem, learning_rate)
    rate = learning_rate / (plan.rate * plan.n)
    chunks = draws(plan, source, len(records.labels), pause=plan.steps)

    def advance(lots: Lots, normals: Floats, start: int, model: Floats, mean: Floats) -> int:
        return descend_private(
            problem.loss, rows, records, numbers, decay, rate,
            lots.ids, lots.starts, normals, start, model, mean,
        )  # fmt: skip

    return follow(problem, chunks, advance, plan.steps, plan.average_from, plan.steps, None)


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
