"""DP-SGD: clipped gradients of Poisson lots with Gaussian noise, for comparison.

The same sampler, noise, grid, clipping and accounting as the product; only the step is a
gradient, which has a learning rate to choose.
"""

import numpy as np
import numpy.typing as npt

from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.plan import Plan
from dpscd.privacy.random import Source
from dpscd.privacy.sampling import Lots
from dpscd.problem import Problem
from dpscd.solvers.dp_scd import check_plan, draws, epoch_of
from dpscd.solvers.observer import Observer
from dpscd_experiments.kernels.gradient import descend_private
from dpscd_experiments.solvers.sgd import decay_of, follow

__all__ = ["dp_sgd"]

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
    chunks = draws(
        plan,
        source,
        len(records.labels),
        pause=epoch if observer else plan.steps,
        draw_ahead=draw_ahead,
    )

    def advance(lots: Lots, normals: Floats, start: int, model: Floats, mean: Floats) -> int:
        return descend_private(
            problem.loss, rows, records, numbers, decay, rate,
            lots.ids, lots.starts, normals, start, model, mean,
        )  # fmt: skip

    return follow(problem, chunks, advance, plan.steps, plan.average_from, epoch, observer)
