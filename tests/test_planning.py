import dataclasses
import functools
import inspect
import math

import pytest

from dpscd.errors import ParameterError
from dpscd.planning import Facts, default_constant, default_delta, plan_fit
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import PrivacyTarget, Relation


def facts(**changes):
    values = {
        "n": 1000,
        "d": 20,
        "outputs": 1,
        "task": "classification",
        "row_bound": 1.0,
        "constant": 0.3,
    }
    return Facts(**{**values, **changes})


@functools.cache
def planned(n, epsilon):
    return plan_fit(facts(n=n), PrivacyTarget(epsilon, default_delta(n)))


SIZES = [100, 10_000, 10_000_000]
EPSILONS = [0.01, 1.0, 100.0]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n", SIZES)
def test_plans_are_finite_and_keep_their_promise(n, epsilon):
    plan = planned(n, epsilon)
    for field in dataclasses.fields(plan):
        value = getattr(plan, field.name)
        assert isinstance(value, str) or math.isfinite(value)
    assert plan.claim().epsilon <= epsilon
    assert plan.epochs == pytest.approx(100.0, rel=0.01)
    assert 0.0 < plan.travel <= 0.5 + 1e-9
    assert plan.separability == pytest.approx(plan.rate * n)


@pytest.mark.parametrize("n", SIZES)
def test_more_epsilon_means_less_noise_and_no_less_travel(n):
    plans = [planned(n, epsilon) for epsilon in EPSILONS]
    multipliers = [plan.noise_multiplier for plan in plans]
    assert multipliers == sorted(multipliers, reverse=True)
    travels = [plan.travel for plan in plans]
    assert travels == sorted(travels)
    ratios = [plan.lam / plan.travel for plan in plans]
    assert ratios == sorted(ratios, reverse=True)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_more_records_mean_less_regularisation_and_no_less_travel(epsilon):
    plans = [planned(n, epsilon) for n in SIZES]
    lams = [plan.lam for plan in plans]
    assert lams == sorted(lams, reverse=True)
    travels = [round(plan.travel, 12) for plan in plans]
    assert travels == sorted(travels)


@pytest.mark.parametrize(("n", "lot"), [(10, 10), (1000, 16), (10_000, 40)])
def test_the_lot_size_follows_n_within_bounds(n, lot):
    target = PrivacyTarget(1.0, 1e-5)
    plan = plan_fit(facts(n=n), target)
    assert plan.separability == lot
    assert plan.rate == pytest.approx(lot / n)


def test_the_largest_lot_is_2048():
    assert planned(10_000_000, 1.0).separability == 2048.0


def test_given_numbers_are_used():
    plan = plan_fit(
        facts(), PrivacyTarget(1.0, 1e-5), lam=0.5, epochs=12.0, lot_size=100, travel=0.25
    )
    assert plan.lam == 0.5
    assert plan.rate == 0.1
    assert plan.steps == 120
    assert plan.clip == pytest.approx(0.25 / 12.0)
    assert plan.separability == 100.0


def test_steps_are_whole_and_travel_is_kept():
    plan = plan_fit(facts(), PrivacyTarget(1.0, 1e-5), epochs=10.0, lot_size=301, travel=0.25)
    assert plan.steps == math.ceil(10.0 * 1000 / 301)
    assert plan.travel == pytest.approx(0.25)


def test_a_lot_larger_than_the_data_is_refused():
    with pytest.raises(
        ParameterError, match="lot_size=1001 must be at least 1 and at most n=1000"
    ):
        plan_fit(facts(), PrivacyTarget(1.0, 1e-5), lot_size=1001)


@pytest.mark.parametrize(
    "bad",
    [{"lot_size": 0}, {"lot_size": -5}, {"epochs": 0.0}, {"epochs": -1.0}, {"travel": 0.0}],
    ids=str,
)
def test_numbers_out_of_range_are_refused(bad):
    with pytest.raises(ParameterError):
        plan_fit(facts(), PrivacyTarget(1.0, 1e-5), **bad)


def test_the_regularisation_follows_the_rule_in_the_users_units():
    target = PrivacyTarget(1.0, 1e-5)
    noise = gaussian_multiplier(1.0, 1e-5, Relation.ZERO_OUT)
    options = {"travel": 0.25}
    plain = plan_fit(facts(constant=0.0), target, **options)
    expected = 0.25 * math.sqrt(20) * (0.5 * noise + 1.0) / (25.0 * 1000)
    assert plain.lam == pytest.approx(expected)
    assert not plain.intercept
    regression = plan_fit(facts(constant=0.0, task="regression"), target, **options)
    assert regression.lam == pytest.approx(5.0 * expected)
    scaled = plan_fit(facts(constant=4.0, row_bound=3.0), target, **options)
    assert scaled.lam == pytest.approx(25.0 * expected * math.sqrt(21 / 20))
    assert scaled.intercept


def test_relation_and_outputs_reach_the_plan():
    target = PrivacyTarget(1.0, 1e-5, Relation.REPLACE_ONE)
    plan = plan_fit(facts(outputs=3), target)
    assert plan.relation is Relation.REPLACE_ONE
    assert plan.outputs == 3
    assert plan.size == 63


def test_planning_sees_numbers_only():
    kinds = {field.type for field in dataclasses.fields(Facts)}
    assert kinds <= {int, float, str}
    parameters = inspect.signature(plan_fit).parameters
    assert {name: str(p.annotation) for name, p in parameters.items()} == {
        "facts": str(Facts),
        "target": str(PrivacyTarget),
        "lam": "float | None",
        "epochs": "float | None",
        "lot_size": "int | None",
        "travel": "float | None",
    }


def test_planning_is_deterministic():
    target = PrivacyTarget(1.0, 1e-5)
    assert plan_fit(facts(), target) == plan_fit(facts(), target)


@pytest.mark.parametrize(("n", "delta"), [(10, 1e-5), (10_000, 1e-5), (10**6, 1e-7)])
def test_the_default_delta_is_below_a_tenth_of_a_record(n, delta):
    assert default_delta(n) == pytest.approx(delta)
    assert default_delta(n) <= 1.0 / (10.0 * n)


def test_the_default_constant_follows_the_row_bound():
    assert default_constant(10.0) == pytest.approx(3.0)
