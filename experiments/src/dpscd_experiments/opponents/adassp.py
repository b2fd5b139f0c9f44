"""AdaSSP: ridge regression from noisy sufficient statistics (Wang 2018, Algorithm 2)."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import Relation
from dpscd.problem import Model, Problem
from dpscd_experiments.cells import Cell
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.opponents.prepared import Prepared, judge
from dpscd_experiments.opponents.setting import Setting, Stored

__all__ = ["adassp", "cells", "inner_rows", "noisy_moment", "play", "train"]

Floats = npt.NDArray[np.float64]

_MISS = 0.05  # the paper's rho: chance that the ridge is too small


def cells(setting: Setting, spec: Mapping[str, Any], stored: Stored) -> list[Cell]:
    """Return the cells of the results; there is nothing to tune."""
    del spec, stored
    return setting.results("adassp", play, {}) if setting.loss == "squared" else []


def play(cell: Cell) -> Metrics:
    """Run a cell."""
    return judge(cell, train)


def adassp(X: Any, y: Floats, epsilon: float, delta: float, rng: np.random.Generator) -> Floats:
    """Return the coefficients."""
    noise = gaussian_multiplier(epsilon / 3.0, delta / 3.0, Relation.ZERO_OUT)
    moment = noisy_moment(X, noise, delta, rng)
    coef: Floats = np.linalg.solve(moment, X.T @ y + noise * rng.normal(size=X.shape[1]))
    return coef


def noisy_moment(X: Any, noise: float, delta: float, rng: np.random.Generator) -> Floats:
    """Return X^T X with noise and with the ridge that makes up for it."""
    d = X.shape[1]
    moment = X.T @ X
    moment = moment.toarray() if sparse.issparse(moment) else moment
    least = float(np.linalg.eigvalsh(moment)[0])
    # A lower bound of the least eigenvalue, but for a chance of delta.
    least = max(0.0, least + noise * (rng.normal() - math.sqrt(math.log(6.0 / delta))))
    upper = np.triu(rng.normal(size=(d, d)))
    ridge = max(0.0, noise * math.sqrt(d * math.log(2.0 * d * d / _MISS)) - least)
    noisy: Floats = moment + noise * (upper + np.triu(upper, 1).T) + ridge * np.eye(d)
    return noisy


def inner_rows(ready: Prepared, problem: Problem) -> Any:
    """Return the training rows in inner units, with the intercept's column."""
    X = ready.data.X / problem.scale
    if not problem.constant:
        return X
    column = np.full((problem.n, 1), problem.constant / problem.scale)
    return sparse.hstack([X, column]).tocsr() if sparse.issparse(X) else np.hstack([X, column])


def train(ready: Prepared, cell: Cell) -> Model:
    """Train with the intercept's column and the public bounds that our estimators use."""
    problem = ready.problem(1.0, ready.label_bound)
    X = inner_rows(ready, problem)
    rng = np.random.default_rng(cell.seed)
    coef = adassp(X, problem.labels(ready.labels), cell.epsilon, cell.delta, rng)
    # The inner model: a shared vector at strength 1.
    return problem.model(problem.strength * coef.reshape(1, -1))
