"""scikit-learn's own checks, and the tools that users put around an estimator."""

import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpscd import (
    DPHuberRegressor,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    PrivacyWarning,
)

INF = math.inf
MODELS = [
    DPLogisticRegression(),
    DPRidge(y_bounds=(-300.0, 300.0)),
    DPHuberRegressor(y_bounds=(-300.0, 300.0)),
    DPPoissonRegressor(y_bounds=(0.0, 300.0)),
    DPLinearSVC(),
    DPRidge(INF, y_bounds=(-300.0, 300.0)),
    DPHuberRegressor(INF, y_bounds=(-300.0, 300.0)),
    DPPoissonRegressor(INF, lam=1.0, y_bounds=(0.0, 300.0)),
    DPLogisticRegression(INF, row_bound=100.0),
    DPLinearSVC(INF),
]

_WEIGHTS = "n is public: rows of weight zero still count in it, repeated rows count again"


def expected_failures(estimator):
    if isinstance(estimator, DPLinearSVC) and estimator.epsilon == INF:
        return {}
    reasons = {
        "check_sample_weight_equivalence_on_dense_data": _WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": _WEIGHTS,
    }
    if estimator.epsilon < INF:
        reasons["check_class_weight_classifiers"] = "50 records are too few for the noise"
    return reasons


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::dpscd.PrivacyWarning", "ignore::UserWarning")
@parametrize_with_checks(MODELS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def records(n=400, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, size=(n, d))
    return X, X[:, 0] - X[:, 1]


@pytest.mark.full
@pytest.mark.parametrize("model", [DPLogisticRegression, DPLinearSVC])
def test_pipeline_cross_validation_grid_search_and_clone(model):
    X, score = records()
    y = np.where(score > 0, "yes", "no")
    estimator = make_pipeline(MaxAbsScaler(), model(5.0, classes=["no", "yes"], row_bound=2.0))
    assert cross_val_score(clone(estimator), X, y, cv=3).mean() > 0.6
    name = f"{model.__name__.lower()}__epsilon"
    search = GridSearchCV(estimator, {name: [1.0, 5.0]}, cv=2).fit(X, y)
    assert set(search.predict(X)) <= {"no", "yes"}


def test_tags():
    assert DPRidge(y_bounds=(0, 1)).__sklearn_tags__().regressor_tags.poor_score
    assert DPRidge().__sklearn_tags__().non_deterministic
    assert not DPRidge(random_state=0).__sklearn_tags__().non_deterministic
    assert not DPLinearSVC().__sklearn_tags__().classifier_tags.poor_score


@pytest.mark.full
@pytest.mark.parametrize("model", [DPRidge(y_bounds=(-1, 1)), DPLinearSVC(classes=[0, 1])])
def test_a_pickle_has_one_size_and_no_dual(model):
    sizes = []
    for n in (5000, 9000):  # both with the same releases
        X, y = records(n)
        y = (y > 0).astype(int) if hasattr(model, "classes") else y
        fitted = clone(model).fit(X, y)
        sizes.append(len(pickle.dumps(fitted)))
        for value in vars(fitted).values():
            assert np.size(value) < 50
    assert abs(sizes[0] - sizes[1]) < 64


def test_fit_leaves_its_input_alone():
    X, y = records()
    kept_X, kept_y, weights = X.copy(), y.copy(), np.ones(len(y))
    DPRidge(y_bounds=(-0.1, 0.1), row_bound=0.1).fit(X, y, weights)
    np.testing.assert_array_equal(X, kept_X)
    np.testing.assert_array_equal(y, kept_y)
    np.testing.assert_array_equal(weights, 1.0)


def test_labels_of_y_become_public_with_one_warning():
    X, score = records()
    with pytest.warns(PrivacyWarning, match="public") as caught:
        model = DPLinearSVC().fit(X, score > 0)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert not model.privacy_.facts.declared
    assert "NOT COVERED: the set of classes was read off the records" in str(model.privacy_)
    with pytest.warns(PrivacyWarning, match="formal sense") as caught:
        DPLinearSVC(11.0, classes=[False, True], epochs=1).fit(X, score > 0)
    assert caught[0].filename == __file__


def test_other_warnings_point_to_the_users_line_too():
    X, y = records()
    with pytest.warns(DataConversionWarning) as caught:
        DPRidge(y_bounds=(-1, 1), epochs=1).fit(X, y[:, None])
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning) as caught:
        DPLinearSVC(np.inf, lam=1e-12, classes=[False, True], row_bound=9.0).fit(X, y > 0)
    assert caught[0].filename == __file__


def test_a_pickle_of_a_fitted_model_has_no_seed():
    X, y = records()
    model = DPRidge(y_bounds=(-1, 1), random_state=np.random.RandomState(5))
    assert pickle.loads(pickle.dumps(model)).random_state is not None
    assert pickle.loads(pickle.dumps(model.fit(X, y))).random_state is None
