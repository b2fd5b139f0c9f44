"""Model files: exact, whole or absent, refused when changed, and free of records."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from forgery import both, forged, put
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, Ledger, ModelFileError, load


def fitted(kind="logistic", **changes):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-0.5, 0.5, size=(60, 3)), columns=["a", "b", "c"])
    y = (X["a"] > 0).to_numpy().astype(int) + (X["b"] > 0.2)
    if kind == "ridge":
        return DPRidge(y_bounds=(-1, 1), epochs=1, **changes).fit(X, X["a"])
    if kind == "svm":
        names = np.array(["x", "y", "z"])
        return DPLinearSVC(classes=["x", "y", "z"], epochs=1, **changes).fit(X, names[y])
    return DPLogisticRegression(classes=[0, 1], epochs=1, **changes).fit(X.to_numpy(), y)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.json"
    fitted().save(path)
    return path


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["ridge", "svm", "logistic"])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_a_model_comes_back_exactly(tmp_path, kind, epsilon):
    model = fitted(kind, epsilon=epsilon, random_state=3)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    np.testing.assert_array_equal(again.coef_noise_, model.coef_noise_)
    np.testing.assert_array_equal(again.intercept_noise_, model.intercept_noise_)
    assert again.privacy_ == model.privacy_
    expected = {**model.get_params(), "random_state": None}
    found = again.get_params()
    assert {k: (list(v) if isinstance(v, tuple) else v) for k, v in expected.items()} == found
    X = np.random.default_rng(1).uniform(-0.5, 0.5, size=(9, 3))
    if kind != "logistic":
        X = pd.DataFrame(X, columns=["a", "b", "c"])
        assert list(again.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.predict(X).dtype == model.predict(X).dtype
    if kind == "logistic":
        assert again.link_ == model.link_
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_weights_numpy_parameters_and_what_is_asked_of_persons_survive(tmp_path):
    given = {"class_weight": {0: np.float64(2.0)}, "max_rows": 7, "person_weight": "share"}
    fitted(**given, row_bound=np.float32(1.0)).save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert {name: getattr(again, name) for name in given} == given


def test_a_file_holds_no_seed_and_nothing_per_record(tmp_path):
    fitted(random_state=987654321).save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    assert "987654321" not in text
    assert len(text) < 5000


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(NotFittedError):
        DPRidge().save(tmp_path / "model.json")
    model = fitted()
    model.verbose = object()
    with pytest.raises(ModelFileError, match="type object"):
        model.save(tmp_path / "model.json")
    model = fitted()
    model.classes_ = np.array([0, "a"], dtype=object)
    with pytest.raises(ModelFileError, match="all are text"):
        model.save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        fitted().save(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "change",
    [put("coef", 0, 0, value=1.5), put("card", "epsilon", value=0.1),
     put("classes", "values", value=[1, 0])],
)  # fmt: skip
def test_a_changed_file_is_refused(saved, tmp_path, change):
    values = json.loads(saved.read_text())
    change(values)
    (tmp_path / "model.json").write_text(json.dumps(values))
    with pytest.raises(ModelFileError, match="checksum"):
        load(tmp_path / "model.json")


MALFORMED = {
    "type": put("type", value="os.system"),
    "shape": put("coef", value=[[1.0, 2.0]]),
    "nan": put("coef", value=[["nan", 2.0, 3.0]]),
    "text": put("coef", value="abc"),
    "noise": put("coef_noise", value=[[1.0, 2.0]]),
    "negative noise": put("intercept_noise", value=[-1.0]),
    "infinite noise": put("intercept_noise", value=["inf"]),
    "features": put("features", value=["a"]),
    "classes": put("classes", "values", value=[1, "x"]),
    "a class twice": put("classes", "values", value=[1, 1]),
    "classes cut short": put("classes", value={
        "kind": "str", "values": ["no", "nope"], "dtype": "<U2"}),
    "class kind": put("classes", "kind", value="object"),
    "class dtype": put("classes", "dtype", value="V8"),
    "a type of gigabytes": put("classes", "dtype", value="<U500000000"),
    "parameter": put("parameters", "evil", value=1),
    "parameter kind": put("parameters", "lam", value={"code": "x"}),
    "another epsilon than the card": put("parameters", "epsilon", value=2.0),
    "a smaller epsilon": both(
        put("card", "epsilon", value=0.1), put("parameters", "epsilon", value=0.1)),
    "a seed": put("parameters", "random_state", value=1),
    "card": put("card", value={}),
    "extra": put("extra", value=1),
    "no link": put("link", value=None),
    "link": put("link", value={"scale": 1.0}),
    "link's caps": put("link", "caps", value=[1.0]),
    "link's cap": put("link", "caps", value=[0.2, 0.5]),
    "link's scale": put("link", "scale", value=2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_refused_even_when_signed(tmp_path, name):
    path = forged(fitted(), tmp_path / "model.json", MALFORMED[name])
    with pytest.raises(ModelFileError, match=r"model\.json"):
        load(path)


@pytest.mark.parametrize("number", [0, 2, 99])
def test_a_file_of_another_format_is_refused_in_one_sentence(tmp_path, number):
    path = tmp_path / "model.json"
    fitted().save(path)
    assert json.loads(path.read_text())["format"] == 1
    path.write_text(json.dumps({"format": number, "whatever": "it holds"}))
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(caught.value) == (
        f"model.json is not a usable model file: it has format {number}, but this version of "
        "dpscd reads format 1: load it with the version that wrote it."
    )


@pytest.mark.parametrize("kind", ["ridge", "svm"])
def test_a_model_without_probabilities_has_no_link(tmp_path, kind):
    change = put("link", value={"scale": 1.0, "caps": [1, 1]})
    path = forged(fitted(kind), tmp_path / "model.json", change)
    with pytest.raises(ModelFileError, match="its link does not fit"):
        load(path)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_damage_is_refused(saved, data):
    content = bytearray(saved.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    kind = data.draw(st.sampled_from(["flip", "cut", "noise"]))
    if kind == "flip":
        content[at] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        content = content[:at]
    else:
        content = data.draw(st.binary(max_size=200))
    damaged = saved.with_name("damaged.json")
    damaged.write_bytes(content)
    try:
        model = load(damaged)
    except ModelFileError:
        return
    # White space and other spellings of the same numbers are the same file.
    assert json.loads(content) == json.loads(saved.read_bytes())
    np.testing.assert_array_equal(model.coef_, load(saved).coef_)


def test_a_file_that_is_absurdly_large_is_not_read(tmp_path):
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(2**31 + 1)
    with pytest.raises(ModelFileError, match="too large"):
        load(path)


def numbers(low, high):
    return st.just("auto") | st.floats(low, high)


PARAMETERS = st.fixed_dictionaries(
    {
        "epsilon": st.floats(0.3, 20.0),
        "delta": st.sampled_from(["auto", 1e-7, 1e-6]),
        "relation": st.sampled_from(["zero-out", "replace-one", "add-remove"]),
        "row_bound": st.floats(0.1, 10.0),
        "lam": numbers(1e-4, 10.0),
        "epochs": numbers(0.5, 3.0) | st.just(1.1),
        "lot_size": st.just("auto") | st.integers(1, 60),
        "travel": numbers(0.01, 3.0),
        "fit_intercept": st.booleans(),
        "intercept_scaling": numbers(0.01, 3.0),
        "standardise": st.sampled_from([True, False, "auto"]),
        "n": st.sampled_from([50, 500, 20_000]),
    }
)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::dpscd.PrivacyWarning")
@settings(max_examples=40)
@given(parameters=PARAMETERS, data=st.data())
def test_whatever_was_fitted_is_not_taken_for_a_forgery(saved, parameters, data):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(60, 3))
    kind = data.draw(st.sampled_from([DPRidge, DPLinearSVC]))
    own = {"y_bounds": (-1, 2)} if kind is DPRidge else {"classes": [0, 1, 2]}
    y = X[:, 0] if kind is DPRidge else (X[:, 0] > 0).astype(int)
    X = sparse.csr_array(X) if data.draw(st.booleans()) else X
    if parameters["lot_size"] != "auto":
        parameters["lot_size"] = min(parameters["lot_size"], parameters["n"])
        parameters["epochs"] = 1.1  # at a small rate epochs are many steps
    elif parameters["epochs"] == "auto":
        parameters["epochs"] = 2.0
    model = kind(**parameters, **own).fit(X, y)
    path = saved.with_name("drawn.json")
    model.save(path)
    assert load(path).privacy_ == model.privacy_


def test_a_file_does_not_tell_where_the_budget_lies(tmp_path):
    ledger = str(tmp_path / "budget.db")
    Ledger.init(ledger, "people", epsilon=2.0, delta=1e-4)
    fitted(ledger=ledger, dataset="people").save(tmp_path / "model.json")
    assert "budget.db" not in (tmp_path / "model.json").read_text()
    assert load(tmp_path / "model.json").ledger is None


@pytest.mark.parametrize(
    "change", [{"epsilon": 5.0}, {"inference": True}, {"row_bound": 2.0}, {"lam": 0.1}]
)
def test_a_model_with_other_parameters_than_it_was_trained_with_is_not_saved(tmp_path, change):
    model = fitted(epsilon=1.0)
    before = {name: getattr(model, name) for name in change}
    model.set_params(**change)
    with pytest.raises(ModelFileError, match=r"cannot be saved.*train it again"):
        model.save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())
    model.set_params(**before).save(tmp_path / "model.json")
    load(tmp_path / "model.json")
