"""Group privacy of the bench is as tight as dp-accounting has it, and no tighter."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import stats

from dpscd.privacy.accounting import epsilon_of, gaussian_multiplier
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd_experiments import group_privacy
from dpscd_experiments.group_privacy import group_epsilon, row_epsilon

DELTA = 1e-5


def mixture_epsilon(rate, std, steps, rows):
    """Return what dp-accounting says of a group whose rows are drawn one by one."""
    chances = stats.binom.pmf(np.arange(rows + 1), rows, rate)
    losses = pld.from_mixture_gaussian_mechanism(
        std, list(range(rows + 1)), list(chances), value_discretization_interval=2e-4
    )
    return losses.self_compose(steps).get_epsilon_for_delta(DELTA)


@pytest.mark.full
@pytest.mark.parametrize("rows", [2, 3, 10])
@pytest.mark.parametrize(("rate", "steps"), [(0.01, 300), (0.2, 10)])
def test_a_group_costs_what_dp_accounting_says(rows, rate, steps):
    event = SampledGaussian(rate, 0.8 * rows, steps)
    exact = mixture_epsilon(rate, 0.8 * rows, steps, rows)
    found = group_epsilon([event], rows, exact, DELTA)
    assert found == pytest.approx(exact, rel=0.01)


def test_a_group_of_one_row_is_a_row():
    event = SampledGaussian(0.01, 2.0, 1000)
    exact = epsilon_of([event], DELTA, Relation.ZERO_OUT, 1e-4).epsilon
    assert group_epsilon([event], 1, exact, DELTA) == pytest.approx(exact, rel=0.005)


def test_what_all_rows_enter_needs_as_many_times_the_noise():
    noise = gaussian_multiplier(1.0, DELTA, Relation.ZERO_OUT)
    for rows in (1, 5, 30):
        event = SampledGaussian(1.0, rows * noise, 1)
        assert group_epsilon([event], rows, 1.0, DELTA) == pytest.approx(1.0, rel=0.005)


@pytest.mark.parametrize("rows", [3, 30])
@pytest.mark.parametrize(
    ("classifies", "persons"), [(False, False), (True, False), (True, True)]
)
def test_the_epsilon_of_a_row_reaches_that_of_the_group(rows, classifies, persons):
    n, d, epsilon = 500 * rows, 5, 1.0
    asked = row_epsilon(n, d, rows, epsilon, DELTA, classifies=classifies, persons=persons)
    events = group_privacy._events(n, d, PrivacyTarget(asked, DELTA), classifies, persons)
    assert 0.995 * epsilon <= group_epsilon(events, rows, epsilon, DELTA) <= epsilon
    # The textbook's conversion needs more noise: ours is in the opponent's favour.
    each = epsilon / rows
    small = DELTA / sum(math.exp(i * each) for i in range(rows))
    assert gaussian_multiplier(asked, DELTA, Relation.ZERO_OUT) < (
        gaussian_multiplier(each, small, Relation.ZERO_OUT)
    )


def test_one_row_needs_no_conversion():
    assert row_epsilon(1000, 5, 1, 0.7, DELTA, classifies=True) == 0.7
