"""DP-SGD of softmax regression: against a plain loop, and what it is given of privacy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from dpscd_experiments.solvers.dp_sgd import unit_plan
from dpscd_experiments.solvers.softmax_sgd import softmax_sgd

N, D, K = 60, 5, 3


def problem(seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(N, D)).astype(np.float32), random.integers(0, K, N)


def plan_of(clip=0.1, **changes):
    plan = unit_plan(N, D, K, True, 20, 4, 3.0, 1e-5)
    return replace(plan, clip=clip, **changes)


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
def test_it_is_the_plain_loop(clip):
    X, y = problem()
    plan = plan_of(clip)
    common = {"momentum": 0.9, "scale": 2.0, "constant": 0.25}
    last, mean = softmax_sgd(
        plan, X, y, np.random.default_rng(7), rates=[0.5], averaging=[0.0, 0.5], **common
    )
    path = plain_loop(plan, X, y, np.random.default_rng(7), 0.5, **common)
    for model, expected in ((last, path[-1]), (mean, path[plan.steps // 2 :].mean(axis=0))):
        np.testing.assert_allclose(model.coef, expected[:-1].T / 2.0, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(model.intercept, 0.25 * expected[-1], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("record", [0, 17])
def test_a_record_moves_a_step_by_the_clip_at_most(record):
    X, y = problem()
    plan = plan_of(0.05, steps=1, rate=1.0, noise_multiplier=0.0)

    def moved(X, y):
        (model,) = softmax_sgd(
            replace(plan, n=len(y)), X, y, np.random.default_rng(0),
            rates=[float(len(y))], momentum=0.9, scale=1.0, constant=0.25,
        )  # fmt: skip
        return np.hstack((model.coef, model.intercept[:, None] / 0.25))

    keep = np.arange(N) != record
    base = moved(X[keep], y[keep])
    loud, other = X.copy(), y.copy()
    loud[record] *= 1000.0
    other[record] = (other[record] + 1) % K
    for rows, labels in ((X, y), (loud, y), (X, other)):
        # Its gradient is longer than the clip.
        assert np.linalg.norm(moved(rows, labels) - base) == pytest.approx(0.05, rel=1e-3)


def test_noise_is_that_of_the_plan():
    plan = plan_of(0.3, steps=1)
    X, y = np.zeros((N, D), np.float32), np.zeros(N, np.int64)
    found = [
        softmax_sgd(
            plan, X, y, np.random.default_rng(seed), rates=[plan.rate * N], momentum=0.0,
            scale=1.0, constant=0.0,
        )[0].coef
        for seed in range(400)
    ]  # fmt: skip
    expected = plan.noise_multiplier * 0.3
    assert np.std(found) == pytest.approx(expected, rel=0.05)  # 6,000 normals: 5 errors
