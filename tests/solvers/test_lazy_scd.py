"""Training with lazy noise: nothing is seen before it has all its noise."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
import scipy.stats

from dpscd.errors import ParameterError, StreamError
from dpscd.kernels.dual import Records
from dpscd.losses import Hinge
from dpscd.privacy.random import Purpose, SeededSource
from dpscd.problem import Problem
from dpscd.solvers import lazy
from dpscd.solvers.dp_scd import dp_scd
from dpscd.solvers.lazy import LazyVector
from drawn import RecordingSource
from plans import Looks, make_training

N, D = 60, 1400
PROBLEM = Problem(Hinge(), 0.01, N, D, outputs=3, constant=0.3)
PLAN = make_training(
    n=N, d=D, outputs=3, lam=0.01, steps=20, rate=0.2, clip=0.05, separability=12.0,
    averaging=0.4, noise_multiplier=2.0,
)  # fmt: skip


def with_epsilon(epsilon, plan=PLAN):
    return dataclasses.replace(plan, target=dataclasses.replace(plan.target, epsilon=epsilon))


def data(entries=5):
    generator = np.random.default_rng(1)
    X = scipy.sparse.random(N, D, entries / D, "csr", random_state=generator)
    return PROBLEM.rows(X), Records(generator.integers(0, 3, N) * 1.0, np.ones(N))


def silent():
    rows, records = data()
    return rows, Records(records.labels, np.zeros(N))


def fit(seed=b"lazy", plan=PLAN, of=data, **options):
    return dp_scd(PROBLEM, plan, *of(), SeededSource(seed), **options)


@pytest.mark.full
def test_the_damping_of_a_lazy_fit_is_fixed():
    """The path that would tell whether it swings is not all drawn: nothing may follow it."""
    strong = dataclasses.replace(PLAN, clip=5.0)  # steps that are damped rather than clipped
    weak = dataclasses.replace(strong, separability=3.0)
    may_rise = dataclasses.replace(weak, most_separability=12.0)
    assert (fit(plan=weak) != fit(plan=strong)).any()
    for looks in ({}, {"observer": Looks()}):
        np.testing.assert_array_equal(fit(plan=may_rise, **looks), fit(plan=strong, **looks))


def test_many_sparse_columns_get_lazy_noise_and_dense_ones_do_not():
    assert PLAN.lazy
    rows, records = data()
    dense = PROBLEM.rows(np.zeros((N, D)))
    for plan, own, purpose in (
        (PLAN, rows, Purpose.LAZY_NOISE),
        (PLAN, dense, Purpose.NOISE),
        (with_epsilon(33.0), rows, Purpose.NOISE),
    ):
        source = RecordingSource(b"lazy")
        dp_scd(PROBLEM, plan, own, records, source)
        drawn = {call[0] for call in source.calls}
        assert drawn & {Purpose.LAZY_NOISE, Purpose.NOISE} == {purpose}


def test_the_same_seed_gives_the_same_result_and_another_another():
    found = fit()
    np.testing.assert_array_equal(fit(), found)
    assert (fit(b"other") != found).all()


@pytest.mark.parametrize(("chunk", "pairs"), [(1, 3), (60, 2**13), (2**15, 5000)])
def test_neither_chunks_nor_pieces_change_the_result(monkeypatch, chunk, pairs):
    expected = fit()
    monkeypatch.setattr(lazy, "_CHUNK", chunk)
    monkeypatch.setattr(lazy, "_PAIRS", pairs)
    done = []
    np.testing.assert_array_equal(fit(progress=done.append), expected)
    assert sum(done) == PLAN.steps


def deviation(plan):
    """Return the standard deviation of the average when nothing but noise moves it."""
    tail = plan.steps - plan.average_from
    sums = np.minimum(tail, np.arange(plan.steps, 0, -1)) / tail
    return plan.noise.std * np.sqrt((sums**2).sum())


def spread_is(values, expected):
    """Check a standard deviation, with a false-alarm rate of 1e-7."""
    ratio = (values**2).sum() / expected**2
    law = scipy.stats.chi2(values.size)
    return law.ppf(5e-8) < ratio < law.isf(5e-8)


@pytest.mark.parametrize("averaging", [0.0, 0.4, 1.0])
def test_without_signal_the_result_is_exactly_the_stated_noise(averaging):
    plan = dataclasses.replace(PLAN, averaging=averaging)
    found = fit(plan=plan, of=silent)
    assert spread_is(found, deviation(plan))
    for wrong in (0.5, 1.1):
        assert not spread_is(found * wrong, deviation(plan))


def test_a_look_shows_a_vector_that_has_all_its_noise():
    looks = Looks()
    found = fit(of=silent, observer=looks)
    assert [steps for steps, _ in looks.path] == [5, 10, 15, 20]
    before = 0.0
    for _, shared in looks.path:
        assert spread_is(shared - before, PLAN.noise.std * np.sqrt(5.0))
        before = shared
    assert spread_is(found, deviation(PLAN))


def test_what_is_seen_does_not_show_which_columns_were_read():
    """Every entry moves between two looks, read or not; all lie on the grid."""
    observer = Looks()
    fit(observer=observer)
    looks = [shared for _, shared in observer.path]
    for one, other in zip([np.zeros_like(looks[0]), *looks], looks, strict=False):
        assert ((one != other).mean()) > 0.998
        assert (other % PLAN.noise.grid == 0.0).all()


@pytest.mark.parametrize("plan", [with_epsilon(33.0), dataclasses.replace(PLAN, steps=2**21)])
def test_a_plan_that_is_not_lazy_is_refused(plan):
    """Nobody paid for its lazy noise, or the proof does not cover it."""
    source = RecordingSource(b"lazy")
    with pytest.raises(ParameterError, match="lazy"):
        LazyVector(PROBLEM, plan, source)
    with pytest.raises(ParameterError, match="lazy"):
        lazy.lazy_scd(PROBLEM, plan, *data(), source, epoch=5)
    assert source.calls == []


def test_an_interrupted_fit_leaves_nothing():
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        fit(progress=stop)
    assert caught.value.args == ()
    assert repr(LazyVector(PROBLEM, PLAN, SeededSource(b"x"))) == "LazyVector()"


def test_a_fit_without_noise_worth_the_name_finds_the_eager_model():
    """With hardly any noise both ways go the same path."""
    plan = dataclasses.replace(PLAN, noise_multiplier=1e-5)
    assert plan.lazy
    found = fit(plan=plan)
    eager = fit(plan=with_epsilon(33.0, plan))
    assert abs(eager).max() > 1e-3
    np.testing.assert_allclose(found, eager, rtol=0.0, atol=1e-4)


def test_an_average_is_drawn_once():
    """A second one would have other noise, and the mean of both less."""
    vector = LazyVector(PROBLEM, PLAN, SeededSource(b"lazy"))
    vector.average()
    with pytest.raises(StreamError, match="once"):
        vector.average()
