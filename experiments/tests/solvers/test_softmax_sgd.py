"""DP-SGD of softmax regression: against a plain loop, and what it is given of privacy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from dpscd_experiments.solvers.dp_sgd import unit_plan
from dpscd_experiments.solvers.softmax_sgd import softmax_sgd

N, D, K = 60, 5, 3
COMMON = {"momentum": 0.9, "scale": 2.0, "constant": 0.25}
PLAN = unit_plan(N, D, K, True, 20, 4, 3.0, 1e-5)


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    return random.normal(size=(N, D)).astype(np.float32), random.integers(0, K, N)


def plain_loop(plan, X, y, random, rate, momentum, scale, constant):
    """Return all iterates, with one gradient for each record."""
    rows = np.hstack((X / scale, np.full((len(X), 1), constant)))
    weights, speed, path = np.zeros((D + 1, K)), np.zeros((D + 1, K)), []
    for _ in range(plan.steps):
        total = np.zeros_like(weights)
        for i in np.flatnonzero(random.random(N) < plan.rate):
            slope = softmax(rows[i] @ weights) - np.eye(K)[y[i]]
            gradient = np.outer(rows[i], slope)
            total += gradient * min(1.0, plan.clip / np.linalg.norm(gradient))
        noise = random.standard_normal((D + 1, 1, K), dtype=np.float32)[:, 0]
        speed = momentum * speed + total + plan.noise_multiplier * plan.clip * noise
        weights = weights - rate / (plan.rate * N) * speed
        path.append(weights)
    return np.array(path)


@pytest.mark.parametrize("clip", [0.1, 10.0])
def test_it_is_the_plain_loop_with_the_noise_of_the_plan(clip, problem):
    plan, sources = replace(PLAN, clip=clip), [np.random.default_rng(7) for _ in range(2)]
    last, mean = softmax_sgd(
        plan, *problem, sources[0], rates=[0.5], averaging=[0.0, 0.5], **COMMON
    )
    path = plain_loop(plan, *problem, sources[1], 0.5, **COMMON)
    for model, expected in ((last, path[-1]), (mean, path[plan.steps // 2 :].mean(axis=0))):
        np.testing.assert_allclose(model.coef, expected[:-1].T / 2.0, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(model.intercept, 0.25 * expected[-1], rtol=1e-3, atol=1e-5)


def test_a_record_moves_a_step_by_the_clip_at_most(problem):
    plan = replace(PLAN, clip=0.05, steps=1, rate=1.0, noise_multiplier=0.0)

    def moved(X, y):
        given = replace(plan, n=len(y)), X, y, np.random.default_rng(0)
        (model,) = softmax_sgd(*given, rates=[float(len(y))], **(COMMON | {"scale": 1.0}))
        return np.hstack((model.coef, model.intercept[:, None] / 0.25))

    X, y = problem
    base = moved(X[1:], y[1:])
    loud, other = X.copy(), y.copy()
    loud[0] *= 1000.0
    other[0] = (other[0] + 1) % K
    for rows, labels in ((X, y), (loud, y), (X, other)):
        # Its gradient is longer than the clip.
        assert np.linalg.norm(moved(rows, labels) - base) == pytest.approx(0.05, rel=1e-3)
