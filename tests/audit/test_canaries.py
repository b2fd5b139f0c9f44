"""Canaries and the worlds that they live in: one unit apart, and saturated at every step."""

from dataclasses import replace

import numpy as np
import pytest
from wrong import played, quick, world

from dpscd import DPHuberRegressor, DPLinearSVC, DPLogisticRegression, DPRidge
from dpscd.audit import (
    FitCase,
    Population,
    ScoreCase,
    SearchCase,
    TableCase,
    TrainingCase,
    fits,
)
from dpscd.audit.canaries import row_weights, step_ratios
from dpscd.errors import ParameterError
from dpscd.persons import SHARE, SUM, PersonFacts
from dpscd.privacy.draws import LatticeGaussian
from dpscd.privacy.relation import Relation

MODELS = [DPRidge, DPHuberRegressor, DPLogisticRegression, DPLinearSVC]
RELATIONS = ["zero-out", "add-remove", "replace-one"]
PRESENT = np.array([True, False, True, True, False])
SMALL = {"canaries": 30, "ordinary": 30}
HALF = np.arange(30) % 2 == 0


# Worlds.


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(
    ("relation", "sizes", "weights"),
    [
        # An absent person has one empty row, none, or as many rows as somebody else has.
        ("zero-out", [3, 1, 3, 3, 1], [1.0, 0.0, 1.0, 1.0, 0.0]),
        ("add-remove", [3, 3, 3], [1.0, 1.0, 1.0]),
        ("replace-one", [3, 2, 3, 3, 2], [1.0, 1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_worlds_are_neighbours(relation, sizes, weights, rows):
    small = Population(canaries=5, ordinary=4, person_rows=rows)
    data = small.dataset(PRESENT, Relation(relation), 2.0)
    sizes = np.minimum(sizes, rows)
    assert np.diff(data.starts).tolist() == [*sizes, *np.minimum([1, 2, 3, 1], rows)]
    assert data.X.shape == (data.starts[-1], small.features) == (len(data.groups), 9)
    assert np.linalg.norm(data.X.toarray(), axis=1).max() <= 2.0
    first = data.starts[: len(sizes)]
    assert data.weights[first].tolist() == weights
    for person, (begin, size) in enumerate(zip(first, sizes, strict=True)):
        own = data.X[begin : begin + size].toarray()
        assert (data.groups[begin : begin + size] == person).all()
        assert (own == own[0]).all()
        assert np.abs(own[0]).max() == 2.0
        assert np.count_nonzero(own[0]) == 1
    if relation == "replace-one":
        assert data.X[first].diagonal()[:5].tolist() == [2.0, -2.0, 2.0, 2.0, -2.0]
    assert not data.X[data.starts[len(sizes)] :, :5].count_nonzero()


def test_rows_of_a_person_are_scattered_before_they_are_given_to_fit():
    persons = Population(canaries=5, ordinary=2, person_rows=3)
    data = persons.dataset(PRESENT, Relation.ZERO_OUT, 1.0)
    groups = data.groups[data.scattered]
    assert groups[:7].tolist() == list(range(7))
    assert sorted(groups) == data.groups.tolist()


@pytest.mark.parametrize("relation", RELATIONS)
def test_persons_of_one_row_are_the_records_of_the_other_game(relation):
    one, other = (
        Population(canaries=5, ordinary=4, companions=1, person_rows=rows).dataset(
            PRESENT, Relation(relation), 1.0
        )
        for rows in (None, 1)
    )
    assert (one.X != other.X).nnz == 0
    for name in ("starts", "weights", "targets"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("relation", RELATIONS)
def test_worlds_of_tables_differ_in_the_records_of_canaries_alone(relation):
    case = TableCase(quick(DPLogisticRegression, relation=relation), canaries=6)
    one, other = (case.table(np.arange(6) >= first) for first in (0, 1))
    if relation == "add-remove":
        assert one.iloc[1:].reset_index(drop=True).equals(other)
    else:
        assert one.iloc[1:].equals(other.iloc[1:])
        assert not one.equals(other)


@pytest.mark.parametrize("relation", RELATIONS)
def test_worlds_of_tables_differ_in_the_rows_of_one_person(relation):
    estimator = quick(DPLogisticRegression, relation=relation)
    case = TableCase(estimator, canaries=6, person_rows=3)
    assert case.schema.person == "who"
    one, other = (case.table(np.arange(6) != out) for out in (6, 1))
    absent = {"zero-out": 1, "add-remove": 0, "replace-one": 2}[relation]

    def who(table):
        return table["who"].astype(float).astype(int)

    assert (who(one) == 10_001).sum() == 3
    assert (who(other) == 10_001).sum() == absent
    rest = [table[who(table) != 10_001].reset_index(drop=True) for table in (one, other)]
    assert rest[0].equals(rest[1])
    # The rows of a person do not follow each other, and their identifiers differ in type.
    places = np.flatnonzero(who(one) == 10_000)
    assert places[1] > places[0] + 1
    assert {type(cell) for cell in one["who"][places]} == {str, int, float}


@pytest.mark.parametrize("relation", RELATIONS)
def test_worlds_of_scores_differ_in_the_records_of_a_canary_alone(relation):
    case = ScoreCase(
        "cells", "confusion", {"relation": relation}, classes=8, canaries=64, person_rows=2
    )
    one, other = (
        list(zip(*case.records(np.arange(64) != out), strict=True)) for out in (64, 5)
    )
    assert {x for x in one if x[2] != 5} == {x for x in other if x[2] != 5}
    count = {"zero-out": 1, "add-remove": 0, "replace-one": 2}[relation]
    assert len([x for x in other if x[2] == 5]) == count


@pytest.mark.parametrize("trained", [True, False])
def test_worlds_of_searches_differ_in_the_first_record_alone(trained):
    case = SearchCase("search", trained=trained)
    (X, y), (other, labels) = (case.records(present=here) for here in (True, False))
    assert np.array_equal(X[1:], other[1:])
    assert np.array_equal(y[1:], labels[1:])
    assert X[0].any()
    assert not other[0].any()
    assert labels[0] is None


# Saturation.


@pytest.mark.full
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(
    ("rows", "persons"),
    [
        (None, {}),
        (1, {"person_weight": SUM}),
        (5, {"person_weight": SUM}),
        (5, {"person_weight": SHARE}),
        (5, {"person_weight": SUM, "max_rows": 2}),
        (5, {"person_weight": SHARE, "max_rows": 2}),
    ],
)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_a_canary_contributes_the_clip_at_every_participation(
    model, relation, rows, persons, fit_intercept, monkeypatch
):
    """Without noise the increments are the contributions, and every one is a whole clip.

    Up to the margin of the clip and the grid of the shared vector.
    """
    monkeypatch.setattr(LatticeGaussian, "draw", lambda _, *given: np.zeros(given[2:]))
    options = {"lot_size": 20, "relation": relation, "fit_intercept": fit_intercept, **persons}
    case = FitCase(quick(model, **options), **SMALL, person_rows=rows)
    _, (walk,), suspects = played(case, HALF, monkeypatch)
    problem, training = walk.problem, walk.training
    assert (training.facts.persons is None) == (rows is None)
    moves = np.array([moved[0, :30] for _, moved in walk.increments()])
    shift = training.clip * problem.row_bound / problem.scale
    absent = -shift if relation == "replace-one" else 0.0
    for out, size in ((HALF, shift), (~HALF, absent)):
        drawn = moves[:, out] != 0.0
        assert np.abs(moves[:, out][drawn] - size).max(initial=0.0) < training.noise.grid
        assert drawn.mean() == pytest.approx(0.0 if size == 0.0 else 1 / 3, abs=0.05)
    assert np.allclose(suspects.weights, row_weights(training.facts.persons, rows or 1))


def heavy(weight):
    return quick(DPRidge, lot_size=20, person_weight=weight)


@pytest.mark.parametrize(
    ("case", "travel"),
    [
        (FitCase(quick(DPRidge, lot_size=20), canaries=100), 1e4),
        (TableCase(quick(DPRidge, lot_size=20), canaries=50), 1e4),
        # A travel that is short enough for rows of weight 1 is not for those of weight 1/20.
        (FitCase(heavy(SHARE), canaries=100, ordinary=10, person_rows=20), 100.0),
    ],
)
def test_steps_that_are_not_clipped_are_refused(case, travel, monkeypatch):
    monkeypatch.setattr(fits, "_TRAVEL", travel)
    everybody = world(np.ones(case.canaries, bool))
    with pytest.raises(ParameterError, match="unclipped"):
        case.trial(everybody)
    if case.person_rows is not None:
        replace(case, estimator=heavy(SUM)).trial(everybody)


def test_weights_of_rows():
    assert row_weights(None, 1) == (1.0, 1.0)
    assert row_weights(PersonFacts(None, SUM, 3), 5) == (1.0, 3.0)
    assert row_weights(PersonFacts(None, SHARE, 100), 5) == pytest.approx((0.2, 1.0))


def test_a_training_by_itself_is_that_of_the_fit(monkeypatch):
    case = FitCase(quick(DPRidge, lot_size=10), **SMALL)
    fit, (walk,), _ = played(case, HALF, monkeypatch)
    shown = []
    alone = TrainingCase(
        fit.plan.training, Population(**SMALL), statistic=lambda walk: shown.append(walk)
    )
    alone.trial(world(HALF))
    for one, other in zip(walk.seen, shown[0].seen, strict=True):
        assert one[0] == other[0]
        np.testing.assert_array_equal(one[1], other[1])


def test_likelihood_ratio_matches_densities():
    rate, shift, std = 0.3, 0.7, 1.3
    x = np.linspace(-3.0, 3.0, 7)[None]
    there = np.full_like(x, shift)

    def density(centre, scale=std):
        return np.exp(-((x[0] - centre) ** 2) / (2.0 * scale**2))

    present = (1 - rate) * density(0.0) + rate * density(shift)
    ratio = step_ratios(x, there, rate, std)
    np.testing.assert_allclose(ratio, np.log(present / density(0.0)))
    certain = step_ratios(x, there, 1.0, std)
    np.testing.assert_allclose(certain, np.log(density(shift) / density(0.0)))
    # Two steps at once: drawn in none, in one or in both.
    wide = std * np.sqrt(2.0)
    both = sum(
        chance * density(times * shift, wide)
        for times, chance in enumerate(((1 - rate) ** 2, 2 * rate * (1 - rate), rate**2))
    )
    ratio = step_ratios(x, there, rate, std, 2)
    np.testing.assert_allclose(ratio, np.log(both / density(0.0, wide)))
