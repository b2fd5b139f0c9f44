"""Chances of models of persons, whole fits: the release "steepness"."""

import dataclasses
import math

import numpy as np
import pytest

import dpscd
from dpscd import CardError, DPLogisticRegression
from dpscd.releases.rescaling import SLOPES
from dpscd.releases.steepness import Steepness

N, D, ROWS = 4000, 5, 10


def people():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(N), ROWS)
    X = rng.normal(size=(len(person), D)) / 3.0
    decision = X @ np.array([6.0, -3.0, 0.0, 0.0, 0.0])
    y = (rng.random(len(person)) < 1.0 / (1.0 + np.exp(-decision))).astype(int)
    return X, y, person


def fitted(**changes):
    X, y, person = people()
    values = {"epsilon": 2.0, "classes": [0, 1], "random_state": 3, "row_bound": 1.5, **changes}
    return DPLogisticRegression(**values).fit(X, y, groups=person)


@pytest.mark.full
def test_it_is_planned_for_persons_and_makes_chances_fit(tmp_path):
    model = fitted()
    assert [x.what for x in model.privacy_.releases[-2:]] == ["steepness", "calibration"]
    assert model.privacy_.releases[-2].event.steps == 2
    assert model.privacy_.verify() <= 2.0
    assert model._slope != 1.0
    X, y, _ = people()
    chance = model.predict_proba(X)[:, 1]
    loss = -np.mean(np.log(np.where(y == 1, chance, 1.0 - chance)))
    decision = model.decision_function(X)
    scales = np.linspace(0.2, 3.0, 57)
    best = min(np.mean(np.logaddexp(0.0, -s * decision * (2 * y - 1))) for s in scales)
    assert loss < best + 0.004
    model.save(tmp_path / "model.json")
    again = dpscd.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again._slope == model._slope


def mean_errors(model, X, y, person):
    """Return by which part mean probabilities are off, over rows and over persons."""
    chance, rows = model.predict_proba(X)[:, 1], np.bincount(person)
    of_persons = [np.mean(np.bincount(person, x) / rows) for x in (chance, y)]
    return chance.mean() / y.mean() - 1.0, of_persons[0] / of_persons[1] - 1.0


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_mean_probabilities_of_persons_are_right(epsilon):
    X, y, person = people()
    model = fitted(epsilon=epsilon)
    assert np.abs(mean_errors(model, X, y, person)).max() < 0.02
    alone = DPLogisticRegression(epsilon, classes=[0, 1], random_state=1)
    first = person * ROWS == np.arange(len(person))
    alone.fit(X[first], y[first], groups=person[first])
    assert abs(mean_errors(alone, X[first], y[first], person[first])[0]) < 0.04


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::dpscd.PrivacyWarning")
@pytest.mark.parametrize("epsilon", [1.0, 100.0])
def test_rows_of_people_who_have_one_each_are_records(epsilon):
    """A rare class, whose level is to be as exact as if nobody could have several rows."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-0.5, 0.5, size=(20_000, D))
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(2.5 - 4.0 * X[:, 0]))).astype(int)
    for seed in range(3):
        model = DPLogisticRegression(epsilon, classes=[0, 1], random_state=seed)
        chance = model.fit(X, y, groups=range(len(X))).predict_proba(X)[:, 1]
        assert chance.mean() == pytest.approx(y.mean(), rel=0.03 if epsilon == 1.0 else 0.01)


def frequent():
    """Return rows of people of whom those with many rows are positive more often."""
    rng = np.random.default_rng(5)
    often = rng.normal(size=5 * N)
    rows = 1 + np.minimum(rng.poisson(np.exp(0.8 * often + 0.5)), 30)
    person = np.repeat(np.arange(5 * N), rows)
    X = rng.uniform(-0.5, 0.5, size=(len(person), D))
    decision = 2.0 * X[:, 0] + 1.2 * often[person] - 0.4
    return X, (rng.random(len(person)) < 1.0 / (1.0 + np.exp(-decision))).astype(int), person


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [3.0, math.inf])
def test_probabilities_are_right_per_row_or_per_person_as_asked(epsilon):
    X, y, person = frequent()
    for place, weight in enumerate(("sum", "share")):
        model = DPLogisticRegression(
            epsilon, classes=[0, 1], person_weight=weight, random_state=0
        ).fit(X, y, groups=person)
        both = mean_errors(model, X, y, person)
        assert abs(both[place]) < 0.03
        assert abs(both[1 - place]) > 0.1  # these are two questions


@pytest.mark.full
def test_without_an_intercept_too():
    model = fitted(fit_intercept=False)
    assert model.privacy_.releases[-1].what == "steepness"
    assert SLOPES[0] <= model._slope <= SLOPES[1]


@pytest.mark.parametrize("n", [30, 300])
def test_it_is_left_out_where_it_would_be_noise(n):
    X, y, person = people()
    few = person < n
    model = DPLogisticRegression(classes=[0, 1], random_state=0).fit(
        X[few], y[few], groups=person[few]
    )
    assert "steepness" not in {x.what for x in model.privacy_.releases}


@pytest.mark.full
def test_cards_that_cannot_list_it():
    card = fitted().privacy_
    listed = card.releases[-2]
    assert listed.what == "steepness"
    public = dict(card.public)
    Steepness.check_listed(listed, public)
    Steepness.check_listed(None, {})
    for changes in ({"classes": [0, 1, 2]}, {"max_rows": None}):
        own = {**public, **changes}
        own = {name: value for name, value in own.items() if value is not None}
        with pytest.raises(CardError, match="steepness"):
            Steepness.check_listed(listed, own)
    with pytest.raises(CardError, match="size"):
        Steepness.check_listed(dataclasses.replace(listed, size=3), public)
