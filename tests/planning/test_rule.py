import dataclasses
import functools
import inspect
import math
from types import SimpleNamespace
from typing import Any

import pytest

from dpscd.errors import ParameterError
from dpscd.persons import PersonFacts
from dpscd.planning import rule
from dpscd.planning.facts import Facts
from dpscd.planning.rule import default_delta, plan_fit, worth_standardising
from dpscd.privacy.accounting import SampledGaussian, epsilon_of, gaussian_multiplier
from dpscd.privacy.relation import PrivacyTarget, Relation
from plans import noise_of, task_facts


def facts(**changes):
    return task_facts(**{"n": 1000, "d": 20, "constant": 0.3, **changes})


def trained(*given, **fixed):
    """Return the main training of the plan."""
    return plan_fit(*given, **fixed).training


@functools.cache
def planned(n, epsilon):
    return plan_fit(facts(n=n), PrivacyTarget(epsilon, default_delta(n)))


def usual_epochs(n):
    few = max(1.0, math.sqrt(rule._FEW / n))
    return min(rule._MOST_EPOCHS, rule._EPOCHS * few)


TARGET = PrivacyTarget(1.0, 1e-5)
SIZES = [100, 10_000, 10_000_000]
EPSILONS = [0.01, 1.0, 100.0]


@pytest.mark.full
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n", SIZES)
def test_plans_are_finite_and_keep_their_promise(n, epsilon):
    plan = planned(n, epsilon)
    assert plan.claim().epsilon <= epsilon
    plan = plan.training
    numbers = {field.name for field in dataclasses.fields(plan)} - {"facts", "target"}
    assert all(math.isfinite(getattr(plan, name)) for name in numbers)
    assert plan.epochs == pytest.approx(usual_epochs(n), rel=0.01)
    assert 0.0 < plan.travel <= rule._TRAVEL + 1e-9
    assert plan.separability == pytest.approx(plan.rate * n)


@pytest.mark.parametrize("n", SIZES)
def test_more_epsilon_means_less_noise_and_no_less_travel(n):
    plans = [planned(n, epsilon).training for epsilon in EPSILONS]
    multipliers = [plan.noise_multiplier for plan in plans]
    assert multipliers == sorted(multipliers, reverse=True)
    travels = [plan.travel for plan in plans]
    assert travels == sorted(travels)
    ratios = [plan.lam / plan.travel for plan in plans]
    assert ratios == sorted(ratios, reverse=True)


def test_given_numbers_are_used():
    plan = trained(facts(), TARGET, lam=0.5, epochs=12.0, lot_size=100, travel=0.25)
    assert plan.lam == 0.5
    assert plan.rate == 0.1
    assert plan.steps == 120
    assert plan.clip == pytest.approx(0.25 / 12.0)
    assert (plan.separability, plan.most_separability) == (16.0, 100.0)


def test_steps_are_whole_and_travel_is_kept():
    plan = trained(facts(), TARGET, epochs=10.0, lot_size=301, travel=0.25)
    assert plan.steps == math.ceil(10.0 * 1000 / 301)
    assert plan.travel == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("name", "bad", "says"),
    [
        *(
            (
                "lot_size",
                x,
                f"lot_size={x} must be at least 1 and at most the number of records, 1000",
            )
            for x in (1001, 0, -5)
        ),
        *(("epochs", x, f"epochs={x} must") for x in (0.0, -1.0)),
        ("travel", 0.0, "must be positive"),
    ],
)
def test_numbers_out_of_range_are_refused(name, bad, says):
    with pytest.raises(ParameterError, match=says):
        plan_fit(facts(), TARGET, **{name: bad})


def test_planning_sees_numbers_only_and_is_deterministic():
    kinds = {field.type for field in dataclasses.fields(Facts) if field.compare}
    assert kinds <= {int, float, str, bool, float | None, str | None, PersonFacts | None, Any}
    # Labels and a schema are Any: what was declared of them, and no array.
    assert hash(facts()) == hash(facts())
    parameters = inspect.signature(plan_fit).parameters
    assert {name: str(p.annotation) for name, p in parameters.items()} == {
        "facts": str(Facts),
        "target": str(PrivacyTarget),
        "lam": "float | None",
        "epochs": "float | None",
        "lot_size": "int | None",
        "travel": "float | None",
        "workers": str(int),
    }
    assert plan_fit(facts(), TARGET) == plan_fit(facts(), TARGET)


@pytest.mark.parametrize(("n", "delta"), [(10, 1e-5), (10_000, 1e-5), (10**6, 1e-7)])
def test_the_default_delta_is_below_a_tenth_of_a_record(n, delta):
    assert default_delta(n) == pytest.approx(delta)
    assert default_delta(n) <= 1.0 / (10.0 * n)


def share(noise, target):
    """Return which part of the budget a Gaussian release of all records takes."""
    gaussian = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    return (gaussian / noise) ** 2


@pytest.mark.full
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("n", "epsilon"), [(100, 0.1), (3000, 1.0), (10**6, 1.0), (50, 20.0)])
def test_a_standardised_plan_releases_moments_within_their_share(n, epsilon, relation, task):
    target = PrivacyTarget(epsilon, default_delta(n), relation)
    plan = plan_fit(facts(n=n, task=task, standardised=True), target)
    assert plan.claim().epsilon <= epsilon
    part = share(noise_of(plan, "moments"), target)
    assert part * 1.0001 >= rule._LEAST_MOMENTS
    assert part <= rule._MOST_MOMENTS * 1.0001
    if task == "classification":
        assert noise_of(plan, "label spread") == 0.0
    elif noise_of(plan, "label spread"):
        part = share(noise_of(plan, "label spread"), target)
        assert part * 1.0001 >= rule._LEAST_LABEL
        assert part <= rule._MOST_LABEL * 1.0001
        assert 2.0 * noise_of(plan, "label spread") / n <= rule._USELESS
    # What goes to moments is missing elsewhere.
    alone = trained(facts(n=n, task=task), target).noise_multiplier
    assert plan.training.noise_multiplier > 1.001 * alone


def test_label_moments_are_left_out_where_they_would_not_be_seen():
    target = PrivacyTarget(0.1, 1e-5)
    few = plan_fit(facts(n=100, task="regression", standardised=True), target)
    assert noise_of(few, "label spread") == 0.0
    assert noise_of(few, "moments") > 0.0
    assert [release.what for release in few.releases] == ["moments", "shared vector"]
    many = plan_fit(facts(n=10**5, task="regression", standardised=True), target)
    assert noise_of(many, "label spread") > 0.0


def test_a_plan_that_is_not_standardised_releases_the_shared_vector_only():
    for task in ("classification", "regression"):
        plan = plan_fit(facts(n=10**5, task=task), PrivacyTarget(1.0, 1e-6))
        assert [release.what for release in plan.releases] == ["shared vector"]


@pytest.mark.parametrize(
    ("n", "d", "epsilon", "worth"),
    [
        (100, 5, 0.1, False),
        (100_000, 5, 0.1, True),
        (1000, 20, 1.0, True),
        (1000, 10**5, 1.0, False),
        (1, 1, 100.0, True),
        (1, 1, 0.1, False),
    ],
)
def test_moments_are_worth_it_when_they_can_be_seen(n, d, epsilon, worth):
    assert worth_standardising(n, d, PrivacyTarget(epsilon, 1e-5)) is worth


def test_the_regularisation_of_standardised_rows_does_not_depend_on_the_row_bound():
    lams = {
        trained(facts(row_bound=bound, standardised=True), TARGET, travel=0.25).lam
        for bound in (1e-3, 1.0, 1e3)
    }
    assert len(lams) == 1


def travel_of(plan):
    """Return the travel of a standardised plan, in units of the labels' spread."""
    return plan.travel / rule._typical(facts(standardised=True))


@pytest.mark.full
def test_more_privacy_never_lengthens_the_travel_of_a_regression():
    regression = facts(n=5000, d=30, task="regression", standardised=True)
    plans = [
        trained(regression, PrivacyTarget(epsilon, 1e-5))
        for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    ]
    travels = [travel_of(plan) for plan in plans]
    assert travels == sorted(travels)
    assert travels[0] == pytest.approx(rule._LEAST_TRAVEL)
    assert travels[-1] > 2.0 * rule._REGRESSION_TRAVEL
    noises = [
        travel * rule._predicted_noise(regression, plan.target)
        for travel, plan in zip(travels, plans, strict=True)
    ]
    for falling in ([plan.lam for plan in plans], noises):
        assert falling == pytest.approx(sorted(falling, reverse=True))


def test_lam_of_counts_does_not_vanish_with_the_noise():
    counts = facts(n=10**5, task="counts", standardised=True)
    lams = [trained(counts, PrivacyTarget(x, 1e-5)).lam for x in (10.0, 100.0)]
    assert lams[0] == lams[1] > 1e-4


def test_the_regularisation_of_a_regression_is_best_for_what_it_expects():
    # Excess of predictions: what is shrunk away of what could be explained, and noise.
    regression = facts(n=3000, d=40, task="regression", standardised=True)
    target = PrivacyTarget(0.3, 1e-5)
    plan = trained(regression, target)
    noise = travel_of(plan) * rule._predicted_noise(regression, target)

    def excess(lam):
        shrunk = 1.0 + lam * regression.d
        explained = rule._EXPLAINED * (1.0 - 1.0 / shrunk) ** 2
        return explained + (noise / shrunk) ** 2

    assert excess(plan.lam) < min(excess(0.9 * plan.lam), excess(1.1 * plan.lam))


@pytest.mark.parametrize("relation", list(Relation))
def test_a_pilot_takes_its_share_where_its_noise_is_hardly_seen(relation):
    target = PrivacyTarget(1.0, 1e-6, relation)
    regression = facts(n=10**5, task="regression", standardised=True)
    plan = plan_fit(regression, target)
    pilot, plan = plan.trainings
    assert pilot.steps == pytest.approx(rule._PILOT_EPOCHS * plan.steps, abs=1)
    assert pilot.travel == pytest.approx(plan.travel)
    assert pilot.lam > plan.lam
    # Alone it would reach its share of the budget, up to what small steps are worth.
    gaussian = gaussian_multiplier(1.0, 1e-6, relation)
    alone = gaussian * rule._PILOT_SHARE**-0.5
    reached = epsilon_of([pilot.event], 1e-6, relation, 1e-4).epsilon
    exact = epsilon_of([SampledGaussian(1.0, alone, 1)], 1e-6, relation, 1e-4).epsilon
    assert reached == pytest.approx(exact, rel=0.2)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 5.0, 10.0])
@pytest.mark.parametrize("n", [3000, 336_776])
def test_few_epochs_leave_something_for_the_main_training(n, epsilon):
    regression = facts(n=n, d=10, task="regression", constant=0.25, standardised=True)
    target = PrivacyTarget(epsilon, default_delta(n), Relation.ZERO_OUT)
    plan = plan_fit(regression, target, epochs=1.0)
    assert plan.trainings[0].noise_multiplier >= 1.0
    assert plan.claim().epsilon <= epsilon


@pytest.mark.parametrize(
    "changes", [{"n": 500}, {"d": 10**4}, {"task": "classification"}, {"standardised": False}]
)
def test_there_is_no_pilot_elsewhere(changes):
    regression = facts(**{"n": 10**5, "task": "regression", "standardised": True, **changes})
    assert plan_fit(regression, PrivacyTarget(1.0, 1e-6)).trainings[1:] == ()


@pytest.mark.parametrize("share", [20, 5, 1])
def test_larger_lots_are_damped_as_usual_ones_at_first(share):
    n, target = 100_000, PrivacyTarget(1.0, 1e-6)
    usual = trained(facts(n=n, d=10_000, constant=0.0), target).separability
    plan = trained(facts(n=n, d=10_000, constant=0.0), target, lot_size=n // share)
    assert plan.separability == usual == 400.0
    assert plan.most_separability == n // share


@pytest.mark.parametrize(
    ("changes", "alike"),
    [
        ({"d": 4, "constant": 0.0}, 1 / 4),
        ({"d": 4, "constant": 0.01}, 1 / 5),
        ({"d": 10_000, "constant": 0.5, "row_bound": 1.0}, 0.2),
        ({"d": 10_000, "constant": 1.0, "row_bound": 2.0}, 0.2),
        ({"d": 10_000, "constant": 0.25, "standardised": True, "row_bound": 9.0}, 1 / 17),
    ],
)
def test_larger_lots_are_damped_by_what_rows_must_have_in_common(changes, alike):
    n = 10_000
    plan = trained(facts(n=n, **changes), PrivacyTarget(10.0, 1e-5), lot_size=n)
    assert plan.separability == pytest.approx(1.0 + (n - 1.0) * alike)
    assert plan.most_separability == n


def test_a_pilot_is_damped_as_the_training_it_precedes():
    regression = facts(n=10**5, task="regression", standardised=True)
    plan = plan_fit(regression, PrivacyTarget(1.0, 1e-6), lot_size=20_000)
    pilot, main = plan.trainings
    assert pilot.separability == main.separability < main.most_separability
    assert pilot.most_separability == main.most_separability


def test_on_workers_lots_are_worth_a_round_trip_and_at_most_a_twentieth():
    target = PrivacyTarget(1.0, 1e-7)
    here = trained(facts(n=10**6), target)
    there = trained(facts(n=10**6), target, workers=2)
    assert there.rate == 1 / 20
    assert there.steps < here.steps / 10
    # Travel is the same; the noise in the shared vector over all steps hardly changes.
    assert there.travel == pytest.approx(here.travel)
    noise = [p.noise.std * math.sqrt(p.steps) for p in (here, there)]
    assert noise[1] == pytest.approx(noise[0], rel=0.05)
    # With more records than the workers compute in a round trip, lots stop growing.
    many = trained(facts(n=10**8), target, workers=2)
    lot = many.rate * many.n
    seconds = lot * (rule._RECORD_TIME + 20 * rule._FEATURE_TIME) / 2
    assert seconds == pytest.approx(2 * rule._MESSAGE_TIME, rel=0.01)
    assert trained(facts(n=10**6), target, workers=2, lot_size=500).rate == 500 / 10**6


def after(epsilon=1.0, **changes):
    own = facts(**{"standardised": True, "weighted": False, **changes})
    plan = plan_fit(own, PrivacyTarget(epsilon, 1e-6))
    return plan.releases[plan.releases.index(plan.training) + 1 :]


@pytest.mark.full
def test_chances_of_two_classes_are_calibrated_where_that_can_be_seen():
    (one,) = after(n=30_000, loss="Logistic")
    assert one.what == "calibration"
    # Exact enough, within its share of the budget.
    many, few = after(n=10**7, loss="Logistic")[0], after(n=10_000, loss="Logistic")[0]
    gaussian = rule._gaussian(PrivacyTarget(1.0, 1e-6))
    assert many.noise_multiplier == pytest.approx(gaussian / math.sqrt(0.002))
    assert few.noise_multiplier == pytest.approx(gaussian / math.sqrt(0.01))
    middle = after(n=10**5, loss="Logistic")[0].noise_multiplier
    assert middle == pytest.approx(0.0005 * 10**5)
    assert after(n=1000, epsilon=0.5, loss="Logistic") == ()
    assert after(n=30_000) == after(n=30_000, loss="Logistic", constant=0.0) == ()
    assert after(n=30_000, loss="Logistic", standardised=False) == ()


def test_long_rows_are_looked_at_where_there_may_be_some_and_they_can_be_seen():
    rows = {"task": "regression", "loss": "Huber"}
    (one,) = after(n=30_000, **rows)
    assert one.what == "long rows"
    gaussian = rule._gaussian(PrivacyTarget(1.0, 1e-6))
    assert one.noise_multiplier == pytest.approx(gaussian / math.sqrt(0.04))
    assert after(n=3000, **rows) == ()
    table = SimpleNamespace(target=SimpleNamespace(classes=()))
    for changes in ({"weighted": True}, {"schema": table}, {"standardised": False}):
        assert after(**{"n": 30_000, **rows, **changes}) == ()
    assert [release.what for release in after(n=30_000, task="counts")] == ["level"]
