"""What is expected of a plan follows its noise and its work."""

import math

import numpy as np
import pytest

from dpscd import DPLogisticRegression, DPRidge, UtilityWarning
from dpscd.errors import CalibrationError, ParameterError
from dpscd.planning.forecast import (
    Finer,
    expect,
    expect_intervals,
    noise_warning,
    preparing_seconds,
    relative_noise,
)
from dpscd.planning.rule import default_constant, plan_fit
from dpscd.privacy.relation import PrivacyTarget
from dpscd.standard import LONGEST
from plans import task_facts


def planned(n, d, epsilon, task="classification", outputs=1, **more):
    constant = default_constant(1.0, standardised=True)
    facts = task_facts(task, outputs, n=n, d=d, constant=constant, standardised=True, **more)
    return plan_fit(facts, PrivacyTarget(epsilon, 1e-5))


def expected(n, d, epsilon, task="classification", outputs=1, **more):
    return expect(planned(n, d, epsilon, task, outputs), **more)


@pytest.mark.full
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_more_privacy_costs_more_and_more_records_less(task):
    ends = [expected(30_000, 100, x, task).lost[1] for x in (0.1, 0.5, 1.0, 2.0, 10.0)]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] > 5 * ends[-1]
    assert expected(300_000, 100, 0.1, task).lost[1] == pytest.approx(ends[2], rel=0.2)
    strict, mild = (expected(30_000, 100, x, task) for x in (0.1, 2.0))
    assert strict.relative_noise > 10 * mild.relative_noise
    if task == "classification":  # a regression is regularised as much as its noise asks for
        assert strict.coef_noise > mild.coef_noise


def test_nobody_loses_more_than_guessing_does():
    assert expected(1000, 1000, 0.01).lost[1] == 0.5
    assert expected(1000, 1000, 0.01, outputs=5).lost[1] == 0.8
    assert expected(1000, 1000, 0.01, largest_class=0.97).lost[1] == pytest.approx(0.03)
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(ParameterError, match="largest_class"):
            expected(1000, 10, 1.0, largest_class=share)


def finest(n, d, epsilon, finer, task="classification"):
    return expect(planned(n, d, epsilon, task), finer=finer)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_finer_features_widen_the_comparison_with_epsilon_inf(task):
    same = finest(30_000, 50, 1.0, None, task)
    assert same.below_inf == same.lost
    found = finest(30_000, 50, 1.0, Finer(200, 0.1), task)
    assert found.lost == same.lost
    assert found.below_inf[0] < same.lost[0]
    assert found.below_inf[1] > same.lost[1] + 0.01
    assert finest(1000, 1000, 0.01, Finer(200, 0.1)).below_inf[1] == 0.5


def test_reading_and_compiling_are_told_apart_from_training():
    first = preparing_seconds(32_561, 12)
    assert 23 < first < 60
    assert preparing_seconds(10 * 32_561, 12) > first + 9


def test_relative_noise_is_that_of_one_gaussian_release():
    one = relative_noise(1000, 1, PrivacyTarget(1.0, 1e-5))
    assert relative_noise(2000, 16, PrivacyTarget(1.0, 1e-5)) == pytest.approx(2.0 * one)


@pytest.mark.full
def test_time_grows_with_the_work():
    small, large = (expected(n, 50, 1.0).seconds for n in (10**5, 10**7))
    assert 20 < large / small < 200
    one, five = (expected(10**6, 50, 1.0, outputs=k).seconds for k in (1, 5))
    assert 4 < five / one < 6
    # A pilot is a second, shorter training.
    assert planned(10**6, 50, 1.0, task="regression").trainings[1:]
    assert expected(10**6, 50, 1.0, task="regression").seconds > 1.2 * one


@pytest.mark.full
@pytest.mark.parametrize(("task", "factor"), [("regression", 2.1), ("classification", 1.9)])
def test_the_width_of_intervals_follows_the_noise_of_the_plan(task, factor):
    regression = task == "regression"
    plan = planned(5000, 10, 1.0, task, inference="model")
    found, main = expect_intervals(plan), plan.training
    typical = math.hypot(1.0, 0.25) / math.hypot(LONGEST, 0.25)
    noise = main.clip * main.noise_multiplier * math.sqrt(main.steps) / typical
    spread = math.pi / 2 if regression else 0.18
    added = (0.75 + 0.25 / 3) * noise**2 * 10 / (5000 * spread)
    assert found.width == pytest.approx(math.sqrt(1.0 + factor * added))
    assert found.seconds == pytest.approx(expect(plan).seconds)


@pytest.mark.full
@pytest.mark.parametrize(("task", "epsilon"), [("regression", 0.5), ("classification", 1.0)])
def test_intervals_are_as_wide_as_expected(task, epsilon):
    rng = np.random.default_rng(0)
    n, d, regression = 5000, 5, task == "regression"
    X = math.sqrt(0.7) * rng.normal(size=(n, d)) + math.sqrt(0.3) * rng.normal(size=(n, 1))
    line = X[:, 0] - X[:, 1]
    options = {"delta": 1e-5, "row_bound": 5.0, "inference": True, "random_state": 0}
    if regression:
        y = np.clip(line + rng.normal(size=n), -6, 6)
        model = DPRidge(epsilon, y_bounds=(-6, 6), **options).fit(X, y)
        weights = np.ones(n)
    else:
        chances = 1 / (1 + np.exp(-line))
        y = rng.random(n) < chances
        model = DPLogisticRegression(epsilon, classes=[False, True], **options).fit(X, y)
        weights = chances * (1 - chances)
    rows = np.column_stack([X, np.ones(n)])
    classical = np.sqrt(np.diag(np.linalg.inv((rows * weights[:, None]).T @ rows)))[:d]
    width = np.median(model.summary().frame["std_error"][:d] / classical)
    expected_width = expect_intervals(planned(n, d, epsilon, task, inference="model")).width
    assert width**2 - 1 == pytest.approx(expected_width**2 - 1, rel=0.5)


def test_a_warning_begins_where_noise_is_as_long_as_all_records_together():
    target = PrivacyTarget(1.0, 1e-5)
    assert "the model will be mostly noise" in noise_warning(20, 84, target)
    edge = next(n for n in range(20, 100) if "mostly noise" not in noise_warning(n, 84, target))
    assert relative_noise(edge - 1, 84, target) >= 1.0 > relative_noise(edge, 84, target)
    # The longest sum is that of records all alike; drawn noise is as long as it at the edge.
    sigma = relative_noise(1, 1, target)
    drawn = np.linalg.norm(np.random.default_rng(0).normal(0.0, sigma, (1000, 84)), axis=1)
    assert drawn.mean() == pytest.approx(edge, rel=0.05)


@pytest.mark.full
def test_a_milder_warning_begins_where_all_that_two_classes_know_may_be_lost():
    target = PrivacyTarget(0.1, 1e-5)
    assert "may be no better than guessing" in noise_warning(300, 11, target)
    edge = next(n for n in range(300, 3000) if noise_warning(n, 11, target) is None)
    assert expected(edge - 1, 10, 0.1).lost[1] == 0.5 > expected(edge, 10, 0.1).lost[1]
    # Where it begins the worst of some models guesses, and half the records later none does.
    rng, found = np.random.default_rng(0), {}
    for n in (edge // 2, edge * 3 // 2):
        X = rng.normal(size=(n + 20_000, 10))
        y = X @ rng.normal(size=10) + rng.logistic(size=len(X)) > 0
        options = {"classes": [False, True], "row_bound": 6.0, "delta": 1e-5}
        models = (DPLogisticRegression(0.1, random_state=seed, **options) for seed in range(10))
        found[n] = min(model.fit(X[:n], y[:n]).score(X[n:], y[n:]) for model in models)
    assert found[edge // 2] < 0.55
    assert found[edge * 3 // 2] > 0.6


def test_a_larger_epsilon_is_proposed_only_where_it_is_small():
    for epsilon, proposed in ((0.1, True), (9.9, True), (10.0, False), (1e4, False)):
        words = noise_warning(1, 10_000, PrivacyTarget(epsilon, 1e-5))
        assert ("larger epsilon" in words) == proposed
        assert "fewer features" in words
    assert "More records or fewer features help" in words
    for epsilon, proposed in ((1e4, "Use a smaller epsilon"), (1e-9, "Use a larger epsilon")):
        with pytest.raises(CalibrationError, match=proposed):
            planned(300, 5, epsilon)


@pytest.mark.full
def test_a_verdict_says_what_a_band_comes_to():
    guess = "the model may be no better than guessing"
    for n, task, verdict in (
        (100, "classification", guess),
        (1500, "classification", "much may be lost"),
        (20_000, "classification", "some may be lost"),
        (10**6, "classification", "next to nothing is lost"),
        (100, "regression", guess),
        (2000, "regression", "much may be lost"),
        (20_000, "regression", "some may be lost"),
        (10**6, "regression", "next to nothing is lost"),
    ):
        assert expected(n, 10, 0.1, task).verdict == verdict
    assert expected(20_000, 10, 0.1, largest_class=0.999).verdict == guess


def test_a_fit_warns_by_public_numbers_alone():
    with pytest.warns(UtilityWarning, match="n=300 with 11 coefficients at epsilon=0.1: "):
        DPLogisticRegression(0.1, classes=[0, 1], epochs=1).fit(
            np.zeros((300, 10)), np.arange(300) % 2
        )
    X, y = np.zeros((20, 83)), np.arange(20) % 2
    with pytest.warns(UtilityWarning, match="n=20 with 84 coefficients at epsilon=1: "):
        DPLogisticRegression(1.0, classes=[0, 1], epochs=1).fit(X, y)
    with pytest.warns(UtilityWarning, match="n=20 with 83 coefficients"):
        DPLogisticRegression(1.0, classes=[0, 1], epochs=1, fit_intercept=False).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_a_fit_of_enough_records_does_not_warn():
    X, y = np.zeros((400, 83)), np.arange(400) % 2
    DPLogisticRegression(1.0, classes=[0, 1], epochs=1).fit(X, y)
    DPLogisticRegression(math.inf, classes=[0, 1]).fit(X[:20, :1], y[:20])
