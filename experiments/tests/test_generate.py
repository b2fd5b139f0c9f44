import numpy as np
import pytest
from scipy import sparse

from dpscd import DPLogisticRegression, DPRidge
from dpscd.errors import ParameterError
from dpscd_experiments.generate import generate
from dpscd_experiments.metrics import logistic_metrics, ridge_metrics


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("density", [1.0, 0.2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_in_the_unit_ball(task, density, dtype):
    data = generate(1000, 30, task=task, density=density, dtype=dtype, seed=1)
    assert data.X.shape == (1000, 30)
    assert len(data.y_validation) == len(data.y_test) == 250
    assert data.X.dtype == dtype
    assert sparse.issparse(data.X) == (density < 1.0)
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    lengths = np.linalg.norm(X.astype(np.float64), axis=1)
    assert lengths.max() <= 1.0
    assert lengths.min() > 0.999
    assert (X != 0).mean() == pytest.approx(density, abs=0.03)
    if task == "regression":
        assert abs(data.y).max() <= 4.0
        assert data.y.std() == pytest.approx(1.0, abs=0.1)
    else:
        assert set(data.y) == {-1, 1}


def test_layouts_hold_the_same_data():
    csr = generate(50, 8, density=0.5)
    dense = generate(50, 8, density=0.5, layout="dense")
    np.testing.assert_array_equal(csr.X.toarray(), dense.X)
    full = generate(50, 8, layout="csr")
    np.testing.assert_array_equal(full.X.toarray(), generate(50, 8).X)


def test_seeds():
    one, same, other = generate(20, 3, seed=1), generate(20, 3, seed=1), generate(20, 3, seed=2)
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)


def test_the_best_classifier_is_known():
    data = generate(20000, 5, seed=3)
    model = DPLogisticRegression(np.inf, lam=1e-6, random_state=0, **data.fit_parameters)
    found = logistic_metrics(model.fit(data.X, data.y), data.X_test, data.y_test)
    assert 0.8 < data.best["accuracy"] < 0.9
    assert found["log_loss"] == pytest.approx(data.best["log_loss"], rel=0.01)


def test_the_best_regression_is_known():
    data = generate(20000, 5, task="regression", r2=0.6, seed=3)
    model = DPRidge(np.inf, lam=1e-6, random_state=0, **data.fit_parameters)
    found = ridge_metrics(model.fit(data.X, data.y), data.X_test, data.y_test)
    assert data.best["r2"] == pytest.approx(0.6, abs=0.02)
    assert found["mse"] == pytest.approx(data.best["mse"], rel=0.01)


@pytest.mark.parametrize(
    ("n", "d", "change"),
    [(0, 1, {}), (1, 0, {}), (1, 1, {"density": 0.0}), (1, 1, {"r2": 1.0})],
)
def test_refuses(n, d, change):
    with pytest.raises(ParameterError, match="must be"):
        generate(n, d, **change)
