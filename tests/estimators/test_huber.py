"""The Huber regression: scikit-learn's at epsilon inf, and robust with privacy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import HuberRegressor

from dpscd import DPHuberRegressor, DPRidge, ParameterError, TableModel

INF = float("inf")


def records(n=400, wrong=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, size=(n, 3))
    y = X @ [3.0, -2.0, 1.0] + 0.1 * rng.normal(size=n)
    y[:wrong] = 9.0
    return X, y


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [1.1, 1.35])
def test_without_privacy_it_is_scikit_learns(epsilon):
    X, y = records()
    theirs = HuberRegressor(
        epsilon=epsilon, alpha=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(X, y)
    ours = DPHuberRegressor(
        INF,
        lam=0.5 * theirs.scale_ / len(X),
        threshold=epsilon * theirs.scale_,
        fit_intercept=False,
        y_bounds=(-10.0, 10.0),
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    assert ours.intercept_ == 0.0


def test_the_threshold_is_in_the_users_unit():
    X, y = records()
    own = {"epsilon": INF, "fit_intercept": False}
    one = DPHuberRegressor(**own, lam=1e-3, threshold=0.5, y_bounds=(-10, 10)).fit(X, y)
    many = DPHuberRegressor(**own, lam=1e-3, threshold=50.0, y_bounds=(-1000, 1000))
    many.fit(X, 100.0 * y)
    np.testing.assert_allclose(many.coef_, 100.0 * one.coef_, rtol=1e-2, atol=0.5)


def test_a_threshold_beyond_the_labels_is_ridge_regression():
    X, y = records()
    own = {"epsilon": 2.0, "y_bounds": (-10.0, 10.0), "random_state": 0, "epochs": 5}
    # With weights, for only a ridge regression is stretched after training.
    huber = DPHuberRegressor(threshold=1e6, **own).fit(X, y, np.ones(len(y)))
    ridge = DPRidge(**own).fit(X, y, np.ones(len(y)))
    np.testing.assert_allclose(huber.coef_, ridge.coef_, rtol=1e-3, atol=1e-3)


def test_auto_is_a_tenth_of_the_range_and_the_card_says_so():
    X, y = records(100)
    model = DPHuberRegressor(INF, y_bounds=(-10.0, 10.0)).fit(X, y)
    assert model.privacy_.shown()["threshold"] == 2.0


@pytest.mark.full
@pytest.mark.parametrize("threshold", ["auto", 3.0])
def test_with_released_bounds_of_the_target_the_threshold_is_in_its_units(threshold):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(size=3000)})
    table["y"] = 100.0 * table["x"] + rng.normal(size=3000)
    schema = {
        "target": {"column": "y", "bounds": "private"},
        "columns": {"x": {"kind": "number", "bounds": [0, 1]}},
    }
    for epsilon in (3.0, INF):
        own = DPHuberRegressor(epsilon, threshold=threshold, random_state=0)
        model = TableModel(schema, own).fit(table)
        low, high = model.bounds_["y"]
        problem = model.fit_.plan.facts.problem(1.0, tuple(model.bounds_.values()))
        wanted = 0.1 * (high - low) if threshold == "auto" else 3.0
        assert problem.loss.threshold * problem.label_scale == pytest.approx(wanted)


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan"), INF, "much", None, True])
def test_a_threshold_is_a_positive_number(threshold):
    with pytest.raises(ParameterError, match="threshold="):
        DPHuberRegressor(y_bounds=(0, 1), threshold=threshold).fit([[0.0], [1.0]], [0, 1])
