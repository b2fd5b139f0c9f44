import numpy as np
import pytest
from sklearn import metrics as sk

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge
from dpscd.errors import DataError
from dpscd_experiments.metrics import (
    calibration_curve,
    logistic_metrics,
    probability_metrics,
    ridge_metrics,
    svm_metrics,
)


@pytest.fixture
def labelled():
    rng = np.random.default_rng(0)
    chance = rng.random(500)
    return rng.random(500) < chance, chance


def test_probability_metrics_agree_with_scikit_learn(labelled):
    truth, chance = labelled
    found = probability_metrics(truth, chance)
    assert found["accuracy"] == sk.accuracy_score(truth, chance > 0.5)
    assert found["log_loss"] == pytest.approx(sk.log_loss(truth, chance))
    assert found["brier"] == pytest.approx(sk.brier_score_loss(truth, chance))
    assert found["calibration_error"] < 0.1
    assert np.array(found["calibration"]).shape == (10, 2)


def test_calibration_curve_by_hand():
    curve = calibration_curve([0, 1, 1, 1], [0.11, 0.19, 0.95, 1.0])
    np.testing.assert_allclose(curve, [(0.15, 0.5), (0.975, 1.0)])


def test_certainty_that_is_wrong_costs_much_but_not_infinitely():
    assert 30 < probability_metrics([True], [0.0])["log_loss"] < 40


def test_undefined_metrics_of_probabilities_are_nan():
    nan = np.full(3, np.nan)
    truth = np.array([True, False, True])
    assert np.isnan(probability_metrics(truth, nan)["log_loss"])
    assert np.isnan(probability_metrics(truth, nan)["accuracy"])
    assert probability_metrics(truth, nan)["calibration"] == []


def test_metrics_of_fitted_models():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(300, 2))
    y = np.where(X[:, 0] > 0, "b", "a")
    declared = {"epsilon": np.inf, "lam": 1e-3, "random_state": 0}
    logistic = DPLogisticRegression(classes=["a", "b"], **declared).fit(X, y)
    svm = DPLinearSVC(classes=["a", "b"], **declared).fit(X, y)
    ridge = DPRidge(y_bounds=(-1.0, 1.0), **declared).fit(X, X[:, 0])
    assert logistic_metrics(logistic, X, y)["accuracy"] == logistic.score(X, y)
    assert svm_metrics(svm, X, y)["accuracy"] == svm.score(X, y)
    assert svm_metrics(svm, X, y)["auc"] > 0.99
    assert ridge_metrics(ridge, X, X[:, 0])["r2"] == pytest.approx(ridge.score(X, X[:, 0]))
    three = DPLinearSVC(classes=["a", "b", "c"], **declared).fit(X, y)
    with pytest.raises(DataError, match="two classes"):
        svm_metrics(three, X, y)
