"""Boosted AdaSSP: rounds of noisy residuals on one noisy moment matrix (Tang et al. 2023)."""

import math

import numpy as np
import numpy.typing as npt

from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import Relation
from dpscd.problem import Model
from dpscd_experiments.cells import Cell
from dpscd_experiments.opponents.adassp import inner_rows, noisy_moment
from dpscd_experiments.opponents.prepared import Prepared, number

__all__ = ["boosted_adassp", "train"]

Floats = npt.NDArray[np.float64]


def boosted_adassp(
    X: Floats,
    y: Floats,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    rounds: int,
    clip: float,
) -> Floats:
    """Return the coefficients."""
    noise = gaussian_multiplier(epsilon, delta, Relation.ZERO_OUT) * math.sqrt(3.0)
    moment = noisy_moment(X, noise, delta, rng)
    coef = np.zeros(X.shape[1])
    for _ in range(rounds):
        residual = np.clip(y - X @ coef, -clip, clip)
        spread = noise * math.sqrt(rounds) * clip
        coef += np.linalg.solve(moment, X.T @ residual + spread * rng.normal(size=len(coef)))
    return coef


def train(ready: Prepared, cell: Cell) -> Model:
    """Train with the intercept's column and the public bounds that our estimators use."""
    problem = ready.problem(1.0, ready.label_bound)
    coef = boosted_adassp(
        inner_rows(ready, problem),
        problem.labels(ready.labels),
        cell.epsilon,
        cell.delta,
        np.random.default_rng(cell.seed),
        rounds=int(number(cell, "rounds")),
        clip=number(cell, "clip"),
    )
    # The inner model: a shared vector at strength 1.
    return problem.model(problem.strength * coef.reshape(1, -1))
