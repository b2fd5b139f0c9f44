"""DP-SGD is noisy clipped gradient descent, claims what its plan does and finds the optimum."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpscd.errors import DataError, ParameterError, StreamError
from dpscd.kernels.dual import Records
from dpscd.losses import Hinge, Logistic, Squared, slope
from dpscd.plan import Plan
from dpscd.planning import Facts, plan_fit
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.problem import Problem
from dpscd.solvers import dp_scd as draws_module
from dpscd.solvers.sdca import sdca
from dpscd_experiments.solvers.dp_sgd import dp_sgd

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


def test_neither_chunks_nor_threads_nor_observers_change_the_result(monkeypatch):
    expected, looks = fit(), []
    np.testing.assert_array_equal(fit(observer=looks.append), expected)
    assert [look.epoch for look in looks] == list(range(1, 9))
    assert all(look.dual is None and 0.0 < look.clipped <= 1.0 for look in looks)
    monkeypatch.setattr(draws_module, "_CHUNK", 500)
    np.testing.assert_array_equal(fit(draw_ahead=True), expected)
    assert (fit(seed=b"other") != expected).all()


@pytest.mark.compiled
def test_a_planned_run_reaches_its_claim_and_the_optimum():
    problem, _, rows, records = case(Logistic(), n=20000, lam=0.02)
    plan = plan_fit(
        Facts(20000, D, 1, "classification", 1.0, 0.0), PrivacyTarget(1.0, 1e-5),
        lam=0.02, epochs=30, lot_size=400, travel=30.0,
    )  # fmt: skip
    assert plan.clip == pytest.approx(1.0)
    assert plan.claim().epsilon <= 1.0
    best, _ = sdca(problem, rows, records, SeededSource(b"o"), tolerance=1e-9)
    found = dp_sgd(problem, plan, rows, records, SeededSource(b"p"), learning_rate=4.0)
    np.testing.assert_allclose(found, best, atol=0.1 * np.abs(best).max())


def test_what_means_nothing_is_refused():
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
