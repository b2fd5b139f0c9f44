"""DP-SGD is noisy clipped gradient descent, and its plan reaches the privacy asked for."""

from dataclasses import replace

import numpy as np
import pytest
import transcription
from scipy.special import softmax
from transcription import Case

from dpscd.errors import StreamError
from dpscd.privacy.random import SeededSource
from dpscd_experiments.paper import Settings
from dpscd_experiments.solvers.dp_sgd import dp_sgd
from dpscd_experiments.solvers.lots import alone, lots_training, unit_training
from dpscd_experiments.solvers.softmax_sgd import softmax_sgd

N, D = 60, 5
PLAN = lots_training(
    N, D, 12, 1.0, 1e-5, lam=0.05, steps=40, clip=0.3, averaging=0.25, noise_multiplier=1.5
)


def fit(case, source):
    return dp_sgd(case.problem, PLAN, case.rows, case.records, source, learning_rate=0.8)


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_it_is_noisy_clipped_gradient_descent(loss):
    case, source = Case(loss), SeededSource(b"fit")
    lots = transcription.members(PLAN.lots.draw(source, 0, PLAN.steps, N))
    normals = PLAN.noise.draw(source, 0, PLAN.steps, D)
    settings = Settings(1, round(0.2 * N), clip=0.3, sigma=1.5, learning_rate=0.8)
    path, _ = transcription.dp_sgd(case, settings, lots, None, normals)
    # Gradients are cut to a fine lattice and sums rounded to a grid of std / 1024.
    expected = case.problem.strength * np.mean(path[30:], axis=0)
    found = fit(case, SeededSource(b"fit"))[0]
    np.testing.assert_allclose(found, expected, atol=0.01 * np.abs(expected).max())


def test_plans_claim_what_was_asked_and_noise_is_drawn_once():
    plan = unit_training(120, D, 20, 4, 1.0, 1e-5, constant=0.3)
    assert (plan.steps, plan.rate) == (24, pytest.approx(1 / 6))
    assert 0.99 < alone(plan).claim().epsilon <= 1.0
    case, source = Case("hinge"), SeededSource(b"once")
    fit(case, source)
    with pytest.raises(StreamError):
        fit(case, source)


COMMON = {"momentum": 0.9, "scale": 2.0, "constant": 0.25}


def plain_loop(plan, X, y, random, rate, momentum, scale, constant):
    """Return all iterates, with one gradient for each record."""
    rows = np.hstack((X / scale, np.full((len(X), 1), constant)))
    weights, speed, path = np.zeros((D + 1, 3)), np.zeros((D + 1, 3)), []
    for _ in range(plan.steps):
        total = np.zeros_like(weights)
        for i in np.flatnonzero(random.random(N) < plan.rate):
            slope = softmax(rows[i] @ weights) - np.eye(3)[y[i]]
            gradient = np.outer(rows[i], slope)
            total += gradient * min(1.0, plan.clip / np.linalg.norm(gradient))
        noise = random.standard_normal((D + 1, 1, 3), dtype=np.float32)[:, 0]
        speed = momentum * speed + total + plan.noise_multiplier * plan.clip * noise
        weights = weights - rate / (plan.rate * N) * speed
        path.append(weights)
    return np.array(path)


@pytest.mark.parametrize("clip", [0.1, 10.0])
def test_it_is_the_plain_loop_with_the_noise_of_the_plan(clip):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(N, D)).astype(np.float32), random.integers(0, 3, N)
    plan = replace(unit_training(N, D, 20, 4, 3.0, 1e-5, 3, constant=0.3), clip=clip)
    last, mean = softmax_sgd(
        plan, X, y, np.random.default_rng(7), rates=[0.5], averaging=[0.0, 0.5], **COMMON
    )
    path = plain_loop(plan, X, y, np.random.default_rng(7), 0.5, **COMMON)
    for model, expected in ((last, path[-1]), (mean, path[plan.steps // 2 :].mean(axis=0))):
        np.testing.assert_allclose(model.coef, expected[:-1].T / 2.0, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(model.intercept, 0.25 * expected[-1], rtol=1e-3, atol=1e-5)
