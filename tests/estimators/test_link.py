"""The link of the capped loss: its mathematics by brute force, and where it comes from."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit

from dpscd import DPLogisticRegression
from dpscd.link import Link, link_for

RNG = np.random.default_rng(0)
X = np.clip(RNG.normal(size=(6000, 5)), -3, 3) / (3 * math.sqrt(5))
RARE = (RNG.random(6000) < expit(12 * X[:, 0] - 3)).astype(int)
LINKS = st.builds(
    Link, st.floats(0.01, 1.0), st.tuples(st.floats(0.5, 1.0), st.floats(0.5, 1.0))
)


def capped_loss(u, cap):
    """Return the logistic loss of margin u, whose slope is no steeper than the cap."""
    turn = math.log((1.0 - cap) / cap) if cap < 1.0 else -math.inf
    if u >= turn:
        return math.log1p(math.exp(-u))
    return math.log1p(math.exp(-turn)) + cap * (turn - u)


@pytest.mark.parametrize("caps", [(0.5, 0.5), (0.7, 0.7), (0.55, 0.9), (1.0, 1.0)])
@pytest.mark.parametrize("chance", [0.02, 0.3, 0.45, 0.6, 0.97])
def test_the_link_inverts_the_minimiser_of_the_capped_loss(caps, chance):
    def expected(u):
        return chance * capped_loss(u, caps[1]) + (1.0 - chance) * capped_loss(-u, caps[0])

    found = minimize_scalar(
        expected, bounds=(-30, 30), method="bounded", options={"xatol": 1e-9}
    )
    logs = Link(caps=caps).log_probabilities([found.x])
    np.testing.assert_allclose(np.exp(logs), [[1.0 - chance, chance]], atol=2e-5)


@given(LINKS, st.lists(st.floats(-50, 50), min_size=2, max_size=20))
def test_probabilities_grow_with_decisions_and_are_even_at_zero(link, decisions):
    u = np.sort(decisions)
    logs = link.log_probabilities(u)
    assert (np.diff(logs[:, 1]) >= 0.0).all()
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)
    assert ((logs[:, 1] > logs[:, 0]) <= (u > 0)).all()
    apart = np.diff(u) > 1e-6
    assert (np.diff(logs[:, 1] - logs[:, 0])[apart] > 0.0).all()  # no ties
    np.testing.assert_allclose(link.log_probabilities([0.0]), math.log(0.5))
    mirrored = Link(link.scale, link.caps[::-1]).log_probabilities(-u)[:, ::-1]
    np.testing.assert_allclose(mirrored, logs)


def test_without_caps_it_is_the_sigmoid():
    u = np.linspace(-700, 700, 101)
    assert Link().is_sigmoid
    np.testing.assert_array_equal(Link().log_probabilities(u)[:, 1], -np.logaddexp(0.0, -u))
    assert not Link(0.9).is_sigmoid
    assert not Link(caps=(1.0, 0.9)).is_sigmoid


def test_a_private_fit_caps_and_one_without_privacy_does_not():
    model = DPLogisticRegression(2.0, classes=[0, 1], random_state=0).fit(X, RARE)
    assert model.link_.scale == 1.0
    assert model.link_.caps[0] == model.link_.caps[1] == pytest.approx(0.5, abs=0.1)
    chances = model.predict_proba(X)
    np.testing.assert_array_equal(chances.argmax(axis=1), model.predict(X))
    np.testing.assert_allclose(np.log(chances), model.predict_log_proba(X))
    # The rare class is no longer missed: the mean of probabilities is its share.
    sigmoid = expit(model.decision_function(X)).mean()
    assert abs(chances[:, 1].mean() - RARE.mean()) < abs(sigmoid - RARE.mean())
    whole = DPLogisticRegression(2.0, classes=[0, 1], travel=1.0, random_state=0).fit(X, RARE)
    assert whole.link_.caps == (1.0, 1.0)
    open_ = DPLogisticRegression(math.inf, classes=[0, 1], lam=1e-3).fit(X, RARE)
    assert open_.link_ == Link()


def test_more_than_two_classes_keep_sigmoids():
    three = RARE + (X[:, 1] > 0)
    model = DPLogisticRegression(2.0, classes=[0, 1, 2], epochs=2, random_state=0).fit(X, three)
    assert model.link_ == Link()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("parameters", [{"standardise": False}, {"fit_intercept": False}])
def test_every_way_of_training_has_a_link(parameters):
    model = DPLogisticRegression(2.0, classes=[0, 1], random_state=0, **parameters).fit(X, RARE)
    assert 0.5 <= min(model.link_.caps) < 1.0


def test_the_link_is_a_function_of_public_numbers_alone():
    model = DPLogisticRegression(2.0, classes=[0, 1], fit_intercept=False, random_state=0).fit(
        X, RARE
    )
    training = model.fit_.plan.training
    numbers = (training.travel, training.shared_noise, model.coef_[0], 0.0, (1.0, 1.0))
    again = link_for(model.fit_.state.model.runs[-1], *numbers)
    assert again == model.link_
    assert not again.is_sigmoid


def test_a_shorter_travel_means_less_confidence_and_a_penalty_more():
    def found(**parameters):
        model = DPLogisticRegression(
            2.0, classes=[0, 1], random_state=0, standardise=False, **parameters
        ).fit(X, RARE)
        return model.link_

    assert found(travel=0.1).scale < found(travel=0.3).scale < 1.0
    assert found(travel=0.3).caps == (0.5, 0.5)
    # A strong penalty leaves decisions too short: more confidence than the cap alone gives.
    assert found(travel=0.5, lam=0.03).caps[0] > found(travel=0.5, lam=1e-5).caps[0]


def test_weights_of_classes_are_in_the_caps():
    weights = {0: 0.1, 1: 1.0}
    model = DPLogisticRegression(2.0, classes=[0, 1], class_weight=weights, random_state=0)
    model.fit(X, RARE)
    assert model.link_.caps[0] == 1.0  # a tenth of a record of class 0 reaches its whole dual
    assert model.link_.caps[1] < 0.7
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    # A class without weight: nothing to hold a balance with.
    alone = DPLogisticRegression(2.0, classes=[0, 1], class_weight={0: 0.0}, random_state=0)
    assert alone.fit(X, RARE).link_ == Link()
