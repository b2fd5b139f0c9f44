"""DP-SGD is noisy clipped gradient descent, and its plan reaches the privacy asked for."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpscd.errors import DataError, ParameterError, StreamError
from dpscd.kernels.dual import Records
from dpscd.losses import Hinge, Logistic, Squared, slope
from dpscd.plan import Plan
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem
from dpscd_experiments.solvers.dp_sgd import dp_sgd, unit_plan

N, D = 120, 3
PLAN = Plan(
    epsilon=1.0, delta=1e-5, relation=Relation.ZERO_OUT, n=N, d=D, outputs=1, intercept=False,
    lam=0.05, steps=40, rate=0.2, clip=0.3, separability=math.pi, averaging=0.25,
    noise_multiplier=1.5,
)  # fmt: skip


def case(loss, n=N, lam=0.05):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(n, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    problem = Problem(loss, lam, n, D)
    return problem, X, problem.rows(X), Records(np.sign(X[:, 0] + 0.1), np.ones(n))


def fit(loss=None, plan=PLAN, seed=b"fit", **options):
    problem, _, rows, records = case(loss or Logistic())
    options = {"learning_rate": 0.8, **options}
    return dp_sgd(problem, plan, rows, records, SeededSource(seed), **options)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=repr)
def test_it_is_noisy_clipped_gradient_descent(loss):
    _, X, _, records = case(loss)
    source = SeededSource(b"fit")
    lots = PLAN.lots.draw(source, 0, PLAN.steps, N)
    normals = PLAN.noise.draw(source, 0, PLAN.steps, D)
    w, path = np.zeros(D), []
    for t in range(PLAN.steps):
        total = 1.5 * 0.3 * normals[t]
        for i in lots.ids[lots.starts[t] : lots.starts[t + 1]]:
            g = slope(loss, X[i] @ w, records.labels[i]) * X[i]
            total += g / max(1.0, np.linalg.norm(g) / 0.3)
        w = w - 0.8 * (total / 24.0 + 0.05 * w)
        path.append(w)
    # Gradients are cut to a fine lattice and sums rounded to a grid of std / 1024.
    expected = 0.05 * N * np.mean(path[30:], axis=0)
    np.testing.assert_allclose(fit(loss)[0], expected, atol=0.01 * np.abs(expected).max())


def test_what_means_nothing_is_refused_and_plans_claim_what_was_asked():
    plan = unit_plan(N, D, 1, True, 20, 4, 1.0, 1e-5)
    assert (plan.steps, plan.rate) == (24, pytest.approx(1 / 6))
    assert 0.99 < plan.claim().epsilon <= 1.0
    for rate in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ParameterError, match="learning_rate="):
            fit(learning_rate=rate)
    with pytest.raises(ParameterError, match="another problem"):
        fit(plan=replace(PLAN, lam=0.1))
    problem, _, rows, records = case(Hinge())
    fewer = Records(records.labels[1:], records.weights[1:])
    source = SeededSource(b"once")
    with pytest.raises(DataError, match="equally many"):
        dp_sgd(problem, PLAN, rows, fewer, source, learning_rate=1.0)
    dp_sgd(problem, PLAN, rows, records, source, learning_rate=1.0)
    with pytest.raises(StreamError):
        dp_sgd(problem, PLAN, rows, records, source, learning_rate=1.0)
