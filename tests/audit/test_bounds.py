import math

import numpy as np
import pytest

from dpscd.audit.audit import _upper, gaussian_epsilon, gaussian_mu, lower_bounds, trade_off
from dpscd.errors import ParameterError
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import Relation

DELTA = 1e-5


def gaussian_scores(mu, trials, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=trials), rng.normal(mu, size=trials)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_gaussian_epsilon_agrees_with_the_accountant(epsilon):
    mu = 1.0 / gaussian_multiplier(epsilon, DELTA, Relation.ZERO_OUT)
    assert gaussian_epsilon(mu, DELTA) == pytest.approx(epsilon, rel=1e-3)


def test_gaussian_epsilon_of_nothing_and_of_a_lot():
    assert gaussian_epsilon(0.0, DELTA) == 0.0
    assert gaussian_epsilon(1e-6, DELTA) == 0.0
    assert gaussian_epsilon(50.0, DELTA) > 1000.0


def test_gaussian_mu_inverts_the_trade_off_curve():
    assert gaussian_mu(0.1, 1.0 - trade_off(0.1, 0.7)) == pytest.approx(0.7)
    assert gaussian_mu(0.6, 0.6) == 0.0


def test_clopper_pearson_limits_match_closed_forms():
    # None of n: (1 - p)^n = risk; all of n: no limit; n - 1 of n: 1 - p^n = 1 - risk.
    assert _upper(0, 30, 0.025) == pytest.approx(1.0 - 0.025 ** (1 / 30))
    assert _upper(30, 30, 0.025) == 1.0
    assert _upper(29, 30, 0.025) == pytest.approx((1.0 - 0.025) ** (1 / 30))


@pytest.mark.parametrize("mu", [0.268, 1.0])
def test_a_gaussian_mechanism_is_bounded_closely(mu):
    truth = gaussian_epsilon(mu, DELTA)
    bounds = lower_bounds(*gaussian_scores(mu, 100_000, seed=1), delta=DELTA)
    assert 0.85 * truth < bounds.gaussian < truth
    assert 0.4 * truth < bounds.clopper_pearson < bounds.gaussian
    assert bounds.mu < mu


def test_bounds_keep_their_confidence():
    # Each bound is too high in at most 5 % of audits: 20 of 400 expected at the most,
    # more than 45 with chance 1e-7.
    mu, confidence = 0.5, 0.95
    truth = gaussian_epsilon(mu, DELTA)
    audits = [
        lower_bounds(*gaussian_scores(mu, 1000, seed), delta=DELTA, confidence=confidence)
        for seed in range(400)
    ]
    assert sum(b.gaussian > truth for b in audits) < 45
    assert sum(b.clopper_pearson > truth for b in audits) < 45


@pytest.mark.parametrize(
    "scores", [gaussian_scores(0.0, 20_000, seed=0), (np.zeros(1000), np.zeros(1000))]
)
def test_no_leak_and_equal_scores_give_no_bound(scores):
    bounds = lower_bounds(*scores, delta=DELTA)
    assert bounds.gaussian == bounds.clopper_pearson == 0.0


def test_a_broken_mechanism_gives_a_finite_bound_that_grows_with_trials():
    few, many = (
        lower_bounds(np.zeros(trials), np.ones(trials), delta=DELTA) for trials in (100, 10_000)
    )
    assert 3.0 < few.clopper_pearson < many.clopper_pearson < math.inf
    assert 10.0 < few.gaussian < many.gaussian < math.inf
    assert many.fpr == many.fnr == 0.0


def test_senseless_requests_are_refused():
    with pytest.raises(ParameterError, match="at least 20 trials"):
        lower_bounds(np.zeros(5), np.zeros(50), delta=DELTA)
    with pytest.raises(ParameterError, match="confidence"):
        lower_bounds(np.zeros(50), np.zeros(50), delta=DELTA, confidence=1.0)
