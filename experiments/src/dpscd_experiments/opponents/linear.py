"""Linear models of prepared rows: how each method of the benches trains its own.

In favour of DP-SGD: its tuning costs no privacy, and for ridge its clip is in units of the
standard deviation of the training labels, which it is given without noise.
"""

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.random import source_for
from dpscd.privacy.relation import Relation
from dpscd.problem import Model, Problem
from dpscd_experiments.cells import Cell, Skip
from dpscd_experiments.datasets import Dataset
from dpscd_experiments.opponents.prepared import Prepared
from dpscd_experiments.opponents.setting import (
    Config,
    Play,
    Setting,
    Stored,
    number,
    search,
    timed_fit,
)
from dpscd_experiments.solvers.dp_sgd import dp_sgd
from dpscd_experiments.solvers.lots import unit_training
from dpscd_experiments.sweeps import ESTIMATORS

Floats = npt.NDArray[np.float64]
Spec = Mapping[str, Any]

#: Why Snap ML takes no part.
ABSENT = "Snap ML is not installed: pip install 'dpscd-experiments[peers]'"

_SGD = ("epochs", "lot_size", "clip", "learning_rate", "lam", "averaging")
_MISS = 0.05  # AdaSSP's rho: chance that the ridge is too small


def fitted(data: Dataset, loss: str, **parameters: Any) -> Any:
    """Return our estimator for a loss, fitted to the training part."""
    estimator = ESTIMATORS[loss](**parameters, **data.fit_parameters)
    return timed_fit(estimator, data.X, data.y)[0]


def model_of(estimator: Any) -> Model:
    """Return the model of a fitted estimator with one output."""
    return Model(np.atleast_2d(estimator.coef_), np.atleast_1d(estimator.intercept_))


def train_ours(ready: Prepared, cell: Cell) -> Model:
    """Train our estimator as it comes: epsilon and delta are all it is told."""
    privacy = {"epsilon": cell.epsilon, "delta": cell.delta}
    return model_of(fitted(ready.data, ready.loss, **privacy, random_state=cell.seed))


def train_plain(ready: Prepared, cell: Cell) -> Model:
    """Train our estimator without privacy at the lam of the cell."""
    asked = {"epsilon": math.inf, "lam": number(cell, "lam")}
    return model_of(fitted(ready.data, ready.loss, **asked, random_state=cell.seed))


def plain_cells(play: Play, setting: Setting, spec: Spec, stored: Stored) -> list[Cell]:
    """Return the cells of ours without privacy, the same for all epsilons."""
    lams = [{"lam": lam} for lam in spec["plain"]["lams"]]
    return search(setting.not_private, "plain", play, [lambda _: lams], stored)


def train_dp_sgd(ready: Prepared, cell: Cell) -> Model:
    """Train one configuration of DP-SGD: Poisson lots and the accounting of ours."""
    # Gradients of unit rows are at most as long as residuals: the scale of the clip.
    label_scale = float(ready.labels.std()) if ready.loss == "squared" else 1.0
    problem = ready.problem(number(cell, "lam"), label_scale)
    plan = unit_training(
        problem.n, problem.d, min(int(number(cell, "lot_size")), problem.n),
        int(number(cell, "epochs")), cell.epsilon, cell.delta, constant=problem.constant,
    )  # fmt: skip
    plan = replace(
        plan, clip=number(cell, "clip"), lam=problem.lam, averaging=number(cell, "averaging")
    )
    shared = dp_sgd(
        problem, plan, ready.rows, ready.records(problem), source_for(cell.seed),
        learning_rate=number(cell, "learning_rate"),
    )  # fmt: skip
    return problem.model(shared)


def dp_sgd_cells(play: Play, setting: Setting, spec: Spec, stored: Stored) -> list[Cell]:
    """Return the cells of DP-SGD that are known to be needed."""
    stages = [partial(proposals, stage) for stage in spec["dp_sgd"][setting.grid]]
    return search(setting, "dp-sgd", play, stages, stored)


def proposals(stage: Spec, ranked: Sequence[Config]) -> Iterator[Config]:
    """Return the configurations of a stage, those with the same noise one after the other."""
    # All combinations of its values. A stage with `best` takes that many of the best so far
    # and puts the values in the place of theirs; `rate_divisors` divide learning rates.
    values = {name: stage[name] for name in _SGD if name in stage}
    bases = ranked[: stage["best"]] if "best" in stage else [{}]
    for base in bases:
        for chosen in product(*values.values()):
            for divisor in stage.get("rate_divisors", [1]):
                config: dict[str, Any] = {**base, **dict(zip(values, chosen, strict=True))}
                if divisor != 1:
                    # Four digits: a key must not depend on the last bit of a division.
                    config["learning_rate"] = float(f"{config['learning_rate'] / divisor:.4g}")
                yield {name: config[name] for name in _SGD}


def adassp(X: Any, y: Floats, epsilon: float, delta: float, rng: np.random.Generator) -> Floats:
    """Return the coefficients of AdaSSP (Wang 2018, Algorithm 2) for rows in the unit ball."""
    # Labels lie between -1 and 1. Three releases with a third of epsilon and delta each: the
    # least eigenvalue of X^T X, X^T X and X^T y, all of sensitivity 1. The noise is the least
    # that does, not the paper's bound ``sqrt(log(6 / delta)) / (epsilon / 3)``.
    noise = gaussian_multiplier(epsilon / 3.0, delta / 3.0, Relation.ZERO_OUT)
    moment = noisy_moment(X, noise, delta, rng)
    coef: Floats = np.linalg.solve(moment, X.T @ y + noise * rng.normal(size=X.shape[1]))
    return coef


def noisy_moment(X: Any, noise: float, delta: float, rng: np.random.Generator) -> Floats:
    """Return X^T X with noise and with the ridge that makes up for it.

    Two releases of sensitivity 1: the least eigenvalue, and X^T X.
    """
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


def boosted_adassp(
    X: Any,
    y: Floats,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    rounds: int,
    clip: float,
) -> Floats:
    """Return the coefficients of Boosted AdaSSP (Tang et al. 2023)."""
    # Gaussian releases that compose as one: a third of its squared strength each for the least
    # eigenvalue of X^T X (sensitivity 1), for X^T X (1) and for all rounds together. A round
    # releases X^T r with r the cut residuals (sensitivity `clip`), solves for it with the noisy
    # moments and the ridge of AdaSSP, and adds the solution to the coefficients.
    noise = gaussian_multiplier(epsilon, delta, Relation.ZERO_OUT) * math.sqrt(3.0)
    moment = noisy_moment(X, noise, delta, rng)
    coef = np.zeros(X.shape[1])
    for _ in range(rounds):
        residual = np.clip(y - X @ coef, -clip, clip)
        spread = noise * math.sqrt(rounds) * clip
        coef += np.linalg.solve(moment, X.T @ residual + spread * rng.normal(size=len(coef)))
    return coef


def train_adassp(ready: Prepared, cell: Cell, **options: Any) -> Model:
    """Train with the intercept's column and the public bounds that our estimators use."""
    problem = ready.problem(1.0, ready.label_bound)
    solve = boosted_adassp if options else adassp
    rows, labels = inner_rows(ready, problem), problem.labels(ready.labels)
    rng = np.random.default_rng(cell.seed)
    coef = solve(rows, labels, cell.epsilon, cell.delta, rng, **options)
    # The inner model: a shared vector at strength 1.
    return problem.model(problem.strength * coef.reshape(1, -1))


def train_boosted(ready: Prepared, cell: Cell) -> Model:
    """Train Boosted AdaSSP with the rounds and the clip of the cell."""
    rounds, clip = int(number(cell, "rounds")), number(cell, "clip")
    return train_adassp(ready, cell, rounds=rounds, clip=clip)


def inner_rows(ready: Prepared, problem: Problem) -> Any:
    """Return the training rows in inner units, with the intercept's column."""
    X = ready.data.X / problem.scale
    if not problem.constant:
        return X
    column = np.full((problem.n, 1), problem.constant / problem.scale)
    return sparse.hstack([X, column]).tocsr() if sparse.issparse(X) else np.hstack([X, column])


def adassp_cells(play: Play, setting: Setting, _spec: Spec, _stored: Stored) -> list[Cell]:
    """Return the cells of AdaSSP, for regression only; there is nothing to tune."""
    return setting.results("adassp", play, {}) if setting.loss == "squared" else []


def boosted_cells(play: Play, setting: Setting, spec: Spec, stored: Stored) -> list[Cell]:
    """Return the cells of Boosted AdaSSP, for regression only, tuned over a small grid."""
    if setting.loss != "squared":
        return []
    grid = _grid(spec["boosted_adassp"], "rounds", "clip")
    return search(setting, "boosted-adassp", play, [lambda _: grid], stored)


def _grid(values: Spec, *names: str) -> list[Config]:
    chosen = product(*(values[name] for name in names))
    return [dict(zip(names, one, strict=True)) for one in chosen]


def snapml_cells(play: Play, setting: Setting, spec: Spec, stored: Stored) -> list[Cell]:
    """Return the cells of Snap ML that are known to be needed; it has no private SVM."""
    if setting.loss == "hinge":
        return []
    grid = _grid(spec["snapml"], "epochs", "batch_size", "grad_clip", "eta")
    return search(setting, "snapml", play, [lambda _: grid], stored)


def train_snapml(ready: Prepared, cell: Cell) -> Model:
    """Train without an intercept, which it refuses; labels of ridge divided by their spread."""
    # The spread is taken from the labels, and their centre from the declared bounds.
    try:
        import snapml
    except ImportError:
        raise Skip(ABSENT) from None
    kind = snapml.LinearRegression if ready.loss == "squared" else snapml.LogisticRegression
    scale = float(ready.labels.std()) if ready.loss == "squared" else 1.0
    problem = ready.problem(1.0, scale)
    model = kind(
        privacy=True,
        dual=False,
        privacy_epsilon=cell.epsilon,
        max_iter=int(number(cell, "epochs")),
        batch_size=int(number(cell, "batch_size")),
        grad_clip=number(cell, "grad_clip"),
        eta=number(cell, "eta"),
        random_state=cell.seed,
    )
    with _silent():
        model.fit(ready.data.X, problem.labels(ready.labels))
    coef = scale * np.asarray(model.coef_, dtype=np.float64).reshape(1, -1)
    return Model(coef, np.full(1, problem.label_centre))


@contextmanager
def _silent() -> Iterator[None]:
    """Drop what compiled code prints: Snap ML shows its noise at every fit."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(nowhere)
        os.close(kept)


#: How a cell's method trains, by its name; peers and the published method are elsewhere.
TRAINERS: dict[str, Callable[[Prepared, Cell], Model]] = {
    "ours": train_ours,
    "plain": train_plain,
    "dp-sgd": train_dp_sgd,
    "adassp": train_adassp,
    "boosted-adassp": train_boosted,
    "snapml": train_snapml,
}
