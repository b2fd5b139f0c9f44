"""Converted models predict the same."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from dpscd import (
    DataError,
    DPHuberRegressor,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    DpscdError,
    ParameterError,
    TableModel,
    to_onnx,
    to_sklearn,
)
from dpscd.persons import PersonFacts
from refits import with_facts, with_numbers

GENERATOR = np.random.default_rng(0)
X = GENERATOR.uniform(-0.5, 0.5, size=(600, 3))
TWO = np.where(X[:, 0] > 0, "yes", "no")
LONG = np.tile(X, (4, 1)) * np.resize([1.0, 30.0], (2400, 1))
THREE = np.array(["c", "a", "b"])[np.digitize(X[:, 0], [-0.2, 0.2])]

MODELS = {
    "ridge": DPRidge(y_bounds=(-1, 1), random_state=0).fit(X, X[:, 0]),
    "huber": DPHuberRegressor(y_bounds=(-1, 1), random_state=0).fit(X, X[:, 0]),
    "poisson": DPPoissonRegressor(y_bounds=(0, 3), random_state=0).fit(X, X[:, 0] > 0),
    "logistic": DPLogisticRegression(classes=["no", "yes"], random_state=0).fit(X, TWO),
    "logistic 3": DPLogisticRegression(classes=["a", "b", "c"], random_state=0).fit(X, THREE),
    "cut": DPRidge(9.0, y_bounds=(-1, 1), random_state=0).fit(LONG, np.tile(X[:, 0], 4)),
    "svm": DPLinearSVC(classes=["no", "yes"], random_state=0).fit(X, TWO),
    "svm 3": DPLinearSVC(classes=["a", "b", "c"], random_state=0).fit(X, THREE),
}

REGRESSIONS = ["ridge", "huber", "poisson", "cut"]
FAR = 30.0 * X  # predicted beyond the bounds of the labels


def bare(model):
    """Return a model of the bare line, and of sigmoids."""
    model = with_numbers(model, link=None)
    if hasattr(model, "clip_predictions"):
        model.clip_predictions = False
    return model


@pytest.mark.parametrize("name", MODELS)
def test_bare_models_become_those_of_scikit_learn(name):
    model = bare(MODELS[name])
    plain = to_sklearn(model)
    assert type(plain).__module__.startswith("sklearn.")
    if name in REGRESSIONS:
        np.testing.assert_allclose(plain.predict(FAR), model.predict(FAR))
        assert isinstance(plain.intercept_, float)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", MODELS)
def test_plain_models_predict_the_same(name):
    model = MODELS[name]
    plain = to_sklearn(model)
    if name in REGRESSIONS:
        low, high = model.y_bounds
        np.testing.assert_allclose(plain.predict(FAR), model.predict(FAR))
        assert low <= plain.predict(FAR).min() < plain.predict(FAR).max() <= high
        assert (plain.regressor_.predict(FAR).max() > high) == (name != "cut")
    else:
        np.testing.assert_array_equal(plain.predict(X), model.predict(X))
        np.testing.assert_allclose(plain.decision_function(X), model.decision_function(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X))
    clone(plain).fit(X, X[:, 0] + 1.0 if name in REGRESSIONS else TWO)


def test_names_are_passed_on():
    table = pd.DataFrame(X, columns=["p", "q", "r"])
    for labels, classes in ((TWO, ["no", "yes"]), (THREE, ["a", "b", "c"])):
        model = DPLogisticRegression(classes=classes, random_state=0).fit(table, labels)
        plain = to_sklearn(model)
        assert plain.feature_names_in_.tolist() == ["p", "q", "r"]
        assert plain.n_features_in_ == 3
        np.testing.assert_array_equal(plain.predict(table), model.predict(table))
    model = DPRidge(y_bounds=(-1, 1), random_state=0).fit(table, X[:, 0])
    assert to_sklearn(model).feature_names_in_.tolist() == ["p", "q", "r"]


def test_a_model_that_cuts_long_rows_is_a_pipeline_that_does():
    table = pd.DataFrame(LONG, columns=["p", "q", "r"])
    model = DPRidge(9.0, y_bounds=(-1, 1), random_state=0).fit(table, np.tile(X[:, 0], 4))
    assert model.longest_row_ == model.row_bound == 1.0
    plain = to_sklearn(model)
    assert plain.feature_names_in_.tolist() == ["p", "q", "r"]
    np.testing.assert_allclose(plain.predict(table), model.predict(table), rtol=1e-9)
    rows = table.to_numpy()
    cut = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    bare = model.set_params(clip_predictions=False)
    expected = np.clip(cut @ bare.coef_ + bare.intercept_, -1, 1)
    np.testing.assert_allclose(plain.predict(table), expected, rtol=1e-9)
    with pytest.raises(DataError, match="in their order"):
        plain.predict(table[["q", "p", "r"]])
    # The bare line cuts nothing.
    np.testing.assert_allclose(to_sklearn(bare).predict(table), bare.predict(table))
    line = rows @ bare.coef_ + bare.intercept_
    np.testing.assert_allclose(bare.predict(table), line, rtol=1e-9, atol=1e-9)


def test_a_linked_model_is_one_of_scikit_learn():
    model = MODELS["logistic"]
    assert not model.link_.is_sigmoid
    plain = to_sklearn(model)
    assert isinstance(plain, LogisticRegression)
    again = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(again.predict_proba(X), plain.predict_proba(X))
    assert again.classes_.tolist() == ["no", "yes"]
    fresh = clone(plain)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    usual = LogisticRegression().fit(X, TWO).predict_proba(X)
    for one in (fresh, again):  # without privacy probabilities are sigmoids
        one.fit(X, TWO, sample_weight=np.ones(len(X)))
        np.testing.assert_allclose(one.predict_proba(X), usual)


@pytest.mark.full
def test_a_model_of_tables_becomes_a_pipeline():
    table = pd.DataFrame(X, columns=["p", "q", "r"]).assign(y=THREE)
    columns = {
        "p": {"kind": "number", "bounds": "private"},
        "q": {"kind": "number", "bounds": [-1, 1]},
        "r": {"kind": "ignore"},
    }
    for classes in (["c", "a", "b"], ["c", "a"], ["a", "c"]):
        schema = {"target": {"column": "y", "classes": classes}, "columns": columns}
        model = TableModel(schema, DPLogisticRegression(epsilon=5.0, random_state=0)).fit(table)
        plain = to_sklearn(model)
        assert plain.classes_.tolist() == sorted(classes)
        assert plain.privacy_statement_ == model.privacy_.statement
        np.testing.assert_allclose(plain.predict_proba(table), model.predict_proba(table))
        np.testing.assert_array_equal(plain.predict(table), model.predict(table))
        svm = TableModel(schema, DPLinearSVC(epsilon=5.0, random_state=0)).fit(table)
        plain = to_sklearn(svm)
        np.testing.assert_allclose(plain.decision_function(table), svm.decision_function(table))
        np.testing.assert_array_equal(plain.predict(table), svm.predict(table))
    with pytest.raises(ParameterError, match="the linear model only"):
        to_onnx(model, "m.onnx")


@pytest.mark.parametrize("plainly", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_onnx_predicts_the_same(name, plainly, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    model, file = MODELS[name], tmp_path / "m.onnx"
    if plainly:
        model = bare(model)
    to_onnx(model, file)
    session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    rows = FAR if name in ("ridge", "huber") else 4.0 * X
    answers = session.run(None, {"X": rows.astype(np.float32)})
    if name in REGRESSIONS:
        np.testing.assert_allclose(answers[0].ravel(), model.predict(rows), rtol=1e-4)
    else:
        assert (np.asarray(answers[0]) == model.predict(rows)).mean() > 0.995
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(answers[1], model.predict_proba(rows), atol=1e-4)


def test_onnx_needs_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(DpscdError, match=r"pip install skl2onnx"):
        to_onnx(MODELS["ridge"], tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def of_persons(model):
    """Return a model whose card says that it protects persons."""
    return with_facts(model, persons=PersonFacts("patient"))


@pytest.mark.parametrize("name", MODELS)
def test_plain_models_say_what_is_protected(name):
    model = MODELS[name]
    assert to_sklearn(model).privacy_statement_ == model.privacy_.statement
    again = pickle.loads(pickle.dumps(to_sklearn(of_persons(model))))
    assert again.privacy_statement_.endswith(
        "Unit: a person: all records with the same value of 'patient'."
    )


def test_onnx_says_what_is_protected(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("skl2onnx")
    for model in (MODELS["ridge"], of_persons(MODELS["logistic"])):
        to_onnx(model, tmp_path / "model.onnx")
        read = onnx.load(tmp_path / "model.onnx")
        found = {x.key: x.value for x in read.metadata_props}
        assert found == {"privacy": model.privacy_.statement}
