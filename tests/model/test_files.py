"""Model files: exact, whole or absent, refused when changed, and free of records."""

import json
import math
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from forgery import MODELS, X, content, content_of_score, fitted, put, sealed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from commands import refusal
from dpscd import (
    DPLinearSVC,
    DPLogisticRegression,
    DPRidge,
    Ledger,
    ModelFileError,
    TableModel,
    load,
)
from dpscd.estimators import registry
from dpscd.estimators.loading import read_fit
from dpscd.model.plain import array_to_plain, from_plain, to_plain


def logistic(**changes):
    model = DPLogisticRegression(classes=[0, 1], epochs=1, random_state=987654321)
    return model.set_params(**changes).fit(X[:60], (X[:60, 0] > 0).astype(int))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.json"
    logistic().save(path)
    return path


def said(path):
    """Return what both doors say of a file that they refuse, in one sentence."""
    began = time.monotonic()
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    start, text = f"{path.name} is not a usable model file: ", str(caught.value)
    assert text in " ".join(refusal("verify", path).split())
    assert time.monotonic() - began < 10.0
    return text.removeprefix(start)


# --- what comes back -----------------------------------------------------------------------


WHOLE = {"epsilon": 2, "lam": 1, "epochs": 3, "travel": 1, "row_bound": 1}
NUMPY = {"lam": np.float32(0.1), "epochs": np.int64(3), "epsilon": np.float64(2.0)}


@pytest.mark.parametrize("values", [WHOLE, NUMPY])
@pytest.mark.parametrize("kind", [kind.estimator for kind in registry.MODELS])
def test_numbers_of_any_type_are_saved(kind, values, tmp_path):
    labels = {"classes": [0, 1]} if hasattr(kind, "classes") else {"y_bounds": (0, 1)}
    model = kind(**labels, random_state=0, **values).fit(X[:60], (X[:60, 0] > 0).astype(int))
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").coef_.tobytes() == model.coef_.tobytes()


@pytest.mark.full
@pytest.mark.parametrize("kind", MODELS)
def test_a_model_comes_back_exactly(kind, tmp_path):
    model = fitted(kind)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert type(again) is type(model)
    again.save(tmp_path / "again.json")
    text = (tmp_path / "model.json").read_text()
    assert (tmp_path / "again.json").read_text() == text
    assert "987654321" not in text
    assert len(text) < 20_000  # nothing per record
    assert again.privacy_ == model.privacy_
    if isinstance(model, TableModel):
        assert again.schema_ == model.schema_
        assert again.bounds_ == model.bounds_
        model, again = model.estimator_, again.estimator_
    else:
        mine, theirs = model.get_params(), again.get_params()
        assert theirs.pop("random_state") is None
        assert mine.pop("random_state") is not None or kind in ("search", "open")
        assert {k: list(v) if isinstance(v, tuple) else v for k, v in mine.items()} == theirs
    for name in ("coef_", "intercept_", "coef_sd_", "intercept_sd_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    assert getattr(again, "link_", None) == getattr(model, "link_", None)
    assert getattr(again, "longest_row_", None) == getattr(model, "longest_row_", None)
    np.testing.assert_array_equal(again.unseen_features(), model.unseen_features())
    rows = pd.DataFrame(
        np.resize(X, (9, model.n_features_in_)),
        columns=getattr(model, "feature_names_in_", None),
    )
    rows = rows if hasattr(model, "feature_names_in_") else rows.to_numpy()
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.predict(rows).dtype == model.predict(rows).dtype
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    if hasattr(model, "feature_names_in_"):
        assert list(again.feature_names_in_) == list(model.feature_names_in_)


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
    rows = X[:60]
    kind = data.draw(st.sampled_from([DPRidge, DPLinearSVC]))
    own = {"y_bounds": (-1, 2)} if kind is DPRidge else {"classes": [0, 1, 2]}
    y = rows[:, 0] if kind is DPRidge else (rows[:, 0] > 0).astype(int)
    rows = sparse.csr_array(rows) if data.draw(st.booleans()) else rows
    if parameters["lot_size"] != "auto":
        parameters["lot_size"] = min(parameters["lot_size"], parameters["n"])
        parameters["epochs"] = 1.1  # at a small rate epochs are many steps
    elif parameters["epochs"] == "auto":
        parameters["epochs"] = 2.0
    model = kind(**parameters, **own).fit(rows, y)
    path = saved.with_name("drawn.json")
    model.save(path)
    assert load(path).privacy_ == model.privacy_


@pytest.mark.parametrize(
    "changes",
    [
        {"class_weight": {0: np.float64(2.0)}, "max_rows": 7, "person_weight": "share"},
        {"row_bound": np.float32(0.1), "intercept_scaling": np.float32(0.3)},
        {"classes": np.array([0, 1], dtype=np.int8)},
        {"classes": (np.float32(0.1), 1.0)},
        {"classes": [0, 1], "n": np.int64(70), "delta": np.float64(1e-6)},
        {"classes": None},
    ],
)
@pytest.mark.filterwarnings("ignore::dpscd.PrivacyWarning")
def test_parameters_of_every_type_survive(changes, tmp_path):
    model = logistic(**changes)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    for name, value in changes.items():
        if name != "classes":
            assert getattr(again, name) == value
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.classes_, model.classes_)


def test_a_thousand_numbers_are_not_written_as_digits(tmp_path):
    rows = np.random.default_rng(0).uniform(-0.1, 0.1, size=(60, 500))
    model = DPRidge(y_bounds=(-1, 1), epochs=1, random_state=0).fit(rows, rows[:, 0])
    model.save(tmp_path / "model.json")
    values = json.loads((tmp_path / "model.json").read_text())
    assert set(values["numbers"]["coef"]) == {"shape", "float64"}
    np.testing.assert_array_equal(load(tmp_path / "model.json").coef_, model.coef_)


def test_a_file_does_not_tell_where_the_budget_lies(tmp_path):
    ledger = str(tmp_path / "budget.db")
    Ledger.init(ledger, "people", epsilon=2.0, delta=1e-4)
    logistic(ledger=ledger, dataset="people", random_state=None).save(tmp_path / "model.json")
    assert "budget.db" not in (tmp_path / "model.json").read_text()
    again = load(tmp_path / "model.json")
    assert again.ledger is None
    assert again.privacy_.facts.dataset == "people"


def test_what_is_set_after_a_fit_is_not_what_it_was_trained_with(tmp_path):
    model = logistic(epsilon=1.0)
    model.set_params(epsilon=5.0, inference=True, row_bound=2.0, lam=0.1)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert (again.epsilon, again.inference, again.row_bound) == (1.0, False, 1.0)
    ridge = DPRidge(y_bounds=(-1, 1), epochs=1).fit(X, X[:, 0])
    ridge.set_params(clip_predictions=False).save(tmp_path / "model.json")
    assert not load(tmp_path / "model.json").clip_predictions  # a choice of predictions


def test_what_cannot_be_saved_is_said(tmp_path):
    with pytest.raises(NotFittedError):
        DPRidge().save(tmp_path / "model.json")
    model = logistic()
    model.fit_.parameters["verbose"] = object()
    with pytest.raises(ModelFileError, match="type object"):
        model.save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        logistic().save(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


# --- what is refused -------------------------------------------------------------------------


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


STRANGE = {
    "nothing": (b"", "it is malformed."),
    "an image": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "it is malformed."),
    "a pickle": (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "it is malformed."),
    "a number": (b"1", "it is not a model written by dpscd."),
    "a list": (b"[]", "it is not a model written by dpscd."),
    "another object": (b'{"weights": [1, 2]}', "it is not a model written by dpscd."),
    "a format that is a text": (b'{"format": "2"}', "it is not a model written by dpscd."),
    "a format that is true": (b'{"format": true}', "it is not a model written by dpscd."),
    "no checksum": (b'{"format": 2}', "it is malformed."),
    "deep lists": (b"[" * 100_000, "it is malformed."),
    "deep objects": (b'{"a":' * 100_000, "it is malformed."),
    "a deep list in a file": (b'{"format": 2, "plan": ' + b"[" * 10**5, "it is malformed."),
    "a number of too many digits": (b"1" * 10_000, "it is malformed."),
    "not a number": (b'{"format": NaN}', "it is malformed."),
    "no text": (b'{"format": 2, "x": "\xff"}', "it is malformed."),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_file_that_is_not_ours_is_refused(name, tmp_path):
    content, words = STRANGE[name]
    (tmp_path / "model.json").write_bytes(content)
    assert said(tmp_path / "model.json") == words


@pytest.mark.parametrize("number", [0, 1, 3, 99])
def test_a_file_of_another_format_is_refused_in_one_sentence(number, tmp_path):
    assert content("plain")["format"] == 2
    (tmp_path / "model.json").write_text(json.dumps({"format": number, "whatever": "it holds"}))
    assert said(tmp_path / "model.json") == (
        f"it has format {number}, but this version of dpscd reads format 2: load it with the "
        "version that wrote it."
    )


def test_a_file_that_was_cut_or_changed_is_refused(tmp_path):
    path, values = tmp_path / "model.json", content("plain")
    path.write_text(json.dumps(values)[:-20])
    assert said(path) == "it is malformed."
    for place, value in (
        (("numbers", "coef", 0, 0), 1.5),
        (("plan", "target", "epsilon"), 0.1),
    ):
        path.write_text(json.dumps(put(values, place, value)))
        assert said(path) == "its checksum does not match: it was changed or cut."


COEF, ANSWER, CLASS = ("numbers", "coef"), ("answers", 0), ("plan", "facts", "labels")
HUGE = {"shape": [10**12], "float64": ""}
NO_NUMBER = "it has something else in the place of a number."
SHAPES = "its numbers are not those of a model with its features."
OTHERS = "its answers are not those of its releases."
MALFORMED = {
    "an epsilon below what is reached": (("plan", "target", "epsilon"), 0.5, "card claims"),
    "less noise": (("plan", "releases", 0, "noise_multiplier"), 0.06, "are not what its ans"),
    "no noise": (("plan", "releases", 0, "noise_multiplier"), 0.0, "noise_multiplier=0.0 must"),
    "next to no noise": (("plan", "releases", 0, "noise_multiplier"), 1e-9, "not what its"),
    "no releases": (("plan", "releases"), [], "a private card needs releases"),
    "a release of another kind": (("plan", "releases", 0, "release"), "os.system", "malformed"),
    "no answers": (("answers",), [], OTHERS),
    "an answer too many": (("answers",), [[1.0], [1.0]], OTHERS),
    "a longer answer": (ANSWER, [[1.0] * 5], OTHERS),
    "an empty answer": (ANSWER, {"shape": [0], "float64": ""}, OTHERS),
    "an answer that is a text": (ANSWER, "1", NO_NUMBER),
    "an answer of integers": (ANSWER, [[1, 2, 3, 4]], NO_NUMBER),
    "an answer of truth values": (ANSWER, [[True] * 4], NO_NUMBER),
    "an answer with a gap": (ANSWER, [[None] * 4], NO_NUMBER),
    "an answer in rows of two lengths": (ANSWER, [[1.0], [1.0, 2.0, 3.0]], "malformed"),
    "an answer that is infinite": (ANSWER, [[math.inf] * 4], "malformed"),
    "an answer without numbers": (
        ANSWER, {"shape": [1, 4], "float64": "AAAAAAAA+H8" * 4}, "malformed"),
    "an answer that is not finite": (
        ANSWER, {"shape": [1], "float64": "AAAAAAAA+H8="}, "numbers that are not finite."),
    "an answer of a negative size": (
        ANSWER, {"shape": [-1], "float64": ""}, "in the place of a count."),
    "an answer of terabytes": (ANSWER, HUGE, "malformed"),
    "coefficients of terabytes": (COEF, HUGE, "malformed"),
    "coefficients of another shape": (COEF, [[1.0, 2.0]], SHAPES),
    "coefficients that are texts": (COEF, [["1", "2", "3"]], NO_NUMBER),
    "an intercept of another shape": (("numbers", "intercept"), 1.0, SHAPES),
    "noise of another shape": (("numbers", "coef_noise"), [[1.0, 2.0]], SHAPES),
    "negative noise": (("numbers", "intercept_noise"), [-1.0], "are not what its answers"),
    "means of another shape": (("numbers", "means"), [], "its means are not those of its"),
    "features that are not there": (("numbers", "unseen"), [3], "malformed"),
    "features that are no counts": (("numbers", "unseen"), [0.0], "in the place of a count."),
    "a length that is none": (("numbers", "longest_row"), -1.0, "its longest row must be a"),
    "no link": (("numbers", "link"), None, "its link are not what its answers"),
    "half a link": (("numbers", "link"), {"scale": 1.0}, "malformed"),
    "a link's scale": (("numbers", "link", "scale"), 2.0, "link"),
    "names of other features": (("features",), ["a"], "its features are not those of its plan"),
    "names in one text": (("features",), "abc", "its features are not those of its plan."),
    "a feature more": (("plan", "facts", "d"), 4, SHAPES),
    "features of terabytes": (("plan", "facts", "d"), 2**40, "its features are not those"),
    "no records": (("plan", "facts", "n"), 0, "must be at least 1."),
    "a loss that is none": (("plan", "facts", "loss"), "__name__", "is not known."),
    "one class": ((*CLASS, "classes"), [0], "its classes are malformed."),
    "classes of two types": ((*CLASS, "classes"), [1, "x"], "its classes are malformed."),
    "a class twice": ((*CLASS, "classes"), [1, 1], "must be different labels"),
    "classes of an unknown type": ((*CLASS, "dtype"), "V8", "of an unknown type."),
    "classes of gigabytes": ((*CLASS, "dtype"), "<U500000000", "of an unknown type"),
    "no estimator": (("estimator",), None, "it names no estimator."),
    "another estimator": (("estimator",), "os.system", "it is not one of DPRidge, "),
    "a parameter more": (("parameters", "evil"), 1, "its parameters are not those of its type"),
    "a seed": (("parameters", "random_state"), 1, "its parameters are not those of its type."),
    "a parameter of code": (("parameters", "lam"), {"code": "x"}, "of an unknown kind."),
    "a long parameter": (("parameters", "lam"), "x" * 1000, "its parameters are malformed."),
    "a field more": (("extra",), 1, "the card has unknown or missing fields."),
    "a seed that is no answer": (("seeded",), 1, "seeded must be a bool."),
    "versions that are numbers": (("versions", "dpscd"), 1, "versions must be texts"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_refused_although_its_checksum_matches(name, tmp_path):
    place, value, words = MALFORMED[name]
    (tmp_path / "model.json").write_text(sealed(put(content("plain"), place, value)))
    assert words in said(tmp_path / "model.json")


OF_SCORES = {
    "a number less": (("numbers",), {"value": 1.0}, "its numbers are not those of a score."),
    "a text": (("numbers", "low"), "0.5", NO_NUMBER),
    "an estimate that nobody made": (("numbers", "value"), 0.125, "are not what its answers"),
    "classes of lists": (
        ("plan", "facts", "classes"),
        [[0], [1]],
        "its classes are malformed.",
    ),
    "a level": (("plan", "facts", "level"), 0.3, "the level between 0.5 and 1."),
    "a bound": (("plan", "facts", "bound"), -1.0, "bound must be positive."),
    "another type": (("estimator",), "DPRidge", "it names another model."),
    "a parameter": (("parameters",), {"random_state": 3}, "it names another model."),
    "a second one": (("plan", "releases"), [], "a private card needs releases"),
}


@pytest.mark.parametrize("name", OF_SCORES)
def test_a_score_that_was_changed_is_refused(name, tmp_path):
    path, (place, value, words) = tmp_path / "score.json", OF_SCORES[name]
    path.write_text(sealed(content_of_score()))
    assert read_fit(path).verify() <= 1.0
    path.write_text(sealed(put(content_of_score(), place, value)))
    assert words in " ".join(refusal("verify", path).split())


def test_a_number_that_overflows_is_refused(tmp_path):
    values = put(content("plain"), ("plan", "releases", 0, "lam"), math.inf)
    (tmp_path / "model.json").write_text(sealed(values).replace("Infinity", "1e999"))
    assert said(tmp_path / "model.json") == "lam of Training is not finite."


def test_what_is_not_finite_is_a_parameter_at_most():
    given = {"bounds": [-math.inf, 1], 3: math.inf}
    assert from_plain(json.loads(json.dumps(to_plain(given), allow_nan=False))) == given
    with pytest.raises(ModelFileError, match="not finite"):
        array_to_plain(np.array([1.0, math.inf]))


@pytest.mark.parametrize("depth", [10, 900, 5000])
def test_deep_nesting_is_refused(depth, tmp_path):
    text = sealed(content("plain"))
    for place in ('"lam": ', '"coef": ', '"classes": ', '"release": '):
        deep = text.replace(place, f'{place}{"[" * depth}{"]" * depth}, "x": ', 1)
        (tmp_path / "model.json").write_text(deep)
        assert said(tmp_path / "model.json")


def test_a_file_that_is_absurdly_large_is_not_read(tmp_path):
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(2**31 + 1)
    with pytest.raises(ModelFileError, match="too large"):
        load(path)
