"""What is released after training: what a record can move, and what becomes of the model."""

import dataclasses
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from test_information import check_moves

from dpscd.errors import ParameterError
from dpscd.kernels.passes import fill_probabilities
from dpscd.link import Link
from dpscd.losses import Logistic, Poisson, Squared
from dpscd.persons import PersonFacts, PersonRows
from dpscd.privacy.random import SeededSource
from dpscd.problem import Model, Problem
from dpscd.records.labels import CountLabels, NumberLabels
from dpscd.releases.base import State
from dpscd.releases.probability import Calibration, CalibrationQuery, Level, LevelQuery
from dpscd.releases.rescaling import LongRows, LongRowsQuery, RescalingQuery
from dpscd.solvers.local import LocalRecords
from plans import after, make_facts, make_plan
from plans import held as held_rows

N, D = 4000, 2
LINKS = st.builds(
    Link, st.floats(0.01, 1.0), st.tuples(st.floats(0.5, 1.0), st.floats(0.5, 1.0))
)


def plan(**changes):
    values = {
        "n": N, "d": D, "facts": {"loss": "Logistic"}, "lam": 0.01, "rate": 0.01, "clip": 0.5,
        "separability": 40.0, "averaging": 0.4, "noise_multiplier": 1.0,
    }  # fmt: skip
    return make_plan(**{**values, **changes})


def facts_of(**more):
    return make_facts(**{"n": N, "d": D, "loss": "Logistic", **more})


def problem_of(loss=None, **changes):
    return Problem(loss or Logistic(), 0.01, N, D, constant=0.3, **changes)


def model_of(coef, intercept, problem):
    return Model(np.array([coef]), np.array([intercept]), runs=(problem,))


def held(X, labels, weights=None):
    weights = None if weights is None else np.array(weights)
    return held_rows(X, np.asarray(labels, dtype=np.float64), weights)


# --- what a record can move ------------------------------------------------------------------


extreme = st.sampled_from(
    [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, 1.0, -1.0, 1.0 + 2**-52, 2.0]
)
number = st.one_of(st.floats(-3.0, 3.0), st.floats(), extreme)
record = st.tuples(number, number, number, st.one_of(st.just(1.0), number))


def queries(coef, intercept, link):
    declared = problem_of()
    model = model_of(coef, intercept, declared)
    yield CalibrationQuery(N, declared, model, link)
    for reach in (3.0, 1e300, 1e-300):
        yield LevelQuery(N, problem_of(Poisson()), model, reach)
    for bounds, far in (((-1.0, 1.0), 2.0), ((-1e300, 1e300), 1e-3), ((0.0, 1.0), 1e300)):
        yield LongRowsQuery(N, problem_of(Squared()), model, bounds, far)
        for longest in (1.0, math.inf):
            own = dataclasses.replace(model, longest_row=longest)
            yield RescalingQuery(N, problem_of(Squared()), own, bounds, 0.5, far, far)


def total(query, records, as_sparse=False):
    table = np.array(records, dtype=np.float64).reshape(len(records), 4)
    X = np.ascontiguousarray(table[:, :2])
    return query.total(held(sparse.csr_matrix(X) if as_sparse else X, table[:, 2], table[:, 3]))


@pytest.mark.full
@settings(max_examples=300)
@given(
    records=st.lists(record, min_size=1, max_size=4),
    other=record,
    coef=st.tuples(number, number),
    intercept=number,
    link=LINKS,
    as_sparse=st.booleans(),
)
def test_no_record_moves_a_sum_by_more_than_one(
    records, other, coef, intercept, link, as_sparse
):
    for query in queries(coef, intercept, link):
        check_moves(query, partial(total, as_sparse=as_sparse), records, other)


def test_a_record_can_move_a_sum_by_nearly_one():
    sure = CalibrationQuery(N, problem_of(), model_of((40.0, 0.0), 0.0, None), Link())
    found = total(sure, [(1.0, 0.0, -1.0, 1.0)])
    assert 0.999 < math.hypot(*found) * sure.step <= 1.0
    counted = LevelQuery(N, problem_of(Poisson()), model_of((0.0, 0.0), -40.0, None), 3.0)
    assert 0.88 < total(counted, [(0.0, 0.0, 3.0, 1.0)])[0] * counted.step <= 1.0
    high = LevelQuery(N, problem_of(Poisson()), model_of((0.0, 0.0), 40.0, None), 3.0)
    assert 0.999 < math.hypot(*total(high, [(0.0, 0.0, 0.0, 1.0)])) * high.step <= 1.0
    far = LongRowsQuery(N, problem_of(), model_of((1.0, 0.0), 0.0, None), (-9.0, 9.0), 1.0)
    assert 0.999 < total(far, [(9.0, 0.0, 1.0, 1.0)])[0] * far.step <= 1.0
    still = model_of((0.0, 0.0), 0.0, None)
    line = RescalingQuery(N, problem_of(), still, (-9.0, 9.0), 0.0, 1.0, 1.0)
    assert 0.999 < math.hypot(*total(line, [(0.0, 0.0, 9.0, 1.0)])) * line.step <= 1.0


@given(LINKS, st.floats(-60.0, 60.0))
def test_what_is_missed_and_slopes_are_together_no_longer_than_one(link, u):
    query = CalibrationQuery(N, problem_of(), model_of((0.0, 0.0), u, None), link)
    chance = np.exp(link.log_probabilities([u]))[0]
    for label in (-1.0, 1.0):
        missed, steep = total(query, [(0.0, 0.0, label, 1.0)]) * query.step
        assert missed == pytest.approx((label > 0.0) - chance[1], abs=1e-5)
        # Nothing is lost to shortening: the pair is short enough by itself.
        assert 0.0 <= steep <= 3.25 * chance.prod() * (1.0 + 1e-9)


# --- probabilities and slopes ---------------------------------------------------------------


def filled(link, decisions):
    rows, parts = problem_of().cut_rows(np.array([[0.5, 0.0], [9.0, 0.0]]))
    out = np.empty((len(decisions), 2, 2))
    for u, (chances, slopes) in zip(decisions, out, strict=True):
        scale, caps = link.scale, np.array(link.caps)
        fill_probabilities(rows, parts, np.zeros(2), u, scale, caps, chances, slopes)
        np.testing.assert_array_equal(chances[0], chances[1])
    return out[:, :, 0].T


@given(LINKS, st.floats(-30.0, 30.0))
def test_chances_are_the_links_and_slopes_their_growth(link, u):
    (chance,), (slope,) = filled(link, [u])
    assert chance == pytest.approx(np.exp(link.log_probabilities([u])[0, 1]), rel=1e-12)
    step = 1e-5
    corners = [math.log(cap / (1.0 - cap)) / link.scale for cap in link.caps if cap < 1.0]
    if all(abs(abs(u) - corner) > 2.0 * step for corner in corners):
        low, high = np.exp(link.log_probabilities([u - step, u + step]))[:, 1]
        assert slope == pytest.approx((high - low) / (2.0 * step), rel=1e-3, abs=1e-9)


def test_certain_decisions_and_none():
    chances, slopes = filled(Link(caps=(0.5, 0.7)), [math.inf, -math.inf, math.nan, 0.0])
    np.testing.assert_array_equal(chances, [1.0, 0.0, math.nan, 0.5])
    np.testing.assert_array_equal(slopes[:3], [0.0, 0.0, math.nan])


# --- calibration ------------------------------------------------------------------------------


def rare(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, size=(N, D))
    return X, np.where(rng.random(N) < expit(4.0 * X[:, 0] - 2.0), 1.0, -1.0)


def calibrated(X, y, intercept, noise, weights=None, seed=b"s"):
    problem = problem_of()
    model = model_of((4.0, 0.0), intercept, problem)
    state = State(plan(steps=10**4), problem, problem, model=model)
    release = Calibration(facts_of(), noise)
    return after(release, state, held(X, y, weights), SeededSource(seed))


@pytest.mark.parametrize("intercept", [-2.4, -2.0, -1.7])
def test_the_shift_brings_the_mean_chance_to_the_share(intercept):
    X, y = rare()
    state = calibrated(X, y, intercept, noise=0.1)
    assert state.link == Link()  # travel is long: no cap binds
    model = state.model
    np.testing.assert_array_equal(model.coef, [[4.0, 0.0]])
    before = expit(4.0 * X[:, 0] + intercept)
    shifted = expit(4.0 * X[:, 0] + model.intercept[0]).mean()
    share = (y > 0).mean()
    assert abs(shifted - share) < 0.2 * abs(before.mean() - share) + 1e-3
    noise = Calibration(facts_of(n=N), 0.1).shift_noise((before * (1.0 - before)).mean())
    assert float(model.intercept_noise) == pytest.approx(noise, rel=1e-3)


def test_a_shift_that_noise_hides_is_not_made():
    X, y = rare()
    shifts = [
        calibrated(X, y, -2.0, noise=0.1 * N, seed=b"%d" % k).model.intercept[0] + 2.0
        for k in range(20)
    ]
    assert 0.0 < np.abs(shifts).max() < 0.2
    chance = expit(4.0 * X[:, 0] - 2.0)
    assert (
        Calibration(facts_of(n=N), 0.1 * N).shift_noise((chance * (1.0 - chance)).mean()) < 0.1
    )


def test_a_shift_is_no_longer_than_one():
    X, y = rare()
    for intercept, moved in ((-9.0, 1.0), (5.0, -1.0)):
        found = calibrated(X, y, intercept, noise=1e-3).model.intercept[0]
        assert found == intercept + moved


def test_chances_are_those_of_whole_rows():
    rows = np.array([[0.5, 0.0], [3.0, 0.0], [0.0, 40.0]])
    model = model_of((0.7, -0.1), 0.2, None)
    query = CalibrationQuery(N, problem_of(), model, Link())
    for row, u in zip(rows, rows @ [0.7, -0.1] + 0.2, strict=True):
        missed = total(query, [(*row, 1.0, 1.0)])[0] * query.step
        assert missed == pytest.approx(1.0 - expit(u), abs=1e-5)


def test_weights_count_up_to_one():
    X, y = rare()
    half, double = (np.where(y > 0, weight, 1.0) for weight in (0.5, 2.0))
    plain = calibrated(X, y, -2.0, noise=1e-3).model.intercept[0]
    assert calibrated(X, y, -2.0, 1e-3, double).model.intercept[0] == plain
    assert calibrated(X, y, -2.0, 1e-3, half).model.intercept[0] < plain - 0.1


# --- level ------------------------------------------------------------------------------------


def levelled(factor, noise, *, mean=0.2, high=4.0, seed=b"s", exposure=None):
    """Return what a level makes of a model of counts that is off by a factor."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, size=(N, D))
    exposure = np.ones(N) if exposure is None else exposure
    expected = mean * np.exp(2.0 * X[:, 0]) * exposure
    y = np.minimum(rng.poisson(expected), high)
    declared = problem_of(Poisson(mean / high), label_scale=high)
    problem = declared.with_labels(mean, mean)
    model = model_of((2.0, 0.0), math.log(mean * factor), problem)
    state = State(None, declared, problem, model=model)
    release = Level(facts_of(loss="Poisson", labels=CountLabels(0.0, high)), noise)
    found = after(release, state, held(X, y / exposure, exposure), SeededSource(seed)).model
    np.testing.assert_array_equal(found.coef, model.coef)
    return (np.exp(2.0 * X[:, 0] + found.intercept[0]) * exposure).sum() / y.sum(), found


@pytest.mark.parametrize("factor", [0.2, 0.7, 1.0, 1.4, 4.0])
def test_expected_counts_add_up_to_the_counts(factor):
    exposure = np.random.default_rng(2).uniform(0.1, 2.0, size=N)
    for own in (None, exposure):
        assert levelled(factor, 0.05, exposure=own)[0] == pytest.approx(1.0, abs=0.02)
    assert levelled(factor, 0.05, mean=20.0, high=1000.0)[0] == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("factor", [0.25, 1.0, 4.0])
def test_the_stated_noise_of_a_level_is_what_noise_does(factor):
    found = [levelled(factor, 5.0, seed=b"%d" % k)[1] for k in range(60)]
    shifts = [float(model.intercept[0]) for model in found]
    stated = float(np.median([float(model.intercept_noise) for model in found]))
    # Far off, where more noise also means that less of a shift is kept, it states too much.
    assert 0.4 < np.std(shifts) / stated < 1.4


@pytest.mark.parametrize(("most", "noise", "counted"), [
    (1, 1.0, None), (5, 0.1, 5.0), (100, 4.0, 0.01 * N / 4.0), (100, 400.0, 1.0),
])  # fmt: skip
def test_rows_of_persons_count_as_far_as_noise_allows(most, noise, counted):
    problem, facts = problem_of(), facts_of(persons=PersonFacts(None, "sum", most))
    state = State(plan(), problem, problem, model=model_of((1.0, 0.0), 0.0, problem))
    release = Calibration(facts, noise)
    assert release.query(state).rows == pytest.approx(counted)
    assert (release.size,) == release.query(state).shape == ((2,) if most == 1 else (4,))
    own = problem_of(Poisson(0.05), label_scale=4.0).with_labels(0.2, 0.2)
    counts = dataclasses.replace(
        state, declared=problem_of(Poisson(0.05), label_scale=4.0), problem=own
    )
    query = Level(facts, noise).query(counts)
    size = 0.02 * N * 0.2 / query.reach / noise
    assert query.rows == (None if most == 1 else pytest.approx(max(1.0, min(most, size))))


def shifted_by_rows(seed, sizes, noise=2.0, most=100, frequent=0.0, start=-2.3):
    """Return by which part mean chances are off over rows and persons, and stated noise."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(N), sizes)
    X = rng.uniform(-0.5, 0.5, size=(len(person), D))
    true = expit(4.0 * X[:, 0] - 2.0 + frequent * np.log(sizes)[person])
    y = np.where(rng.random(len(person)) < true, 1.0, -1.0)
    problem = problem_of()
    model = model_of((4.0, 0.0), start, problem)
    starts = np.cumsum([0, *sizes])
    own = PersonRows(starts, np.ones(len(person)), most)
    store = LocalRecords(X, y, np.ones(len(person)), persons=own)
    state = State(plan(steps=10**4), problem, problem, model=model)
    release = Calibration(facts_of(persons=PersonFacts(None, "sum", most)), noise)
    found = after(release, state, store, SeededSource(b"%d" % seed)).model
    chance = expit(4.0 * X[:, 0] + found.intercept[0])
    sums = [np.bincount(person, x) / sizes for x in (chance, y > 0.0)]
    return (
        chance.mean() / (y > 0.0).mean() - 1.0,
        sums[0].mean() / sums[1].mean() - 1.0,
        float(found.intercept[0]),
        float(found.intercept_noise),
    )


def test_persons_of_one_row_have_a_level_as_exact_as_records():
    """However many rows a person may have: where nobody has several, none of them is noise."""
    many, one = (
        [shifted_by_rows(seed, np.ones(N, int), most=most) for seed in range(20)]
        for most in (100, 1)
    )
    spread = [np.std([found[2] for found in own]) for own in (many, one)]
    assert spread[0] < 2.0 * spread[1]
    assert max(abs(found[0]) for found in many) < 0.03


def test_rows_have_a_level_of_their_own():
    sizes = np.random.default_rng(1).geometric(0.25, N)
    found = np.array([shifted_by_rows(seed, sizes, 1.0, 20, 0.4, -1.3) for seed in range(20)])
    assert abs(np.median(found[:, 0])) < 0.015
    assert np.median(found[:, 1]) > 0.1  # over persons they are another number
    assert 0.5 < np.std(found[:, 2]) / np.median(found[:, 3]) < 1.6


def test_a_level_that_noise_hides_is_left():
    found = [levelled(1.0, 0.1 * N, seed=b"%d" % k)[0] for k in range(10)]
    assert 0.6 < min(found) < max(found) < 1.6


def test_a_level_is_of_counts():
    declared = problem_of()
    state = State(plan(), declared, declared, model=model_of((0.0, 0.0), 0.0, None))
    with pytest.raises(ParameterError, match="of counts"):
        Level(facts_of(), 1.0).query(state)


# --- long rows --------------------------------------------------------------------------------


def regression(kind, noise=1.0, seed=b"s", row_bound=1.0):
    """Return the length to which a true line cuts rows, labels following them or not."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(N, D)) * rng.choice([1.0, 8.0], size=(N, 1))
    lengths = np.linalg.norm(X, axis=1)
    line = X[:, 0] if kind == "a line" else X[:, 0] / np.maximum(1.0, lengths)
    X = X * row_bound
    problem = problem_of(Squared(), row_bound=row_bound)
    model = model_of((1.0 / row_bound, 0.0), 0.0, problem)
    one = plan(facts={"labels": NumberLabels(-5.0, 5.0)}, after=[(LongRows, noise)])
    state = State(one, problem, problem, model=model)
    store = held(X, line + 0.1 * rng.normal(size=N))
    return after(one.listed("long rows"), state, store, SeededSource(seed)).model.longest_row


@pytest.mark.parametrize("row_bound", [1.0, 0.3])
def test_rows_are_cut_where_labels_say_so_and_not_where_they_do_not(row_bound):
    assert regression("levels off", row_bound=row_bound) == row_bound
    assert regression("a line", row_bound=row_bound) == math.inf


def test_noise_alone_seldom_cuts():
    found = [regression("a line", noise=1e6, seed=b"%d" % k) for k in range(40)]
    assert 0 < sum(x < math.inf for x in found) < 20  # one in six


# --- plans --------------------------------------------------------------------------


def test_what_comes_after_training_is_listed_after_it_and_paid_for():
    one = plan(after=[(Calibration, 20.0)])
    assert [x.what for x in one.releases] == ["shared vector", "calibration"]
    bare, paid = plan().calibrated(), one.calibrated()
    less = bare.training.noise_multiplier
    assert paid.training.noise_multiplier > 1.001 * less
    assert bare.claim().epsilon <= 1.0 >= paid.claim().epsilon > 0.98
    assert paid._with_noise(less).claim().epsilon > 1.0


def test_what_comes_after_training_needs_a_model():
    one = plan(after=[(Calibration, 20.0)])
    with pytest.raises(ParameterError, match="no training before"):
        one.releases[1].query(one.training.begins(one))
