"""A model of a table is a whole scikit-learn model."""

import numpy as np
import pytest
from aged_tables import COLUMNS, NUMBER, SCHEMA, N, aged
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.utils import estimator_checks, get_tags

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, PrivacyWarning, TableModel

THREE = {"target": {"column": "third", "classes": ["c", "a", "b"]}, "columns": COLUMNS}

pytestmark = pytest.mark.filterwarnings("ignore:random_state")


@pytest.fixture(scope="module")
def table():
    found = aged(np.arange(N) // 2, spread=15.0)
    thirds = np.minimum(found["age"] // 34, 2).astype(int)
    return found.assign(third=np.array(["a", "b", "c"])[thirds])


def classifier():
    return TableModel(SCHEMA, DPLogisticRegression(epsilon=3.0, random_state=0))


def regressor():
    return TableModel(NUMBER, DPRidge(epsilon=3.0, random_state=0))


@pytest.mark.parametrize("make", [classifier, regressor])
def test_scikit_learn_knows_its_kind_before_and_after_the_fit(table, make):
    model = make()
    for one in (model, clone(model), make().fit(table[:500])):
        assert is_classifier(one) == (make is classifier)
        assert is_regressor(one) == (make is regressor)
        assert not get_tags(one).target_tags.required
    assert get_tags(TableModel(SCHEMA)).non_deterministic
    assert not get_tags(model).non_deterministic


@pytest.mark.parametrize("schema", [None, {"target": {}}, "missing.toml"])
def test_without_a_schema_there_is_no_kind_and_no_error(schema):
    model = TableModel(schema)
    assert not is_classifier(model)
    assert not is_regressor(model)
    repr(model)


@pytest.mark.full
def test_scores_of_scikit_learn_are_right_although_the_schema_has_another_order(table):
    X, y = table.drop(columns="ill"), table["ill"]
    model = classifier().fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    chances = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    assert roc_auc_score(y, chances[:, 1]) > 0.9
    assert roc_auc_score(y, model.decision_function(X)) > 0.9
    for scoring in ("accuracy", "roc_auc"):
        assert cross_val_score(classifier(), X, y, cv=2, scoring=scoring).min() > 0.85
    assert cross_val_score(classifier(), X, y, cv=2, scoring="neg_log_loss").min() > -0.5
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(chances))
    assert log_loss(y, chances) < 0.5


def test_several_classes_are_sorted_too(table):
    estimator = DPLogisticRegression(5.0, random_state=0)
    model = TableModel(THREE, estimator).fit(table)
    assert model.classes_.tolist() == ["a", "b", "c"]
    for found in (model.predict_proba(table), model.decision_function(table)):
        assert found.shape == (N, 3)
        np.testing.assert_array_equal(
            model.classes_[found.argmax(axis=1)], model.predict(table)
        )
    assert model.score(table) > 0.85
    log = model.predict_log_proba(table)
    np.testing.assert_allclose(np.exp(log).sum(axis=1), 1.0)


def test_methods_are_there_before_the_fit_if_the_estimator_has_them(table):
    assert hasattr(classifier(), "predict_proba")
    assert hasattr(TableModel(SCHEMA), "predict_proba")
    assert not hasattr(TableModel(SCHEMA, DPLinearSVC()), "predict_proba")
    assert hasattr(TableModel(SCHEMA, DPLinearSVC()), "decision_function")
    assert not hasattr(TableModel(NUMBER), "decision_function")
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "score"):
        with pytest.raises(NotFittedError):
            getattr(classifier(), name)(table)


@pytest.mark.full
def test_cross_validation_takes_the_target_from_the_table_or_apart(table):
    assert cross_val_score(classifier(), table, cv=2).min() > 0.85
    assert cross_val_score(regressor(), table, cv=2).min() > 0.9
    X, y = table.drop(columns="cost"), table["cost"]
    assert cross_val_score(regressor(), X, y, cv=2, scoring="r2").min() > 0.9
    found = cross_val_predict(regressor(), X, y, cv=2)
    assert np.abs(found - y).mean() < 12


def test_a_grid_is_searched(table):
    grid = {"estimator__lam": [1e-3, 1e-1], "estimator__epsilon": [1.0]}
    search = GridSearchCV(classifier(), grid, cv=2).fit(table[:2000])
    assert search.best_score_ > 0.8
    assert search.best_estimator_.estimator_.epsilon == 1.0
    assert search.n_features_in_ == 2
    assert set(search.predict(table[:9])) <= {"yes", "no"}


def test_a_grid_needs_no_estimator_to_be_given(table):
    search = GridSearchCV(TableModel(SCHEMA), {"estimator__epsilon": [1.0, 3.0]}, cv=2)
    search.fit(table[:1000])
    assert isinstance(search.best_estimator_.estimator_, DPLogisticRegression)
    model = TableModel(SCHEMA).set_params(schema=NUMBER, estimator__lam=0.1)
    assert isinstance(model.estimator, DPRidge)
    assert model.estimator.lam == 0.1
    assert TableModel(SCHEMA).set_params(schema=NUMBER).estimator is None


@pytest.mark.full
def test_groups_reach_the_fit_by_metadata_routing(table):
    X, y, persons = table[:2000], None, table["id"][:2000]
    with pytest.warns(PrivacyWarning, match="groups are used to split"):
        GridSearchCV(classifier(), {}, cv=GroupKFold(2)).fit(X, y, groups=persons)
    with config_context(enable_metadata_routing=True):
        model = classifier().set_fit_request(groups=True).set_score_request(sample_weight=False)
        search = GridSearchCV(model, {}, cv=GroupKFold(2)).fit(X, y, groups=persons)
    assert search.best_estimator_.privacy_.protected.groups


def test_features_come_as_set_output_asks(table):
    model = classifier().fit(table)
    names = model.get_feature_names_out()
    plain = model.transform(table)
    assert plain.shape == (N, len(names))
    frame = model.set_output(transform="pandas").transform(table)
    assert list(frame.columns) == list(names)
    np.testing.assert_array_equal(frame, plain)
    # What predictions are made from does not change with it.
    np.testing.assert_array_equal(model.predict(table), classifier().fit(table).predict(table))
    assert model.feature_names_in_.tolist() == ["age", "sex"]
    assert model.n_features_in_ == 2


def test_weights_of_records_count_in_the_score(table):
    model = classifier().fit(table)
    right = model.predict(table) == table["ill"]
    assert model.score(table, sample_weight=np.where(right, 1.0, 0.0)) == 1.0
    line = regressor().fit(table)
    few = np.arange(N) < 10
    assert line.score(table, sample_weight=few) == pytest.approx(line.score(table[:10]))


# Those that bring no arrays of their own; the others need rows of numbers.
CHECKS = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_set_params",
    "check_valid_tag_types",
)


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("make", [classifier, regressor])
def test_checks_of_scikit_learn_that_need_no_arrays(name, make):
    check = getattr(estimator_checks, name)
    check("TableModel", make())
