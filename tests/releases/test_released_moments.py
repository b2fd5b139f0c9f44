"""What is released before training: the law of its noise, and what it estimates."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpscd.errors import DataError, ParameterError
from dpscd.kernels.draws import PAIR_WORDS
from dpscd.losses import Squared
from dpscd.privacy.draws import LatticeGaussian, capacity_of
from dpscd.privacy.random import Purpose, SeededSource
from dpscd.problem import Problem
from dpscd.releases.base import Residuals, State
from dpscd.releases.moments import (
    DistanceQuery,
    LabelQuery,
    MomentsQuery,
    ResidualQuery,
    ResidualSpread,
)
from drawn import RecordingSource
from plans import after, held, make_plan, stores

FALSE_ALARM = 1e-6
N, D = 1024, 3  # a power of two: dividing by it is exact


def plan(**changes):
    noise = {"noise_multiplier": 1.0, "moments_noise": 5.0, "label_noise": 7.0}
    return make_plan(**{"n": N, "d": D, **noise, **changes})


class Estimates(NamedTuple):
    mean: np.ndarray
    square: np.ndarray
    error: float


class Labels(NamedTuple):
    centre: float
    spread: float


def problem_of(d=D, row_bound=1.0, n=N):
    return Problem(Squared(), 1.0, n, d, row_bound=row_bound)


def released_moments(one, X, weights, source, row_bound=1.0):
    facts, release = one.facts, one.listed("moments")
    query = MomentsQuery(facts.n, problem_of(facts.d, row_bound, facts.n))
    answer = release.answered(query, stores(held(X, weights=weights), source), 0)
    return Estimates(*release.estimates(answer))


def released_labels(one, labels, weights, source):
    """Return the centre, and the spread as it is released, whatever is made of it."""
    store = held(np.zeros((len(labels), D)), labels, weights)
    start, spread = problem_of(n=one.facts.n), one.listed("label spread")
    state = State(one, start, start)
    if one.facts.intercept:
        state = after(one.listed("label mean"), state, store, source)
    query = DistanceQuery(one.facts.n, start, state.centre)
    answer = spread.answered(query, stores(store, source), 0)
    return Labels(state.centre, 2.0 * spread.mean(answer))


def released_spread(one, distances, weights, source):
    n = one.facts.n
    query = ResidualQuery(n, Residuals(problem_of(n=n), np.zeros((1, D)), 1.0))
    store = held(np.zeros((len(distances), D)), distances, weights)
    spread = ResidualSpread(one.facts, one.listed("label spread").noise_multiplier)
    return 2.0 * spread.mean(spread.answered(query, stores(store, source), 1))


def moments_of(one, X, weights=None, seed=b"m", row_bound=1.0):
    return released_moments(one, X, weights, SeededSource(seed), row_bound)


def labels_of(one, labels, weights=None, seed=b"l"):
    weights = np.ones(len(labels)) if weights is None else weights
    return released_labels(one, np.asarray(labels), np.asarray(weights), SeededSource(seed))


def follows(values, std):
    """Return whether values look like N(0, std^2), at the stated false alarm."""
    values = np.asarray(values)
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], values.size)
    spread = low < np.sum(values**2) / std**2 < high
    far = stats.norm.isf(FALSE_ALARM / 2)
    centre = abs(values.mean()) < far * std / math.sqrt(values.size)
    shape = stats.kstest(values / std, "norm").pvalue > FALSE_ALARM
    return bool(spread and centre and shape)


def test_the_noise_of_moments_is_the_stated_one():
    d = 3000
    one = plan(d=d)
    found = moments_of(one, np.zeros((10, d)))
    for values in (found.mean, found.square, np.concatenate(found[:2])):
        # A release of clip 1: noise of standard deviation moments_noise on x / sqrt(2).
        std = math.sqrt(2.0) * 5.0 / N
        assert follows(values, std)
        for wrong in (0.5, math.sqrt(0.5), math.sqrt(2.0), 2.0):
            assert not follows(values * wrong, std)
    assert found.error == pytest.approx(math.sqrt(2.0) * 5.0 / N)
    assert abs(np.corrcoef(found.mean, found.square)[0, 1]) < 0.1


def test_the_noise_of_label_moments_is_the_stated_one():
    one = plan()
    found = [labels_of(one, np.zeros(5), seed=bytes([k % 256, k // 256])) for k in range(1500)]
    centres = np.array([each.centre for each in found])
    # The spread is of |0 - centre|, five records of it.
    spreads = np.array([each.spread for each in found]) - 5.0 * np.abs(centres) / N
    for values, std in ((centres, 7.0 / N), (spreads, 14.0 / N)):
        assert follows(values, std)
        for wrong in (0.5, math.sqrt(0.5), math.sqrt(2.0), 2.0):
            assert not follows(values * wrong, std)
    assert abs(np.corrcoef(centres, spreads)[0, 1]) < 0.15


def test_with_hardly_any_noise_the_moments_are_exact():
    rng = np.random.default_rng(0)
    X = rng.normal([3.0, -1.0, 0.0], [0.5, 1.0, 2.0], size=(N, D))
    found = moments_of(plan(moments_noise=1e-6), X, row_bound=4.0)
    x = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 4.0)
    np.testing.assert_allclose(found.mean, x.mean(axis=0), atol=2e-6)
    np.testing.assert_allclose(found.square, (x * x).mean(axis=0), atol=2e-6)


def test_sparse_and_dense_rows_have_the_same_moments():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, D)) * (rng.random((200, D)) < 0.5)
    dense, sparse = moments_of(plan(), X), moments_of(plan(), scipy.sparse.csr_array(X))
    np.testing.assert_array_equal(dense.mean, sparse.mean)
    np.testing.assert_array_equal(dense.square, sparse.square)


def test_the_declared_n_divides_and_not_the_number_of_records():
    X, y = np.full((100, D), 0.5), np.full(100, 0.5)
    one = plan(n=4096, moments_noise=1e-6, label_noise=1e-6)
    np.testing.assert_allclose(moments_of(one, X).mean, 0.5 * 100 / 4096, atol=1e-6)
    assert labels_of(one, y).centre == pytest.approx(0.5 * 100 / 4096, abs=1e-6)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_records_that_cannot_be_used_add_nothing(bad):
    rng = np.random.default_rng(2)
    X, weights = rng.uniform(-0.5, 0.5, size=(50, D)), np.ones(50)
    X[:5, 0] = bad
    weights[5:10] = [0.0, -1.0, math.nan, -0.0, 0.0]
    found = moments_of(plan(), X, weights)
    rest = moments_of(plan(), X[10:])
    for a, b in zip(found, rest, strict=True):
        np.testing.assert_array_equal(a, b)


def test_labels_that_cannot_be_used_add_nothing():
    labels, weights = np.linspace(-1.0, 1.0, 50), np.ones(50)
    labels[:3] = math.nan
    weights[3:8] = [0.0, -1.0, math.nan, -0.0, 0.0]
    for intercept in (False, True):
        one = plan(intercept=intercept)
        assert labels_of(one, labels, weights) == labels_of(one, labels[8:])


@pytest.mark.parametrize("intercept", [False, True])
def test_label_moments_are_the_mean_and_the_mean_distance_from_it(intercept):
    rng = np.random.default_rng(3)
    y = np.clip(0.3 + 0.2 * rng.normal(size=N), -1.0, 1.0)
    found = labels_of(plan(label_noise=1e-6, intercept=intercept), y)
    centre = y.mean() if intercept else 0.0
    assert found.centre == pytest.approx(centre, abs=1e-5)
    assert found.spread == pytest.approx(np.abs(y - centre).mean(), abs=1e-5)


def test_labels_beyond_their_bounds_are_clipped():
    y = np.array([5.0, 1e300, -3.0, 0.5, 5e-324])
    one = plan()
    assert labels_of(one, y) == labels_of(one, [1.0, 1.0, -1.0, 0.5, 0.0])


def test_a_centre_outside_the_bounds_is_moved_to_them():
    centres = [
        labels_of(plan(label_noise=5.0 * N), np.zeros(9), seed=b"%d" % k) for k in range(20)
    ]
    assert {1.0, -1.0} <= {each.centre for each in centres}
    assert all(abs(each.centre) <= 1.0 for each in centres)


def test_the_spread_is_around_the_released_mean_and_not_the_true_one():
    one = plan(label_noise=300.0)
    for seed in (b"1", b"2", b"3"):
        y = np.full(N, 0.25)
        found = labels_of(one, y, seed=seed)
        assert abs(found.centre - 0.25) > 0.01
        noise = LatticeGaussian(1.0, 300.0)
        normal = noise.draw(SeededSource(seed), 0, 1, 1, Purpose.LABEL_SPREAD)[0, 0]
        expected = abs(0.25 - found.centre) + 2.0 * 300.0 * normal / N
        assert found.spread == pytest.approx(expected, abs=1e-3)


extreme = st.sampled_from(
    [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, 1.0, -1.0, 1.0 + 2**-52, 2.0]
)
label = st.one_of(st.floats(-3.0, 3.0), st.floats(), extreme)


@pytest.mark.full
@settings(max_examples=200)
@given(
    labels=st.lists(label, min_size=3, max_size=3),
    other=label,
    weights=st.lists(st.one_of(st.just(1.0), extreme), min_size=3, max_size=3),
)
def test_no_neighbour_moves_a_label_moment_by_more_than_one(labels, other, weights):
    # The noise is far finer than the cells and the same for all: differences are exact.
    one = plan(label_noise=2.0**-30)

    def moved(release, factor, a, b, weights_a, weights_b):
        found = [
            Fraction(release(np.array(y), np.array(w))) * N / factor
            for y, w in ((a, weights_a), (b, weights_b))
        ]
        return abs(found[0] - found[1])

    def mean(y, w):
        return labels_of(one, y, w).centre

    def spread(y, w):
        return released_spread(one, y, w, SeededSource(b"s"))

    for release, factor in ((mean, 1), (spread, 2)):
        silent = [0.0, *weights[1:]]
        assert moved(release, factor, labels, labels, weights, silent) <= 1
        assert moved(release, factor, labels, labels[1:], weights, weights[1:]) <= 1
        changed, full = [other, *labels[1:]], [1.0, *weights[1:]]
        assert moved(release, factor, labels, changed, full, full) <= 2


def test_a_query_that_is_not_the_planned_one_is_refused():
    moments, store = plan().listed("moments"), stores(held(np.zeros((5, D))), SeededSource(b""))
    for query in (MomentsQuery(N, problem_of(D + 1)), MomentsQuery(N + 1, problem_of())):
        with pytest.raises(ParameterError, match="not the one that is planned"):
            moments.answered(query, store, 0)
    query = MomentsQuery(N, problem_of())
    with pytest.raises(ParameterError, match="not the one that is planned"):
        moments.answered(query, store, 1)


def test_a_spread_of_residuals_needs_a_pilot():
    one, start = plan(), problem_of()
    with pytest.raises(ParameterError, match="no pilot"):
        ResidualSpread(one.facts, 1.0).query(State(one, start, start))


def test_rows_that_do_not_match_the_plan_are_refused():
    with pytest.raises(DataError, match="columns"):
        moments_of(plan(), np.zeros((5, D + 1)))
    tailed = Problem(Squared(), 1.0, N, D, constant=0.3).rows(np.zeros((5, D)))
    with pytest.raises(DataError, match="columns"):
        MomentsQuery(N, problem_of()).total_of(tailed, np.ones(5))
    for count in (4, 6):
        with pytest.raises(DataError, match="equally many"):
            moments_of(plan(), np.zeros((5, D)), np.ones(count))
        with pytest.raises(DataError, match="equally many"):
            labels_of(plan(), np.zeros(5), np.ones(count))


def test_more_records_than_sums_can_hold_are_refused_before_any_draw():
    one = plan()
    many = np.broadcast_to(1.0, capacity_of(one.training.n) + 1)
    source = SeededSource(b"")
    rows = np.broadcast_to(0.0, (len(many), D))
    with pytest.raises(DataError, match="far more records"):
        released_moments(one, rows, many, source)
    with pytest.raises(DataError, match="far more records"):
        held(rows, many, many).total(LabelQuery(N, problem_of()))
    released_moments(one, np.zeros((1, D)), np.ones(1), source)


def test_the_size_of_the_plan_is_what_is_drawn():
    """One normal for each number that the plan states, and a step of its own for each."""
    one, source = plan(d=5), RecordingSource(b"")
    released_moments(one, np.zeros((2, 5)), np.ones(2), source)
    released_labels(one, np.zeros(2), np.ones(2), source)
    stated = {cost.what: cost for cost in one.costs if cost.what != "shared vector"}
    expected = [
        (Purpose.MOMENTS, "moments"),
        (Purpose.LABEL_MEAN, "label mean"),
        (Purpose.LABEL_SPREAD, "label spread"),
    ]
    for call, (purpose, what) in zip(source.calls, expected, strict=True):
        release = stated.pop(what)
        assert call == (purpose, 0, release.event.steps, PAIR_WORDS * release.pairs)
        assert release.clip == release.event.rate == 1.0
    assert not stated
