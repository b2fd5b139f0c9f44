"""Brute force over whole persons: no neighbour moves a lot's sum by more than the clip.

Persons have 0 to 50 rows, near-parallel or not, with numbers of all sizes. As in
test_sensitivity, one step of the shipped kernel is run without noise on a grid of one cell, so
that differences of sums are judged in integers.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from dpscd.kernels.dual import Records, StepConstants
from dpscd.kernels.lots import advance
from dpscd.kernels.pack import pack_rows
from dpscd.kernels.packed import advance_packed
from dpscd.kernels.persons import Persons
from dpscd.losses import Hinge, Huber, Logistic, Poisson, Softmax, Squared
from dpscd.persons import PersonRows
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd.solvers.dp_scd import dp_scd
from plans import make_training

LOSSES = [Squared(), Huber(0.7), Logistic(), Hinge(), Poisson(1.0), Softmax()]
# Every loss is compiled for every layout: the first does for a first look.
SOME = [
    pytest.param(loss, marks=() if place < 1 else pytest.mark.full, id=type(loss).__name__)
    for place, loss in enumerate(LOSSES)
]
PERSONS, FEATURES, MOST = 5, 4, 20
EXTREMES = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e200, 5e-324, 1e-170, 0.0, 1e16]


class Situation:
    """Persons with rows, labels, weights, duals and turns, and a released state."""

    def __init__(self, rng):
        self.outputs = int(rng.choice([1, 3, 9]))
        self.row_bound = float(rng.choice([1.0, 0.25, 100.0]))
        self.constant = float(rng.choice([0.0, 0.3, 50.0]))
        self.strength = float(rng.choice([1e-6, 1.0, 100.0]))
        self.clip = float(rng.choice([1.0, 0.3, 1e-3, 7.0, 1e-30, 1e10]))
        self.most = int(rng.choice([1, 3, MOST, 64]))
        self.shared = rng.uniform(-9.0, 9.0, self.outputs * (FEATURES + 1))
        self.persons = [self.person(rng) for _ in range(PERSONS)]
        self.other = self.person(rng, least=1)

    def person(self, rng, least=0):
        size = int(rng.choice([least, 1, 2, 5, 19, 21, 50]))
        rows = rng.normal(size=(size, FEATURES)) * 10.0 ** rng.integers(-3, 3)
        if rng.random() < 0.4:  # nearly parallel rows, all pulling one way
            rows = rng.normal(size=FEATURES) + 1e-3 * rng.normal(size=(size, FEATURES))
        labels = rng.choice([-1.0, 1.0, 0.0, 2.0, 50.0], size=size)
        weights = rng.choice([1.0, 1.0 / max(size, 1), 0.0, 3.0], size=size)
        if rng.random() < 0.3:
            weights[:] = 1.0
        dual = rng.uniform(-1.0, 1.0, (size, self.outputs))
        for values in (rows, labels, weights):
            hit = rng.random(values.shape) < rng.choice([0.0, 0.0, 0.05])
            values[hit] = rng.choice(EXTREMES, size=int(hit.sum()))
        turn = int(rng.integers(size)) if size > self.most else 0
        return rows, labels, weights, dual, turn


def lot_sum(
    loss, s, persons, layout, dtype=np.float64, lot=None, separability=PERSONS, records=False
):
    """Return the lot's pre-noise sum in whole cells, the clip in cells, and the new duals.

    With `records` persons have one row each, and the kernel is that of records.
    """
    rows, labels, weights, dual = (
        np.concatenate([person[i] for person in persons]) for i in range(4)
    )
    problem = Problem(
        loss=loss, lam=1.0, n=PERSONS, d=FEATURES, outputs=s.outputs, row_bound=s.row_bound,
        constant=s.constant,
    )  # fmt: skip
    plan = make_training(
        n=PERSONS, d=FEATURES,
        outputs=s.outputs, intercept=s.constant != 0.0, lam=1.0, steps=1, rate=1.0,
        clip=s.clip, separability=float(separability), averaging=0.0, noise_multiplier=1.0,
    )  # fmt: skip
    numbers = plan.constants(s.strength, fixed_point=layout == "packed")
    numbers = StepConstants(**{**numbers._asdict(), "grid": numbers.cell, "spread": 0.0})
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(rows, dtype=dtype)
        X = sparse.csr_array(X) if layout == "csr" else X
        measured, labelled = problem.rows(X), Records(labels, weights)
    starts = np.cumsum([0, *(len(person[1]) for person in persons)])
    own = Persons(starts, np.array([person[4] for person in persons]), s.most)
    width = FEATURES + (1 if s.constant else 0)
    before = np.round(s.shared[: s.outputs * width] * 2**20).reshape(s.outputs, width)
    before = before * numbers.cell
    shared = before.copy()
    ids = np.arange(len(persons)) if lot is None else np.array(lot, dtype=np.int64)
    chunk = (
        ids, np.array([0, len(ids)]), np.zeros((1, shared.size)), 1, dual.copy(), shared,
        np.zeros_like(shared),
    )  # fmt: skip
    if layout == "packed":
        units = () if records else (own,)
        advance_packed(loss, pack_rows(measured, labelled), numbers, *chunk, *units)
    else:
        advance(loss, measured, labelled, numbers, *chunk, None if records else own)
    assert np.isfinite(shared).all()
    moved = (shared - before) / numbers.cell
    assert (moved == np.round(moved)).all()
    return [int(x) for x in moved.ravel()], Fraction(s.clip) / Fraction(numbers.cell), chunk[4]


def squared_distance(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def empty(s, person):
    """Return what is left of a person that was zeroed out: a row that holds nothing."""
    del person
    return np.zeros((1, FEATURES)), np.zeros(1), np.zeros(1), np.zeros((1, s.outputs)), 0


@pytest.mark.parametrize(
    "layout", [pytest.param("dense", marks=pytest.mark.full), "csr", "packed"]
)
@pytest.mark.parametrize("loss", SOME)
def test_no_person_moves_a_lot_by_more_than_the_clip(loss, layout):
    rng = np.random.default_rng(16)
    for number in range(60):
        s = Situation(rng)
        dtype = (np.float64, np.float32)[number % 2]
        full, clip, _ = lot_sum(loss, s, s.persons, layout, dtype)
        for k in range(2):
            without = [*s.persons]
            without[k] = empty(s, s.persons[k])
            silent, _, _ = lot_sum(loss, s, without, layout, dtype)
            assert squared_distance(full, silent) <= clip**2
            others = [g for g in range(PERSONS) if g != k]
            assert lot_sum(loss, s, s.persons, layout, dtype, others)[0] == silent
            gone = [person for g, person in enumerate(s.persons) if g != k]
            assert lot_sum(loss, s, gone, layout, dtype)[0] == silent
            without[k] = s.other
            replaced, _, _ = lot_sum(loss, s, without, layout, dtype)
            assert squared_distance(full, replaced) <= (2 * clip) ** 2


@pytest.mark.full
@pytest.mark.parametrize("layout", ["dense", "csr", "packed"])
@pytest.mark.parametrize("rows", [2, 5, 50])
def test_a_person_whose_rows_pull_together_attains_the_clip(layout, rows):
    s = plain_situation(clip=0.3)
    X = np.zeros((rows, FEATURES))
    X[:, 0] = 1.0
    person = X, np.full(rows, 100.0), np.full(rows, 1.0), np.zeros((rows, 1)), 0
    total, clip, _ = lot_sum(Squared(), s, [person], layout)
    assert 0.99999 * clip < total[0] <= clip


@pytest.mark.parametrize("layout", ["dense", "csr", "packed"])
def test_duals_move_by_what_was_contributed(layout):
    """The shared vector stays the sum of duals times rows, but for what is cut to cells."""
    s = plain_situation(clip=0.3)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(7, FEATURES)) / 4.0
    person = X, rng.choice([-3.0, 3.0], 7), np.ones(7), np.zeros((7, 1)), 0
    total, clip, dual = lot_sum(Squared(), s, [person], layout)
    found = np.array(total) * s.clip / float(clip)
    assert np.linalg.norm(found) > 0.29  # it was shortened
    assert np.allclose(dual[:, 0] @ X, found, atol=2e-4 if layout == "packed" else 1e-6)


@pytest.mark.full
@pytest.mark.parametrize("layout", ["dense", "csr", "packed"])
@pytest.mark.parametrize("loss", SOME)
def test_a_person_of_one_row_is_a_record_to_the_last_bit(loss, layout):
    rng = np.random.default_rng(5)
    for _ in range(20):
        s = Situation(rng)
        persons = [(p[0][:1], p[1][:1], p[2][:1], p[3][:1], 0) for p in s.persons if len(p[1])]
        total, _, dual = lot_sum(loss, s, persons, layout)
        expected, _, duals = lot_sum(loss, s, persons, layout, records=True)
        assert total == expected
        assert np.array_equal(dual, duals, equal_nan=True)


@pytest.mark.parametrize("layout", ["dense", "csr", "packed"])
def test_rows_that_step_together_do_not_overshoot(layout):
    """Twenty rows that are all alike move the prediction to their label, not beyond it."""
    s = plain_situation(clip=30.0)
    X = np.tile([1.0, 0.0, 0.0, 0.0], (20, 1))
    person = X, np.ones(20), np.ones(20), np.zeros((20, 1)), 0
    total, clip, _ = lot_sum(Squared(), s, [person], layout, separability=1.0)
    prediction = total[0] * s.clip / float(clip) / s.strength
    assert 0.9 < prediction <= 1.0


def test_all_rows_have_their_turn():
    """Of ten rows three at a time, after four draws all have stepped, and no fifth time."""
    rows = np.random.default_rng(0).normal(size=(10, FEATURES))
    problem = Problem(Squared(), 1.0, 1, FEATURES)
    measured, records = problem.rows(rows), Records(np.full(10, 5.0), np.ones(10))
    own = PersonRows(np.array([0, 10]), records.weights, 3).drawn()
    numbers = StepConstants(1.0, 1.0, 1e-3, 2.0**-40, 2.0**-40, 0.0)
    dual, shared = np.zeros((10, 1)), np.zeros((1, FEATURES))
    for drawn in range(1, 5):
        chunk = np.zeros(1, np.int64), np.array([0, 1]), np.zeros((1, FEATURES)), 1
        moved = dual, shared, shared.copy()
        advance(Squared(), measured, records, numbers, *chunk, *moved, own)
        assert np.count_nonzero(dual) == min(10, 3 * drawn)
    assert own.turns[0] == 2


def test_persons_are_drawn_not_rows():
    """A fit's path is that of the kernel on lots of persons, drawn as the plan says."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, size=PERSONS * 8)
    starts = np.concatenate([[0], sizes.cumsum()])
    X, y = rng.normal(size=(starts[-1], FEATURES)) / 3.0, rng.normal(size=starts[-1])
    plan = make_training(
        n=len(sizes), d=FEATURES,
        outputs=1, intercept=False, lam=0.1, steps=50, rate=0.2, clip=0.1, separability=2.0,
        averaging=0.5, noise_multiplier=1.0,
    )  # fmt: skip
    problem = Problem(Squared(), 0.1, len(sizes), FEATURES)
    rows, records = problem.rows(sparse.csr_array(X)), Records(y, np.ones(len(y)))
    own = PersonRows(starts, records.weights, 3)
    found = dp_scd(problem, plan, rows, records, SeededSource(b"x"), persons=own)
    source = SeededSource(b"x")
    lots = plan.lots.draw(source, 0, plan.steps, len(sizes))
    normals = plan.noise.draw(source, 0, plan.steps, plan.size)
    dual, shared, average = np.zeros((len(y), 1)), *np.zeros((2, 1, FEATURES))
    advance(
        problem.loss, rows, records, plan.constants(problem.strength), lots.ids, lots.starts,
        normals, plan.average_from, dual, shared, average, own.drawn(),
    )  # fmt: skip
    np.testing.assert_array_equal(found, average / (plan.steps - plan.average_from))


def plain_situation(clip):
    s = Situation(np.random.default_rng(1))
    s.outputs, s.row_bound, s.constant, s.strength, s.clip = 1, 1.0, 0.0, 1.0, clip
    s.shared, s.most = np.zeros(FEATURES), 64
    return s


@pytest.mark.parametrize("layout", ["csr", "packed"])
def test_rows_beyond_the_most_take_turns(layout):
    s = plain_situation(clip=1e10)
    s.most = 3
    rng = np.random.default_rng(2)
    person = [rng.normal(size=(7, FEATURES)), np.ones(7), np.ones(7), np.zeros((7, 1)), 5]
    _, _, dual = lot_sum(Squared(), s, [tuple(person)], layout)
    assert list(np.flatnonzero(dual[:, 0])) == [0, 5, 6]
