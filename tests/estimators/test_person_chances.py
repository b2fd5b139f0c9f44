"""Chances of models of persons, whole fits: the release "steepness"."""

import dataclasses

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


def test_it_is_planned_for_persons_and_makes_chances_fit(tmp_path):
    model = fitted()
    assert [x.what for x in model.privacy_.releases[-2:]] == ["calibration", "steepness"]
    assert model.privacy_.releases[-1].event.steps == 2
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


def test_cards_that_cannot_list_it():
    card = fitted().privacy_
    listed = card.releases[-1]
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
