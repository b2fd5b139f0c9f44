"""Bad input: a sensible result or an error that helps, and never a value of the data."""

import math
import traceback
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpscd import (
    CalibrationError,
    DataError,
    DPLinearSVC,
    DPLogisticRegression,
    DPRidge,
    DpscdError,
    ParameterError,
)
from dpscd.estimators.registry import parametrised
from dpscd.kernels.persons import MOST_ROWS

NUMBER = 7654321.125  # a value of the data that must not be seen in any message
TEXT = "Mrs-Secret"


def ridge(**changes):
    return DPRidge(**{"y_bounds": (-1.0, 1.0), "epochs": 1, **changes})


def svm(**changes):
    return DPLinearSVC(**{"classes": [0, 1], "epochs": 1, **changes})


def logistic(**changes):
    return DPLogisticRegression(**{"classes": [0, 1], "epochs": 1, **changes})


def records(n=20, d=3):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(n, d))
    return X, (X[:, 0] > 0).astype(int)


PARAMETERS = [
    ("epsilon", 0.0), ("epsilon", -1.0), ("epsilon", math.nan), ("epsilon", "1"),
    ("epsilon", True), ("epsilon", None),
    ("delta", 0.0), ("delta", 1.0), ("delta", 2.0), ("delta", math.nan), ("delta", "small"),
    ("lam", 0.0), ("lam", -1.0), ("lam", math.inf), ("lam", "best"),
    ("epochs", 0), ("epochs", -3), ("epochs", math.inf),
    ("lot_size", 0), ("lot_size", 21), ("lot_size", 2.5), ("lot_size", True),
    ("travel", 0.0), ("travel", math.nan), ("travel", 1e-200),
    ("relation", "swap"), ("relation", None),
    ("row_bound", 0.0), ("row_bound", math.inf), ("row_bound", "1"),
    ("n", 0), ("n", 3.5), ("n", -4),
    ("intercept_scaling", 0.0), ("intercept_scaling", -1.0), ("intercept_scaling", "big"),
    ("n_jobs", 0), ("n_jobs", -2), ("n_jobs", 1.5),
    ("max_rows", 0), ("max_rows", 1.5), ("max_rows", MOST_ROWS + 1), ("person_weight", "all"),
    ("random_state", "seed"), ("random_state", 1.5), ("random_state", True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), PARAMETERS)
@pytest.mark.parametrize("make", [ridge, svm])
def test_a_bad_parameter_is_named_with_its_value(make, name, value):
    X, y = records()
    with pytest.raises(ParameterError) as caught:
        make(**{name: value}).fit(X, y)
    message = str(caught.value)
    assert name in message
    assert repr(value) in message


BOUNDS = [None, (1.0, 0.0), (0.0, 0.0), (0.0, math.inf), (math.nan, 1.0), (0.0,), "ab", 3]
CLASSES = [[], [1], [1, 1], 5, [[0, 1]], ["a", 1.5, None], [0, "a"]]
SWITCHES = [None, 1, 0, "yes", "True", 1.0, [True]]


@pytest.mark.parametrize(
    ("make", "changes", "match"),
    [
        (ridge, {"relation": "add-remove"}, "needs n="),
        (ridge, {"epsilon": 1e-9}, "finite precision"),
        (ridge, {"epsilon": "inf"}, "float inf"),
        (ridge, {"delta": "1e-5"}, "or 'auto'"),
        (ridge, {"clip_predictions": 2}, "clip_predictions=2 must be True or False"),
        (ridge, {"fit_intercept": "yes"}, "fit_intercept='yes' must be True or False"),
        (ridge, {"ledger": object(), "dataset": "people"}, "the path of the budget's file"),
        *((ridge, {"y_bounds": bad}, r"y_bounds=.*public range") for bad in BOUNDS),
        *(
            (logistic, {"standardise": bad}, "standardise=.* must be True or False, or 'auto'")
            for bad in SWITCHES
        ),
        *((svm, {"classes": bad}, "classes=") for bad in CLASSES),
        (logistic, {"class_weight": "balanced"}, "release of its own"),
        (logistic, {"class_weight": [1, 2]}, "dict"),
        (logistic, {"class_weight": {0: -1.0}}, r"class_weight\[0\]"),
        (logistic, {"class_weight": {0: "x"}}, r"class_weight\[0\]"),
        (logistic, {"class_weight": {7: 1.0}}, "not one of the classes"),
    ],
)
def test_what_is_wrong_with_a_parameter_is_said(make, changes, match):
    with pytest.raises((ParameterError, CalibrationError), match=match):
        make(**changes).fit(*records())


def test_far_more_records_than_declared_are_refused():
    X = np.zeros((2**23 + 1, 1), dtype=np.float32)
    with pytest.raises(DataError, match="declared n"):
        ridge(relation="add-remove", n=1000, fit_intercept=False).fit(X, X[:, 0])


def spoiled():
    """Yield inputs that cannot be used, each with secret values in it."""
    X, y = records()
    X[3, 1] = NUMBER

    def changed(array, value, dtype=None):
        copy = array.astype(dtype or array.dtype)
        copy[5, 2] = value
        return copy

    labels = y.astype(object)
    labels[2] = TEXT
    yield "nan", changed(X, math.nan), y
    yield "inf", changed(X, -math.inf), y
    yield "sparse nan", sparse.csr_array(changed(X, math.nan)), y
    yield "text cell", changed(X, TEXT, object), y
    yield "text column", pd.DataFrame({"a": [TEXT] * 20, "b": np.arange(20)}), y
    yield "dict cell", changed(X, {TEXT: NUMBER}, object), y
    yield "bytes", changed(X, TEXT.encode(), object), y
    yield "complex", X + 1j * NUMBER, y
    yield "one row", X[3], y
    yield "scalar", NUMBER, y
    yield "cube", np.full((2, 3, 4), NUMBER), y
    yield "no records", X[:0], y[:0]
    yield "no features", X[:, :0], y
    yield "short y", X, y[:-1]
    yield "no y", X, None
    yield "wide y", X, np.column_stack([y, y * NUMBER])
    yield "ragged", [[1.0, NUMBER], [2.0]], [0, 1]
    yield "huge integer", [[10**400, 2], [3, 4]], [0, 1]


@pytest.mark.parametrize("make", [ridge, svm])
@pytest.mark.parametrize(("X", "y"), [pytest.param(X, y, id=i) for i, X, y in spoiled()])
def test_an_error_about_data_holds_nothing_of_them(make, X, y):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(DpscdError) as caught:
            make().fit(X, y)
    assert isinstance(caught.value, ValueError)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    said = "".join(traceback.format_exception_only(caught.value)) + "".join(map(str, seen))
    for secret in (NUMBER, int(NUMBER), TEXT, "1e+400"):
        assert str(secret) not in said


def check_hidden(caught):
    assert str(NUMBER)[:7] not in str(caught.value)
    assert TEXT not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("kind", ["continuous", "mixed", "one", "lists"])
def test_labels_that_are_not_classes(kind):
    X, y = records()
    labels = {
        "continuous": X[:, 0] + NUMBER,
        "mixed": np.array([TEXT, NUMBER] * 10, dtype=object),
        "one": y * 0,
        "lists": [[1, 2], *[[1, 2, 3]] * (len(y) - 1)],
    }[kind]
    with pytest.raises(DpscdError) as caught:
        svm(classes=None).fit(X, labels)
    check_hidden(caught)
    assert f"({len(y)}" not in str(caught.value)


@pytest.mark.parametrize("spelt", [str, float, bool, lambda label: f" {label}.0"])
def test_a_label_is_the_class_that_it_spells(spelt):
    X, y = records()
    usual = svm(random_state=0).fit(X, y).coef_
    for labels in ([spelt(int(label)) for label in y], np.array([spelt(int(x)) for x in y])):
        np.testing.assert_array_equal(svm(random_state=0).fit(X, labels).coef_, usual)


def test_predictions_hide_the_data_too():
    X, y = records()
    model = svm().fit(X, y)
    for bad in ([[TEXT, 1, 2]], [[NUMBER, math.nan, 1]], [[NUMBER, 2]], X[0] * NUMBER):
        with pytest.raises(DataError) as caught:
            model.predict(bad)
        check_hidden(caught)


ODD = {
    "one record": (np.array([[0.5, 0.1]]), np.array([1])),
    "zero rows": (np.zeros((30, 2)), np.arange(30) % 2),
    "constant columns": (np.full((30, 2), 0.4), np.arange(30) % 2),
    "more features than rows": (np.eye(6, 50), np.arange(6) % 2),
    "integers": (np.arange(60).reshape(30, 2), np.arange(30) % 2),
    "empty sparse": (sparse.csr_array((30, 2)), np.arange(30) % 2),
    "denormals": (np.full((30, 2), 5e-324), np.arange(30) % 2),
    "huge": (np.full((30, 2), 1e308), np.arange(30) % 2),
}


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("make", [ridge, svm, logistic, partial(logistic, classes=[0, 1, 2])])
# At 9.9 moments of labels are released from a handful of records.
@pytest.mark.parametrize("epsilon", [1.0, 9.9, math.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("standardise", [True, "auto"])
def test_odd_data_give_a_finite_model(kind, make, epsilon, fit_intercept, standardise):
    X, y = ODD[kind]
    own = {"fit_intercept": fit_intercept, "standardise": standardise, "delta": 1e-5}
    for rows in (X, sparse.csr_array(X)) if standardise is True else (X,):
        model = make(epsilon=epsilon, **own).fit(rows, y)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
        assert model.predict(X[:1] * 0.0).shape == (1,)
        assert model.privacy_.verify() <= epsilon
        if standardise is True and epsilon < math.inf:
            assert model.privacy_.releases[0].what == "moments"


def test_empty_lots_are_ordinary_steps():
    X, y = records()
    model = svm(lot_size=1, epochs=0.2, random_state=0).fit(X, y)
    assert model.privacy_.steps == 4
    assert (model.coef_ != 0.0).all()


def test_a_whole_data_set_may_be_a_lot():
    X, y = records()
    model = svm(lot_size=20).fit(X, y)
    assert model.privacy_.rate == 1.0


def test_there_is_no_way_to_go_on_with_a_fit():
    for model in (ridge(), svm(), logistic()):
        assert not hasattr(model, "partial_fit")
        assert "warm_start" not in model.get_params()


@pytest.mark.parametrize("where", [slice(1, -1), 10])
@pytest.mark.parametrize("value", [10**7, 140, -(10**6)])
def test_a_sparse_matrix_with_broken_pointers_is_refused(where, value):
    X, y = records()
    broken = sparse.csr_matrix(X)
    broken.indptr[where] = value
    with pytest.raises(DataError):
        svm().fit(broken, y)


def test_a_fit_that_fails_leaves_no_trace():
    X, y = records()
    model = svm(classes=None)
    with pytest.raises(ParameterError):
        model.fit(X, np.full(20, 73219))
    assert not hasattr(model, "classes_")
    fitted = svm().fit(X, y)
    before = fitted.fit_
    with pytest.raises(CalibrationError):
        fitted.set_params(epsilon=1e-9, classes=[3, 4, 5]).fit(X, y)
    assert fitted.fit_ is before


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (pd.Series(np.arange(20.0)), "one column"),
        (pd.DataFrame(index=range(20)), r"0 feature\(s\)"),
        (pd.DataFrame({"a": ["x"] * 20}), "are for TableModel"),
        (pd.DataFrame({"a": pd.date_range("1999-12-31", periods=20)}), "dates"),
        (np.full((20, 1), np.datetime64("1999-12-31")), "dates"),
    ],
)
def test_the_cause_is_named(X, match):
    with pytest.raises(DataError, match=match):
        svm().fit(X, records()[1])


def test_labels_that_are_none_of_the_classes_are_told_first():
    with pytest.raises(
        DataError, match=r"^none of the labels is one of classes=\.\.\.: compare"
    ):
        svm(classes=["a", "b"]).fit(*records())


def test_labels_of_a_regression_are_not_published_as_classes():
    X, _ = records(n=150)
    with pytest.raises(ParameterError, match="use DPRidge"):
        svm(classes=None).fit(X, np.arange(150.0))


@parametrised
class Mine(DPRidge):
    mine: object = None


def test_a_class_of_users_own_may_have_other_parameters():
    assert Mine(mine=[3], y_bounds=(-1.0, 1.0), epochs=1).fit(*records()).mine == [3]


def test_predictions_of_no_rows_are_refused():
    model = DPRidge(np.inf, y_bounds=(0, 1), lam=0.1).fit([[0.1], [0.2]], [0, 1])
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        model.predict(np.empty((0, 1)))
