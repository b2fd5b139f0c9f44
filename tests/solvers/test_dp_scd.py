import dataclasses
import math

import numpy as np
import pytest

from dpscd.errors import CardError, DataError, ParameterError, StreamError
from dpscd.kernels.dual import Records, advance
from dpscd.losses import Logistic
from dpscd.plan import Plan
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem
from dpscd.solvers import dp_scd as solver
from dpscd.solvers.dp_scd import dp_scd

N, D = 200, 3
PROBLEM = Problem(Logistic(), 0.01, N, D, constant=0.3)
PLAN = Plan(
    epsilon=1.0,
    delta=1e-5,
    relation=Relation.ZERO_OUT,
    n=N,
    d=D,
    outputs=1,
    intercept=True,
    lam=0.01,
    steps=60,
    rate=0.2,
    clip=0.05,
    separability=40.0,
    averaging=0.25,
    noise_multiplier=2.0,
)


def data(count=N):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(count, D))
    return PROBLEM.rows(X), Records(np.where(X[:, 0] > 0.0, 1.0, -1.0), np.ones(count))


def fit(**options):
    return dp_scd(PROBLEM, PLAN, *data(), SeededSource(b"fit"), **options)


def test_the_result_is_the_average_of_the_path_at_the_end():
    rows, records = data()
    source = SeededSource(b"fit")
    lots = PLAN.lots.draw(source, 0, PLAN.steps, N)
    normals = PLAN.noise.draw(source, 0, PLAN.steps, PLAN.size)
    dual, shared, average = np.zeros((N, 1)), np.zeros((1, 4)), np.zeros((1, 4))
    numbers = PLAN.numbers(PROBLEM.strength)
    advance(
        Logistic(),
        rows,
        records,
        numbers,
        *lots,
        normals,
        PLAN.average_from,
        dual,
        shared,
        average,
    )
    np.testing.assert_array_equal(fit(), average / 15.0)


def test_the_same_seed_gives_the_same_result_and_another_another():
    np.testing.assert_array_equal(fit(), fit())
    other = dp_scd(PROBLEM, PLAN, *data(), SeededSource(b"other"))
    assert (other != fit()).all()


@pytest.mark.parametrize("draw_ahead", [False, True])
@pytest.mark.parametrize("chunk", [1, 1000, 2000])
def test_neither_chunks_nor_threads_change_the_result(monkeypatch, chunk, draw_ahead):
    expected = fit()
    monkeypatch.setattr(solver, "_CHUNK", chunk)
    done = []
    found = fit(draw_ahead=draw_ahead, progress=done.append)
    np.testing.assert_array_equal(found, expected)
    assert sum(done) == PLAN.steps
    assert len(done) > 1


def test_a_source_cannot_be_used_for_two_fits():
    source = SeededSource(b"fit")
    dp_scd(PROBLEM, PLAN, *data(), source)
    with pytest.raises(StreamError):
        dp_scd(PROBLEM, PLAN, *data(), source)


def test_more_records_than_sums_can_hold_are_refused_before_any_draw():
    count = PLAN.capacity + 1
    many = np.broadcast_to(1.0, count)
    rows, records = data(1)[0]._replace(factor=many, norm=many), Records(many, many)
    source = SeededSource(b"many")
    with pytest.raises(DataError, match="far more records than the declared n"):
        dp_scd(PROBLEM, PLAN, rows, records, source)
    assert math.isfinite(dp_scd(PROBLEM, PLAN, *data(), source).sum())


def test_an_observer_sees_each_epoch_and_no_dual():
    looks = []
    found = fit(observer=lambda look: looks.append((look.epoch, look.dual)))
    assert looks == [(epoch, None) for epoch in range(1, 13)]
    np.testing.assert_array_equal(found, fit())


def test_a_plan_with_much_data_finds_the_direction():
    shared = fit()
    model = PROBLEM.model(shared)
    assert model.coef[0, 0] > 2.0 * np.abs(model.coef[0, 1:]).max()


@pytest.mark.parametrize(
    "changes",
    [{"d": D + 1}, {"n": N + 1}, {"outputs": 2}, {"intercept": False}, {"lam": 0.02}],
)
def test_a_plan_for_another_problem_is_refused(changes):
    plan = dataclasses.replace(PLAN, **changes)
    with pytest.raises(ParameterError, match="another problem"):
        dp_scd(PROBLEM, plan, *data(), SeededSource(b""))


@pytest.mark.parametrize("multiplier", [math.nan, math.inf, 0.0, -1.0, 1e220])
def test_a_plan_without_noise_is_refused(multiplier):
    plan = dataclasses.replace(PLAN, noise_multiplier=multiplier)
    with pytest.raises(CardError, match="noise_multiplier"):
        dp_scd(PROBLEM, plan, *data(), SeededSource(b""))


def test_records_that_do_not_match_are_refused():
    rows, records = data()
    short = records._replace(weights=records.weights[:-1])
    with pytest.raises(DataError, match="equally many"):
        dp_scd(PROBLEM, PLAN, rows, short, SeededSource(b""))
    narrow = rows._replace(values=rows.values[:, :2])
    with pytest.raises(DataError, match="columns"):
        dp_scd(PROBLEM, PLAN, narrow, records, SeededSource(b""))
    with pytest.raises(DataError, match="columns"):
        dp_scd(PROBLEM, PLAN, rows._replace(tail=0.0), records, SeededSource(b""))


def test_progress_does_not_tell_the_true_number_of_records():
    seen = []
    for count in (N - 1, N):
        done = []
        dp_scd(PROBLEM, PLAN, *data(count), SeededSource(b""), progress=done.append)
        seen.append(done)
    assert seen[0] == seen[1]
