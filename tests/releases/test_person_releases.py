"""Whole persons moved in and out of every sum that is released besides training."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dpscd.link import Link
from dpscd.losses import Logistic, Poisson, Squared
from dpscd.persons import PersonRows, training_weights
from dpscd.problem import Model, Problem
from dpscd.releases.base import Residuals
from dpscd.releases.bounds import HistogramQuery, magnitude_limits
from dpscd.releases.moments import (
    DistanceQuery,
    LabelQuery,
    MomentsQuery,
    OctaveQuery,
    ResidualQuery,
)
from dpscd.releases.probability import CalibrationQuery, LevelQuery, SteepnessQuery
from dpscd.releases.rescaling import LongRowsQuery, RescalingQuery
from dpscd.solvers.local import LocalRecords

D, N = 3, 6
PROBLEM = Problem(Squared(), 0.1, N, D, row_bound=2.0, constant=0.3, label_scale=5.0)
MODEL = Model(np.array([[0.7, -1.1, 0.4]]), np.array([0.2]), runs=(PROBLEM,))
RESIDUALS = Residuals(PROBLEM, np.array([[0.3, -0.2, 0.1, 0.4]]), 1.5)
CLASSES = Problem(Logistic(), 0.1, N, D, row_bound=2.0, constant=0.3)
COUNTS = Problem(Poisson(), 0.1, N, D, row_bound=2.0, constant=0.3)
BOLD = Model(np.array([[3.0, 0.0, 0.0]]), np.zeros(1), runs=(CLASSES,))
QUERIES = {
    "moments": MomentsQuery(N, PROBLEM),
    "label mean": LabelQuery(N, PROBLEM),
    "distances": DistanceQuery(N, PROBLEM, 0.3),
    "octaves": OctaveQuery(N, PROBLEM, -0.2),
    "residuals": ResidualQuery(N, RESIDUALS),
    "calibration": CalibrationQuery(N, CLASSES, MODEL, Link()),
    "long rows": LongRowsQuery(N, PROBLEM, MODEL, (-5.0, 5.0), 3.0),
    "rescaling": RescalingQuery(N, PROBLEM, MODEL, (-5.0, 5.0), 0.1, 2.0, 3.0),
    "steepness": SteepnessQuery(N, CLASSES, BOLD, Link(), wide=1.0),
    "level": LevelQuery(N, COUNTS, MODEL, 3.0),
    "bounds": HistogramQuery(N, (magnitude_limits(), np.linspace(-1.0, 1.0, 129))),
}
# Further rows of a person are summed apart.
OF_ROWS = {
    "calibration of rows": CalibrationQuery(N, CLASSES, MODEL, Link(), rows=4.0),
    "level of rows": LevelQuery(N, COUNTS, MODEL, 3.0, rows=2.5),
    "calibration of many rows": CalibrationQuery(N, CLASSES, BOLD, Link(), rows=100.0),
    "level of many rows": LevelQuery(N, COUNTS, BOLD, 3.0, rows=100.0),
}


class Held(LocalRecords):
    """Records whose first two features are columns as well."""

    @property
    def columns(self):
        X = self.X.toarray() if hasattr(self.X, "indptr") else self.X
        return [np.ascontiguousarray(X[:, 0]), np.ascontiguousarray(X[:, 1])]


def person(rng, sizes=(0, 1, 2, 5, 50)):
    size = int(rng.choice(sizes))
    rows = rng.normal(size=(size, D)) * 10.0 ** rng.integers(-2, 2)
    if rng.random() < 0.5:  # all alike: the mean is as long as one of them
        rows = np.tile(rng.normal(size=D), (size, 1))
    return (
        rows,
        rng.choice([-1.0, 1.0, 4.9, -30.0], size=size),
        rng.choice([1.0, 1.0, 0.0, 7.0], size=size),
    )


def held(persons, *, as_sparse=False):
    X, labels, weights = (np.concatenate([one[i] for one in persons]) for i in range(3))
    starts = np.cumsum([0, *(len(one[1]) for one in persons)])
    own = PersonRows(starts, weights, 100)
    X = sparse.csr_array(X) if as_sparse else X
    return Held(X, labels, weights, persons=own)


def moved(query, one, other):
    a, b = (query.total(records).ravel() for records in (one, other))
    assert (a == np.trunc(a)).all()
    unit = Fraction(query.step)
    return sum((unit * (int(x) - int(y))) ** 2 for x, y in zip(a, b, strict=True))


EMPTY = np.zeros((1, D)), np.zeros(1), np.zeros(1)


@pytest.mark.full
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", [*QUERIES, *OF_ROWS])
def test_a_person_moves_a_sum_by_at_most_one(name, as_sparse):
    query = {**QUERIES, **OF_ROWS}[name]
    rng = np.random.default_rng(7)
    for _ in range(40):
        persons = [person(rng) for _ in range(N)]
        full = held(persons, as_sparse=as_sparse)
        gone = held(persons[1:], as_sparse=as_sparse)
        assert moved(query, full, gone) <= 1
        if name != "bounds":  # an empty row still has cells, of which none is NaN
            emptied = held([EMPTY, *persons[1:]], as_sparse=as_sparse)
            assert moved(query, full, emptied) <= 1
            assert moved(query, gone, emptied) == 0
        wrong = np.array([[-1.0, 0.0, 0.0]]), np.ones(1), np.ones(1)  # and sure of it
        assert moved(query, held([wrong, *persons], as_sparse=as_sparse), full) <= 1
        other = held([person(rng, (1, 3, 20)), *persons[1:]], as_sparse=as_sparse)
        assert moved(query, full, other) <= 4


@pytest.mark.parametrize("name", QUERIES)
def test_the_bound_is_not_idle(name):
    """A person whose rows are all alike moves a sum by as much as one of its rows does."""
    query = QUERIES[name]
    row = np.array([[1.9, 0.3, -0.4]])
    for size in (2, 7, 50):
        one = np.repeat(row, size, axis=0), np.full(size, 4.0), np.ones(size)
        alone = row, np.array([4.0]), np.ones(1)
        many, single = query.total(held([one])), query.total(held([alone]))
        np.testing.assert_allclose(many, single, rtol=1e-6, atol=4.0)


@pytest.mark.parametrize("name", [name for name in OF_ROWS if "many" in name])
def test_a_person_with_many_rows_that_are_all_wrong_moves_a_sum_by_nearly_one(name):
    sign, label = (-1.0, 1.0) if name.startswith("calibration") else (1.0, -5.0)
    wrong = np.tile([2.0 * sign, 0.0, 0.0], (300, 1)), np.full(300, label), np.ones(300)
    assert 0.98 < moved(OF_ROWS[name], held([wrong]), held([EMPTY])) <= 1


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_of_a_person_count_one_each_up_to_so_many(name):
    query, row = OF_ROWS[name], np.array([[1.9, 0.3, -0.4]])
    record = Held(row, np.array([4.0]), np.ones(1))
    for size in (1, 2, 3, 4, 50):
        silent = np.zeros((3, D)), np.ones(3), np.zeros(3)  # rows of weight 0 are none
        own = np.repeat(row, size, axis=0), np.full(size, 4.0), np.ones(size)
        both = tuple(np.concatenate(parts) for parts in zip(silent, own, strict=True))
        alone = replace(query, rows=None).total(record)
        part = (min(size, query.rows) - 1.0) / query.rows
        expected = np.concatenate([0.6 * alone, 0.8 * part * alone])
        np.testing.assert_allclose(query.total(held([both])), expected, rtol=1e-6, atol=4.0)
    alone = query.total(held([(row, np.array([4.0]), np.ones(1))]))
    np.testing.assert_array_equal(query.total(record), alone)
    assert not alone[2:].any()


@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", QUERIES)
def test_persons_of_one_row_are_records_to_the_last_bit(name, as_sparse):
    rng = np.random.default_rng(8)
    persons = [person(rng, (1,)) for _ in range(200)]
    with_persons = held(persons, as_sparse=as_sparse)
    records = Held(with_persons.X, with_persons.labels, with_persons.weights)
    query = QUERIES[name]
    np.testing.assert_array_equal(query.total(with_persons), query.total(records))


def test_many_small_terms_of_a_person_are_cut_once():
    """Cut one by one, thousands of rows that nearly cancel would leave a longer sum."""
    size = 40_000
    rows = np.zeros((size, D))
    rows[:, 0] = np.where(np.arange(size) % 2, 1.999, -1.9990001)
    full = held([(rows, np.zeros(size), np.ones(size))])
    query = MomentsQuery(1, PROBLEM)
    mean = query.total(full)[0, 0]
    exact = rows[:, 0].mean() / 2.0 * np.sqrt(0.5) * (1 - 2.0**-20) / query.step
    assert abs(mean - exact) <= 1.0 + 1e-3


def test_given_weights_compare_the_rows_of_one_person():
    starts = np.array([0, 3, 4, 6])
    given = np.array([1.0, 3.0, 0.0, 5.0, 1e308, 1e308])
    others = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 0.0])
    total = training_weights(starts, given, others, "sum")
    np.testing.assert_allclose(total, [0.5, 1.5, 0.0, 2.0, 1.0, 0.0])
    shared = training_weights(starts, given, others, "share")
    np.testing.assert_allclose(shared, [0.25, 0.75, 0.0, 2.0, 1.0, 0.0])
    alike = training_weights(starts, None, others, "sum")
    np.testing.assert_array_equal(alike, others)
    again = training_weights(starts, 1e-300 * given, others, "share")
    np.testing.assert_allclose(again, shared)
