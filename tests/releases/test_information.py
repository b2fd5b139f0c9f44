"""The release "information": what a record can move, and what the sums are."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from dpscd.errors import ParameterError
from dpscd.inference import measure_of, packed_size, released_size
from dpscd.losses import Logistic, Squared
from dpscd.persons import PersonRows
from dpscd.planning.facts import ROBUST
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd.releases.base import Residuals, State
from dpscd.releases.information import Information, InformationQuery
from dpscd.solvers.local import LocalRecords
from dpscd.standard import Standard
from plans import after, make_plan

N, D = 4000, 2
STANDARD = Standard(np.array([0.2, -0.1]), np.array([2.0, 3.0]), np.zeros(2), 0.0)
LOSSES = {"ridge": Squared(), "logistic": Logistic()}


def problem_of(kind, **changes):
    values = {"constant": 0.3, "standard": STANDARD, **changes}
    return Problem(LOSSES[kind], 0.01, N, D, **values)


def query_of(kind, robust, theta=(0.7, -1.1, 0.4), travel=0.5, **changes):
    problem = problem_of(kind, **changes)
    measure = measure_of(problem, travel, 0.25, robust)
    theta = np.array(theta, dtype=np.float64)[: problem.width]
    return InformationQuery(N, problem, theta, measure, None)


def held(records, persons=None):
    table = np.array(records, dtype=np.float64).reshape(len(records), 4)
    X = np.ascontiguousarray(table[:, :2])
    return LocalRecords(X, table[:, 2].copy(), table[:, 3].copy(), persons=persons)


def total(query, records):
    return query.total(held(records))


extreme = st.sampled_from(
    [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, 1.0, -1.0, 1e99, 1e101, 2.0]
)
number = st.one_of(st.floats(-3.0, 3.0), st.floats(), extreme)
record = st.tuples(number, number, number, st.sampled_from([1.0, 1.0, 0.0]))


def check_moves(query, total, records, other):
    """No record moves a sum by more than one, and what it adds is its own."""
    whole = total(query, records)
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(whole, np.trunc(whole))
    gone = total(query, records[1:])
    silent = total(query, [(*records[0][:3], 0.0), *records[1:]])
    np.testing.assert_array_equal(gone, silent)
    changed = total(query, [other, *records[1:]])
    for found, most in ((gone, 1.0), (changed, 2.0)):
        assert math.hypot(*(whole - found)) * query.step <= most
    # Whoever else is there, and wherever it stands.
    np.testing.assert_array_equal(whole - gone, total(query, records[:1]))
    np.testing.assert_array_equal(total(query, [*records[1:], records[0]]), whole)


@settings(max_examples=150)
@given(
    records=st.lists(record, min_size=1, max_size=4),
    other=record,
    theta=st.tuples(number, number, number),
    kind=st.sampled_from(sorted(LOSSES)),
    robust=st.booleans(),
    travel=st.floats(1e-3, 10.0),
)
def test_no_record_moves_the_sums_by_more_than_one(records, other, theta, kind, robust, travel):
    query = query_of(kind, robust, theta, travel)
    assert total(query, records).shape == query.shape
    check_moves(query, total, records, other)


def people(rng, count):
    """Return rows of persons, some with rows that are all alike and wrong."""
    found = []
    for _ in range(count):
        size = int(rng.choice([1, 2, 5, 40]))
        rows = rng.normal(size=(size, 4)) * 10.0 ** rng.integers(-1, 2)
        rows[:, 3] = rng.choice([1.0, 1.0, 0.0], size=size)
        rows[:, 2] = rng.choice([-1.0, 1.0, 4.9], size=size)
        if rng.random() < 0.5:
            rows[:, :3] = rows[0, :3]
        found.append(rows)
    return found


def of_persons(persons):
    starts = np.cumsum([0, *(len(one) for one in persons)])
    rows = np.concatenate(persons)
    return held(rows, PersonRows(starts, rows[:, 3].copy(), 100))


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("kind", LOSSES)
def test_no_person_moves_the_sums_by_more_than_one(kind, robust):
    rng = np.random.default_rng(3)
    for travel in (0.05, 0.5, 5.0):
        query = query_of(kind, robust, travel=travel)
        for _ in range(30):
            persons = people(rng, 5)
            whole, gone = query.total(of_persons(persons)), query.total(of_persons(persons[1:]))
            other = query.total(of_persons([*people(rng, 1), *persons[1:]]))
            assert math.hypot(*(whole - gone)) * query.step <= 1.0
            assert math.hypot(*(whole - other)) * query.step <= 2.0


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("kind", LOSSES)
def test_persons_of_one_row_are_records(kind, robust):
    rng = np.random.default_rng(4)
    rows = np.concatenate(people(rng, 60))
    query = query_of(kind, robust, travel=0.2)
    alone = query.total(of_persons([row[None] for row in rows]))
    np.testing.assert_allclose(alone, total(query, rows), rtol=0.0, atol=len(rows))


def test_the_bound_is_not_idle():
    """A long record in the middle of the scale adds nearly 1; a capped one its slope alone."""
    plain = query_of("logistic", False, (0.0, 0.0, 0.0), travel=50.0)
    assert 0.98 < math.hypot(*total(plain, [(0.0, -1.0, 1.0, 1.0)])) * plain.step <= 1.0
    capped = query_of("ridge", True, (0.0, 0.0, 0.0), travel=1e-3)
    found = total(capped, [(0.2, 0.1, 4.0, 1.0)]) * capped.step
    own = packed_size(3)
    assert not found[:own].any()
    assert 0.3 < math.hypot(*found[own:]) <= capped.measure.parts[1]


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("kind", LOSSES)
def test_curvature_and_slopes_are_bounded_together(kind, robust):
    """At every distance from the cap; just inside of it both are long."""
    lengths = []
    for travel in np.geomspace(0.05, 2.0, 60):
        query = query_of(kind, robust, (0.0, 0.0, 0.0), travel=travel)
        found = total(query, [(0.0, -1.0, 1.0 if kind == "logistic" else 0.6, 1.0)])
        lengths.append(math.hypot(*found) * query.step)
    assert 0.78 < max(lengths) <= 1.0


def plain_sums(query, records):
    """Compute what the query should, without whole numbers."""
    table = np.array(records)
    problem, measure = query.problem, query.measure
    rows = problem.rows(np.ascontiguousarray(table[:, :2]))
    Z = np.c_[rows.values * rows.factor[:, None], np.full(len(table), rows.tail)]
    u = Z @ query.theta
    if measure.logistic:
        slope, curved = (table[:, 2] > 0) - expit(u), expit(u) * expit(-u)
    else:
        slope, curved = problem.labels(table[:, 2]) - u, np.ones(len(u))
    norm = np.linalg.norm(Z, axis=1)
    inside = np.abs(slope) * norm < measure.cap
    slope = slope * np.minimum(1.0, measure.cap / (np.abs(slope) * norm))
    short = Z * np.minimum(1.0, measure.row / norm)[:, None]
    return (short * (curved * inside)[:, None]).T @ short, (
        short * (slope**2)[:, None]
    ).T @ short


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("kind", LOSSES)
def test_the_sums_are_the_two_matrices(kind, robust):
    rng = np.random.default_rng(5)
    records = np.c_[
        rng.uniform(-0.6, 0.6, (300, 2)), rng.choice([-1.0, 1.0], 300), np.ones(300)
    ]
    query = query_of(kind, robust, (0.3, -0.2, 0.1), travel=0.4 if kind == "ridge" else 4.0)
    curvature, variance = plain_sums(query, records)
    found = query.measure.matrices(total(query, records) * query.step, 1e-9)
    np.testing.assert_allclose(found.curvature, curvature, rtol=2e-2, atol=1e-3)
    if robust:
        np.testing.assert_allclose(found.variance, variance, rtol=2e-2, atol=1e-3)
        assert found.dispersion == 1.0
    elif kind == "ridge":
        expected = np.trace(variance) / np.trace(curvature)
        assert found.dispersion == pytest.approx(expected, rel=1e-2)
    else:
        assert found.dispersion == 1.0


def test_what_a_pilot_left_takes_the_place_of_labels():
    problem = problem_of("ridge")
    records = [(0.3, -0.2, 1.5, 1.0), (-0.4, 0.1, -0.7, 1.0)]
    still = query_of("ridge", False, (0.0, 0.0, 0.0), travel=50.0)
    shared = np.array([[0.5, 0.2, -0.3]]) * problem.strength
    left = dataclasses.replace(still, residuals=Residuals(problem, shared, 1.0))
    whole = query_of("ridge", False, (0.5, 0.2, -0.3), travel=50.0)
    np.testing.assert_allclose(total(left, records), total(whole, records), rtol=1e-6, atol=4.0)
    assert not np.allclose(total(left, records), total(still, records), rtol=1e-3)


def test_without_an_intercept_there_is_no_constant_column():
    query = query_of("ridge", True, constant=0.0)
    assert query.shape == (6,)
    assert np.isfinite(total(query, [(0.3, -0.2, 1.5, 1.0)])).all()


# --- the release -----------------------------------------------------------------------------


def plan_with(**facts):
    own = {"loss": "Logistic", "standardised": True, "inference": "model", **facts}
    return make_plan(
        n=N, d=D, lam=0.01, steps=100, rate=0.01, clip=0.5, separability=40.0, averaging=0.25,
        noise_multiplier=1.0, moments_noise=1.0, after=[(Information, 1e-6)], facts=own,
    )  # fmt: skip


def test_it_is_released_about_the_model_of_the_main_training():
    rng = np.random.default_rng(6)
    records = np.c_[
        rng.uniform(-0.6, 0.6, (500, 2)), rng.choice([-1.0, 1.0], 500), np.ones(500)
    ]
    store = held(records)
    problem = problem_of("logistic")
    shared = problem.strength * np.array([[0.3, -0.2, 0.1]])
    plan = plan_with()
    state = State(plan, problem, problem, shared=shared)
    found = after(plan.listed("information"), state, store, SeededSource(b"s")).information
    query = query_of("logistic", False, (0.3, -0.2, 0.1), travel=plan.training.travel)
    np.testing.assert_allclose(found, query.total(store) * query.step, atol=1e-4)


def test_sparse_rows_are_refused():
    plan, problem = plan_with(dense=False), problem_of("logistic")
    with pytest.raises(ParameterError, match="dense rows"):
        plan.listed("information").query(State(plan, problem, problem))


def test_sizes_are_those_of_packed_matrices():
    sizes = [
        released_size(4, logistic=logistic, robust=robust)
        for logistic in (True, False)
        for robust in (False, True)
    ]
    assert sizes == [10, 20, 11, 20]
    found = [
        plan_with(loss=loss, inference=inference).listed("information").size
        for loss in ("Logistic", "Squared")
        for inference in ("model", ROBUST)
    ]
    assert found == [6, 12, 7, 12]


def test_rows_of_a_person_that_cancel_are_bounded_too():
    """Shortened one by one they cancel less than they did; the last shortening holds them."""
    query = query_of("ridge", True, (0.0, 0.0, 0.0), travel=0.1)
    person = np.array([[0.95, 0.1, -4.0, 1.0], [0.3, 0.0, 4.9, 1.0], [0.2, -1.0, 3.0, 1.0]])
    found = query.total(of_persons([person])) * query.step
    assert math.hypot(*found) <= 1.0
