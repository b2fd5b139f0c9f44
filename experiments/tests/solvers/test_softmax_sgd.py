"""DP-SGD of softmax regression: against a plain loop, and what it is given of privacy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from dpscd_experiments.solvers.dp_sgd import unit_plan
from dpscd_experiments.solvers.softmax_sgd import softmax_sgd

N, D, K = 60, 5, 3
COMMON = {"momentum": 0.9, "scale": 2.0, "constant": 0.25}


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
def test_it_is_the_plain_loop_with_the_noise_of_the_plan(clip):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(N, D)).astype(np.float32), random.integers(0, K, N)
    plan = replace(unit_plan(N, D, K, True, 20, 4, 3.0, 1e-5), clip=clip)
    last, mean = softmax_sgd(
        plan, X, y, np.random.default_rng(7), rates=[0.5], averaging=[0.0, 0.5], **COMMON
    )
    path = plain_loop(plan, X, y, np.random.default_rng(7), 0.5, **COMMON)
    for model, expected in ((last, path[-1]), (mean, path[plan.steps // 2 :].mean(axis=0))):
        np.testing.assert_allclose(model.coef, expected[:-1].T / 2.0, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(model.intercept, 0.25 * expected[-1], rtol=1e-3, atol=1e-5)
