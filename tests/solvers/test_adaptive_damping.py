"""The damping of steps follows the plan and the released path, and nothing else."""

import inspect

import numpy as np
import pytest
from damping import dampings
from hypothesis import given
from hypothesis import strategies as st
from test_sharded import Piece, Plain

from dpscd.kernels.dual import Records
from dpscd.losses import Hinge, Logistic, Squared
from dpscd.privacy.random import LotsSource, SeededSource
from dpscd.problem import Problem
from dpscd.solvers.dp_scd import Damping, dp_scd
from dpscd.solvers.shard import Shard
from plans import held, make_training

N, D = 400, 5


def planned(**changes):
    values = {
        "n": N, "d": D, "intercept": False, "lam": 1e-3, "steps": 200, "rate": 0.2,
        "clip": 0.05, "separability": 3.0, "averaging": 0.0, "noise_multiplier": 0.5,
        "most_separability": 80.0,
    }  # fmt: skip
    return make_training(**{**values, **changes})


def followed(plan, path):
    """Return the damping of every step along a path."""
    damping = Damping(plan)
    return [damping.before(t, each) for t, each in enumerate(path)]


def paths(plan, size, back, seed):
    """Return a path of increments of this size, `back` of each being taken back next."""
    rng = np.random.default_rng(seed)
    moves = rng.normal(size=(plan.steps, plan.outputs, D)) * size
    moves[1:] -= back * moves[:-1]
    return np.cumsum(moves, axis=0)


@pytest.mark.full
@given(
    st.sampled_from([1.0, 0.2, 0.07, 0.01]),
    st.sampled_from([1, 3]),
    st.sampled_from([0.1, 0.3, 0.5, 10.0]),
    st.floats(-1.0, 1.0),
    st.integers(0, 1000),
)
def test_the_damping_is_that_of_the_reference(rate, outputs, size, back, seed):
    plan = planned(rate=rate, outputs=outputs)
    path = paths(plan, size, back, seed)
    expected = dampings(plan, path)
    assert followed(plan, path) == expected
    lazy = Damping(plan)
    # Who asks only where the path may matter has the same.
    number = 0
    while number < plan.steps:
        damping, alone = lazy.before(number, path[number]), lazy.alone(number)
        assert alone >= 1
        assert {damping} == set(expected[number : number + alone])
        number += alone
    assert expected == sorted(expected)
    assert 3.0 <= expected[-1] <= 80.0


def test_a_path_that_swings_doubles_the_damping_once_a_window_up_to_the_most():
    plan = planned()
    path = [np.full((1, D), (-1.0) ** t) for t in range(plan.steps)]
    damping = Damping(plan)
    found = [damping.before(t, each) for t, each in enumerate(path)]
    assert found == [3.0 * 2.0**k if k < 5 else 80.0 for k in (np.arange(plan.steps) + 1) // 10]
    assert damping.alone(60) == plan.steps - 60


def test_swings_that_noise_explains_are_none():
    plan = planned()
    # A step of this length in each coordinate has the square that is expected of one.
    one = (plan.noise.std**2 + 80.0 * plan.clip**2 / D) ** 0.5
    for size, last in ((1.4 * one, 3.0), (1.43 * one, 80.0)):
        path = [np.full((1, D), size * (t % 2)) for t in range(plan.steps)]
        assert followed(plan, path)[-1] == last


def test_a_path_that_gets_somewhere_does_not_swing():
    path = [np.full((1, D), float(t + 2 * (t % 3))) for t in range(200)]
    assert set(followed(planned(), path)) == {3.0}


@pytest.mark.parametrize(("steps", "first"), [(39, 80.0), (40, 40.0), (159, 10.0), (160, 5.0)])
def test_with_few_looks_the_damping_starts_higher(steps, first):
    assert Damping(planned(steps=steps)).before(0, np.zeros((1, D))) == first
    assert Damping(planned(steps=steps, rate=0.025)).before(
        0, np.zeros((1, D))
    ) == 80.0 / 2 ** (steps // 160)


def test_vectors_outside_its_windows_do_not_matter():
    plan = planned(rate=0.02)
    path = paths(plan, 10.0, 0.9, 1)
    other = path.copy()
    for t in range(plan.steps):
        if t % 50 >= 10:
            other[t] = 1e6 * (-1.0) ** t
    assert dampings(plan, path)[-1] > 3.0
    assert followed(plan, other) == dampings(plan, path)


@pytest.mark.parametrize("most", [0.0, 3.0])
def test_a_plan_whose_damping_may_not_rise_never_looks(most):
    plan = planned(most_separability=most)
    assert Damping(plan).alone(0) == plan.steps
    assert set(followed(plan, paths(plan, 10.0, 1.0, 0))) == {3.0}


@pytest.mark.full
@pytest.mark.parametrize("noise", [0.5, 1e-5], ids=["fixed point", "floats"])
def test_what_a_record_adds_under_a_path_that_swings_does_not_depend_on_the_others(noise):
    count = 40
    plan = planned(n=count, noise_multiplier=noise, steps=60, clip=10.0)
    problem = Problem(Squared(), plan.lam, count, D)
    rng = np.random.default_rng(3)
    arrays = rng.normal(size=(count, D)) / 5.0, rng.normal(size=count), np.ones(count)
    lots = LotsSource.of(SeededSource(b"lots"))
    path = [50.0 * (-1.0) ** t * np.ones((1, D)) for t in range(plan.steps)]
    assert dampings(plan, path)[-1] == 80.0

    def totals(start, stop):
        shard = Shard([Piece(*(a[start:stop] for a in arrays))], Plain(features=D))
        shard.begin(problem, plan, lots, start, stop - start, None)
        return np.array([shard.step(t, v) for t, v in enumerate(path)])

    alone = [totals(i, i + 1) for i in range(count)]
    np.testing.assert_array_equal(totals(0, count), sum(alone))
    assert any(each.any() for each in alone)


def rows(kind, rng):
    X = rng.normal(size=(N, D))
    if kind == "parallel":
        X = 1.0 + 0.02 * X
    elif kind == "one factor":
        X = X[:, :1] + 0.02 * X
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def objective(kind, loss, **changes):
    """Return the primal objective of a fit's last vector."""
    plan = planned(lam=1e-4, **changes)
    rng = np.random.default_rng(0)
    X = rows(kind, rng)
    y = X @ np.arange(1.0, D + 1.0) / 5.0
    labels = y if isinstance(loss, Squared) else np.sign(y - np.median(y))
    problem = Problem(loss, plan.lam, N, D)
    store = held(X, labels)
    records = Records(labels, np.ones(N))
    shared = dp_scd(problem, plan, problem.rows(store.X), records, SeededSource(b"swings"))
    return problem.gap(problem.rows(X), records, np.zeros((N, 1)), shared)[0]


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=str)
@pytest.mark.parametrize("kind", ["parallel", "one factor"])
def test_rows_that_are_nearly_parallel_do_not_diverge(kind, loss):
    safe = objective(kind, loss, separability=80.0, most_separability=0.0)
    weak = objective(kind, loss, most_separability=0.0)
    found = objective(kind, loss)
    assert found < 1.5 * safe
    assert weak > 2.5 * safe  # the test can tell


def test_rows_in_all_directions_keep_a_weak_damping():
    weak = objective("any", Squared(), separability=20.0, most_separability=0.0)
    assert objective("any", Squared(), separability=20.0) == weak


def test_the_damping_is_given_a_plan_and_released_vectors_only():
    assert [*inspect.signature(Damping).parameters] == ["plan"]
    assert [*inspect.signature(Damping.before).parameters] == ["self", "number", "shared"]
