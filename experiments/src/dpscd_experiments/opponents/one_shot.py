"""The one-shot limit of our mechanism without standardising: noise added once, the rest exact.

Limit of ours, needs exact arithmetic, not released as private: the minimiser of
``F(w) + noise . w / n``, with noise for duals that travel as far as our plan lets them. That
the duals of the minimiser travel farther is not prevented, so it shows at most what is left to
win by other iterations.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpscd.kernels.sdca import sweep
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import Relation
from dpscd.problem import Model
from dpscd_experiments.cells import Cell
from dpscd_experiments.opponents.linear import fitted
from dpscd_experiments.opponents.prepared import Prepared, prepare
from dpscd_experiments.opponents.setting import number

Floats = npt.NDArray[np.float64]

_TOLERANCE = 1e-4  # of the objective: far below what the noise does to it
_EPOCHS = 300


def minimise(ready: Prepared, lam: float, noise: Floats) -> Model:
    """Return the minimiser of the objective plus ``noise . w / n`` in inner units."""
    problem = ready.problem(lam, ready.label_bound)
    records = ready.records(problem)
    # The linear term only shifts the shared vector: SDCA starts at minus the noise.
    dual = np.zeros((len(records.labels), 1))
    shared = -noise.reshape(1, -1)
    rng = np.random.default_rng(0)  # the order of the steps does not matter in the end
    next_look = 1
    for epoch in range(1, _EPOCHS + 1):
        order = rng.permutation(len(records.labels))
        sweep(problem.loss, ready.rows, records, problem.strength, order, dual, shared)
        if epoch == next_look:
            next_look += 1 + epoch // 5
            primal, gap = problem.gap(ready.rows, records, dual, shared)
            linear = float(noise @ shared[0]) / (problem.strength * problem.n)
            if gap + linear <= _TOLERANCE * abs(primal + linear):
                break
    return problem.model(shared)


def train(ready: Prepared, cell: Cell) -> Model:
    """Train at the lam of our plan, times the factor of the cell."""
    lam, travel = _our_plan(cell.dataset, ready.loss, cell.epsilon, cell.delta)
    multiplier = gaussian_multiplier(cell.epsilon, cell.delta, Relation.ZERO_OUT)
    width = ready.problem(lam).width
    noise = travel * multiplier * np.random.default_rng(cell.seed).normal(size=width)
    return minimise(ready, number(cell, "lam_factor") * lam, noise)


@lru_cache(maxsize=8)
def _our_plan(dataset: str, loss: str, epsilon: float, delta: float) -> tuple[float, float]:
    """Return the lam and the travel that our rule plans, from the card of a fit."""
    data = prepare(dataset, loss).data
    # On rows as they are, which is what the limit is taken of.
    card = fitted(
        data, loss, epsilon=epsilon, delta=delta, random_state=0, standardise=False
    ).privacy_
    return card.plan.training.lam, card.travel
