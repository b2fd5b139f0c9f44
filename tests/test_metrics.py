import numpy as np
import pytest
from sklearn import metrics as sk

from dpscd.metrics import class_tables, decision_metrics, regression_metrics


def test_decision_metrics_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    chance = rng.random(500)
    truth = rng.random(500) < chance
    decision = np.round(chance - 0.5, 1)  # with ties
    found = decision_metrics(truth, decision)
    assert found["accuracy"] == sk.accuracy_score(truth, decision > 0)
    assert found["auc"] == pytest.approx(sk.roc_auc_score(truth, decision))


def test_regression_metrics_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    y, predicted = rng.normal(size=(2, 100))
    found = regression_metrics(y, predicted)
    assert found["mse"] == pytest.approx(sk.mean_squared_error(y, predicted))
    assert found["r2"] == pytest.approx(sk.r2_score(y, predicted))


def test_undefined_metrics_are_nan():
    nan = np.full(3, np.nan)
    truth = np.array([True, False, True])
    assert np.isnan(decision_metrics(truth, nan)["accuracy"])
    assert np.isnan(decision_metrics(truth, nan)["auc"])
    assert np.isnan(decision_metrics([True, True], [1.0, 2.0])["auc"])
    assert np.isnan(regression_metrics([1.0, 2.0, 3.0], nan)["mse"])
    assert np.isnan(regression_metrics([1.0, 1.0], [0.0, 1.0])["r2"])


def test_gains_say_how_much_of_a_class_is_found_first():
    chances = np.array([0.9, 0.8, 0.3, 0.3, 0.1])
    codes = np.array([1, 1, 1, 0, 0])
    both = np.column_stack([1.0 - chances, chances])
    found = class_tables(["no", "yes"], codes, codes, both)["gain"]
    at = {round(x["records"], 2): x["found"] for x in found}
    assert len(at) == 20
    # A tie counts as its mean.
    assert at[0.2] == pytest.approx(1 / 3)
    assert at[0.4] == pytest.approx(2 / 3)
    assert at[0.6] == pytest.approx(2.5 / 3)
    assert at[0.8] == at[1.0] == pytest.approx(1.0)
    assert class_tables(["no", "yes"], 0 * codes, codes, both)["gain"] == []
