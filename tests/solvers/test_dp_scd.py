import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse
from damping import dampings

from dpscd.errors import CardError, DataError, ParameterError, StreamError
from dpscd.kernels.dual import Records
from dpscd.kernels.lots import advance
from dpscd.kernels.pack import pack_rows
from dpscd.kernels.packed import advance_packed
from dpscd.losses import Logistic
from dpscd.privacy.draws import capacity_of
from dpscd.privacy.random import Purpose, SeededSource
from dpscd.problem import Problem
from dpscd.solvers import dp_scd as solver
from dpscd.solvers.dp_scd import dp_scd
from drawn import RecordingSource
from plans import Looks, make_facts, make_training

N, D = 200, 3
PROBLEM = Problem(Logistic(), 0.01, N, D, constant=0.3)
PLAN = make_training(
    n=N, d=D, lam=0.01, steps=60, rate=0.2, clip=0.05, separability=40.0, averaging=0.25,
    noise_multiplier=2.0,
)  # fmt: skip


def data(count=N, scale=1.0):
    generator = np.random.default_rng(1)
    X = scale * generator.normal(size=(count, D))
    return PROBLEM.rows(X), Records(np.where(X[:, 0] > 0.0, 1.0, -1.0), np.ones(count))


def fit(**options):
    return dp_scd(PROBLEM, PLAN, *data(), SeededSource(b"fit"), **options)


def by_hand(plan):
    """Return the average, from the draws, the kernels and the reference of the damping."""
    problem = dataclasses.replace(PROBLEM, lam=plan.lam)
    rows, records = data()
    source = SeededSource(b"fit")
    lots = plan.lots.draw(source, 0, plan.steps, N)
    normals = plan.noise.draw(source, 0, plan.steps, plan.size)
    dual, shared, average = np.zeros((N, 1)), np.zeros((1, 4)), np.zeros((1, 4))
    numbers = plan.constants(problem.strength, fixed_point=plan.fixed_point)
    pack, path = pack_rows(rows, records), []
    for t in range(plan.steps):
        path.append(shared.copy())
        damped = numbers._replace(separability=dampings(plan, path)[-1])
        part = lots.ids, lots.starts[t : t + 2], normals[t : t + 1], plan.average_from - t
        chunk = damped, *part, dual, shared, average
        if plan.fixed_point:
            advance_packed(Logistic(), pack, *chunk)
        else:
            advance(Logistic(), rows, records, *chunk)
    assert (damped.separability > plan.separability) == (plan.most_separability > 0.0)
    return average / (plan.steps - plan.average_from)


@pytest.mark.full
@pytest.mark.parametrize(("multiplier", "packed"), [(2.0, True), (0.001, False)])
def test_the_result_is_the_average_of_the_path_at_the_end(multiplier, packed):
    plan = dataclasses.replace(PLAN, noise_multiplier=multiplier)
    assert plan.fixed_point == packed
    found = dp_scd(PROBLEM, plan, *data(), SeededSource(b"fit"))
    np.testing.assert_array_equal(found, by_hand(plan))


def test_sparse_rows_stay_in_floats():
    X = np.random.default_rng(1).normal(size=(N, D))
    records = Records(np.where(X[:, 0] > 0.0, 1.0, -1.0), np.ones(N))
    rows = PROBLEM.rows(scipy.sparse.csr_matrix(X))
    found = dp_scd(PROBLEM, PLAN, rows, records, SeededSource(b"fit"))
    # The same draws on rows that are rounded to 16 bits.
    np.testing.assert_allclose(found, fit(), rtol=0.0, atol=1e-2)


def test_the_same_seed_gives_the_same_result_and_another_another():
    np.testing.assert_array_equal(fit(), fit())
    other = dp_scd(PROBLEM, PLAN, *data(), SeededSource(b"other"))
    assert (other != fit()).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("chunk", [1, 1000, 2000])
def test_neither_chunks_nor_threads_change_the_result(monkeypatch, chunk, threads):
    expected = fit()
    monkeypatch.setattr(solver, "_CHUNK", chunk)
    done = []
    found = fit(threads=threads, progress=done.append)
    np.testing.assert_array_equal(found, expected)
    assert sum(done) == PLAN.steps
    assert len(done) > 1


RISING = dataclasses.replace(
    PLAN, lam=1e-4, steps=240, noise_multiplier=0.2, separability=1.0, most_separability=40.0
)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chunk", [1, 1000, 2**16])
def test_the_damping_follows_the_path_whatever_the_chunks(monkeypatch, chunk, threads):
    monkeypatch.setattr(solver, "_CHUNK", chunk)
    problem = dataclasses.replace(PROBLEM, lam=RISING.lam)
    found = dp_scd(problem, RISING, *data(), SeededSource(b"fit"), threads=threads)
    np.testing.assert_array_equal(found, by_hand(RISING))


@pytest.mark.parametrize("scale", [0.0, 1.0])
@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.compiled)])
def test_every_planned_step_is_run(threads, scale):
    """Whatever the data."""
    source, done = RecordingSource(b"fit"), []
    given = *data(scale=scale), source
    dp_scd(PROBLEM, PLAN, *given, threads=threads, progress=done.append)
    assert sum(done) == PLAN.steps
    for purpose in (Purpose.NOISE, Purpose.LOTS):
        assert sum(call[2] for call in source.calls if call[0] is purpose) == PLAN.steps


def test_a_source_cannot_be_used_for_two_fits():
    source = SeededSource(b"fit")
    dp_scd(PROBLEM, PLAN, *data(), source)
    with pytest.raises(StreamError):
        dp_scd(PROBLEM, PLAN, *data(), source)


def test_more_records_than_sums_can_hold_are_refused_before_any_draw():
    count = capacity_of(PLAN.n) + 1
    many = np.broadcast_to(1.0, count)
    rows, records = data(1)[0]._replace(factor=many, norm=many), Records(many, many)
    source = SeededSource(b"many")
    with pytest.raises(DataError, match="far more records than the declared n"):
        dp_scd(PROBLEM, PLAN, rows, records, source)
    assert math.isfinite(dp_scd(PROBLEM, PLAN, *data(), source).sum())


@pytest.mark.parametrize("pause", [None, 1, 7])
def test_an_observer_sees_the_path_and_no_dual(pause):
    looks = Looks(pause)
    found = fit(observer=looks)
    np.testing.assert_array_equal(found, fit())
    assert looks.begun == [(PROBLEM, PLAN)]
    stops = {*range(pause or 5, PLAN.steps, pause or 5), PLAN.steps}  # the last is always seen
    assert [steps for steps, _ in looks.path] == sorted(stops)
    assert {shared.shape for _, shared in looks.path} == {(1, D + 1)}
    if pause == 1:
        path = [shared for _, shared in looks.path[PLAN.average_from :]]
        np.testing.assert_allclose(np.mean(path, axis=0), found, rtol=1e-12)


@pytest.mark.parametrize(
    "changes", [{"d": D + 1}, {"n": N + 1}, {"outputs": 3}, {"intercept": False}, {}]
)
def test_a_plan_for_another_problem_is_refused(changes):
    facts = make_facts(**{"n": N, "d": D, **changes})
    plan = dataclasses.replace(PLAN, facts=facts, lam=0.01 if changes else 0.02)
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
