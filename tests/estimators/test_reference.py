"""epsilon = infinity is the optimum that scikit-learn finds; layouts and JIT agree."""

import json
import math
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from commands import python
from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge

INF = math.inf
LAM = 1e-2


def records(seed=0, n=300, d=5, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(1.0, 2.0, size=(n, 1))
    score = X @ rng.normal(size=(d, classes)) + 0.3 * rng.normal(size=(n, classes))
    return X, score.argmax(axis=1), score[:, 0]


def augmented(X, constant):
    return np.hstack([X, np.full((len(X), 1), constant)])


@pytest.mark.parametrize("seed", [0, 1])
def test_ridge_is_scikit_learns_ridge(seed):
    X, _, y = records(seed)
    ours = DPRidge(INF, lam=LAM, fit_intercept=False, y_bounds=(-9, 9)).fit(X, y)
    theirs = Ridge(alpha=LAM * len(X), fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    assert ours.intercept_ == 0.0


def test_ridge_with_intercept_is_the_augmented_matrix_around_the_middle():
    X, _, y = records()
    y = y + 20.0
    ours = DPRidge(INF, lam=LAM, intercept_scaling=0.7, y_bounds=(10, 40)).fit(X, y)
    theirs = Ridge(alpha=LAM * len(X), fit_intercept=False).fit(augmented(X, 0.7), y - 25.0)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[:-1], atol=5e-3)
    np.testing.assert_allclose(ours.intercept_, 25.0 + 0.7 * theirs.coef_[-1], atol=5e-3)


def logistic(n):
    return LogisticRegression(C=1.0 / (LAM * n), fit_intercept=False, tol=1e-10, max_iter=9999)


def svm(n):
    return LinearSVC(
        C=1.0 / (LAM * n), loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6
    )


@pytest.mark.parametrize(
    ("ours", "theirs"), [(DPLogisticRegression, logistic), (DPLinearSVC, svm)]
)
@pytest.mark.parametrize("classes", [2, 4])
def test_classifiers_are_scikit_learns(ours, theirs, classes):
    X, y, _ = records(classes=classes)
    model = ours(INF, lam=LAM, fit_intercept=False).fit(X, y)
    reference = theirs(len(X))
    if classes == 2 or ours is DPLogisticRegression:
        expected = reference.fit(X, y).coef_
    else:
        rest = OneVsRestClassifier(reference).fit(X, y)
        expected = np.vstack([single.coef_ for single in rest.estimators_])
    assert model.coef_.shape == ((1 if classes == 2 else classes), X.shape[1])
    np.testing.assert_allclose(model.coef_, expected, atol=2e-2)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(DPLogisticRegression, logistic), (DPLinearSVC, svm)]
)
def test_classifiers_with_intercept_are_the_augmented_matrix(ours, theirs):
    X, y, _ = records()
    model = ours(INF, lam=LAM, intercept_scaling=0.5).fit(X, y)
    expected = theirs(len(X)).fit(augmented(X, 0.5), y).coef_[0]
    np.testing.assert_allclose(model.coef_[0], expected[:-1], atol=2e-2)
    np.testing.assert_allclose(model.intercept_[0], 0.5 * expected[-1], atol=2e-2)


def test_weights_and_row_bound_in_the_users_units():
    X, _, y = records()
    weights = np.random.default_rng(1).uniform(0.0, 3.0, len(y))
    model = DPRidge(INF, lam=LAM, fit_intercept=False, row_bound=10.0, y_bounds=(-9, 9))
    ours = model.fit(X * 5.0, y, sample_weight=weights).coef_
    theirs = Ridge(alpha=LAM * len(X), fit_intercept=False)
    theirs = theirs.fit(X * 5.0, y, sample_weight=weights).coef_
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


def test_no_convergence_is_a_warning():
    X, y, _ = records(n=50)
    with pytest.warns(ConvergenceWarning, match="1000 epochs"):
        DPLinearSVC(INF, lam=1e-9).fit(X, y)


MODELS = [
    DPRidge(2.0, y_bounds=(-3, 3), random_state=0, epochs=5),
    DPLogisticRegression(2.0, classes=[0, 1, 2], random_state=0, epochs=5),
    DPLinearSVC(2.0, classes=[0, 1], random_state=0, epochs=5),
    DPLogisticRegression(INF, classes=[0, 1], random_state=0),
]


@pytest.mark.full
@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__}-{m.epsilon}")
def test_dense_and_csr_agree(model):
    # Unless they are standardised: sparse rows are scaled but not centred.
    model = clone(model).set_params(standardise=False)
    X, y, score = records(classes=3)
    X[np.abs(X) < 0.1] = 0.0
    y = score if isinstance(model, DPRidge) else y
    dense = clone(model).fit(X, y)
    # Dense rows of private fits are rounded to 16 bits, and the released vector moves
    # by whole steps of its grid; the noise is as large as the coefficients.
    near = {"rtol": 1e-6, "atol": 1e-9}
    if model.epsilon < INF:
        near = {"rtol": 0.0, "atol": 1e-3 * np.abs(dense.coef_).max()}
    first = None
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array):
        other = clone(model).fit(kind(X), y)
        first = other if first is None else first
        np.testing.assert_array_equal(other.coef_, first.coef_)
        np.testing.assert_allclose(other.coef_, dense.coef_, **near)
        np.testing.assert_allclose(other.intercept_, dense.intercept_, **near)
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(dense, name):
            predict = getattr(dense, name)
            np.testing.assert_allclose(predict(X), predict(sparse.csr_array(X)))


_SCRIPT = """
import json, numpy as np
from scipy import sparse
from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge
rng = np.random.default_rng(0)
X = rng.uniform(-0.5, 0.5, size=(40, 3))
y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.2)
found = []
for model, labels in [
    (DPRidge(2.0, y_bounds=(-1, 1), random_state=0, epochs=3), X[:, 0]),
    (DPLogisticRegression(2.0, classes=[0, 1, 2], random_state=0, epochs=3), y),
    (DPLinearSVC(2.0, classes=[0, 1], random_state=0, epochs=3), y),
    (DPLinearSVC(float("inf"), classes=[0, 1], random_state=0), y),
]:
    for data in (X, sparse.csr_array(X)):
        found.append(model.fit(data, labels).coef_.ravel().tolist())
print(json.dumps(found))
"""


@pytest.mark.full
def test_jit_on_and_jit_off_agree():
    found = [json.loads(python(_SCRIPT, NUMBA_DISABLE_JIT=off)) for off in ("0", "1")]
    for on, off in zip(*found, strict=True):
        np.testing.assert_allclose(on, off, rtol=1e-6, atol=1e-9)


@pytest.mark.full
def test_two_threads_may_fit_at_once():
    X, _, y = records()
    expected = DPRidge(y_bounds=(-3, 3), random_state=0, n_jobs=2).fit(X, y).coef_
    found = []

    def work():
        found.append(DPRidge(y_bounds=(-3, 3), random_state=0, n_jobs=2).fit(X, y).coef_)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for coef in found:
        np.testing.assert_array_equal(coef, expected)
