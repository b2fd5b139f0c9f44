"""Fits on one data set share one budget, through every tool that copies estimators."""

import math
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from dpscd import (
    BudgetExceeded,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    Ledger,
    LedgerError,
    ParameterError,
    PrivacyWarning,
    SecretSeed,
    StreamError,
    TableModel,
)

SECRET = SecretSeed(2**127 + 12345)


def records(n=80):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(n, 2))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture
def budget(tmp_path):
    path = str(tmp_path / "budget.db")
    Ledger.init(path, "people", epsilon=2.0, delta=1e-4)
    return path


def model(path, epsilon=0.5, **changes):
    return DPLinearSVC(
        epsilon, classes=[0, 1], epochs=1, ledger=path, dataset="people", **changes
    )


def spent(path):
    return Ledger(path).show("people").spent_epsilon


def test_a_fit_is_charged_and_committed(budget):
    fitted = model(budget).fit(*records())
    assert spent(budget) == 0.5
    (entry,) = Ledger(budget).history("people")
    assert entry.committed
    assert entry.label == "DPLinearSVC"
    assert entry.epsilon == fitted.privacy_.epsilon
    assert fitted.privacy_.facts.dataset == "people"


def test_the_budget_cannot_be_overspent(budget):
    for _ in range(4):
        model(budget).fit(*records())
    with pytest.raises(BudgetExceeded, match="Left: epsilon=0"):
        model(budget, 0.01).fit(*records())
    assert spent(budget) == 2.0


@pytest.mark.full
def test_clones_pickles_and_processes_share_one_budget(budget):
    clone(model(budget)).fit(*records())
    pickle.loads(pickle.dumps(model(budget))).fit(*records())
    assert spent(budget) == 1.0
    cross_val_score(model(budget, 0.25), *records(), cv=2, n_jobs=2)
    assert spent(budget) == 1.5


def test_grid_search_pays_for_every_fit(budget):
    GridSearchCV(model(budget, 0.125), {"lam": [1e-3, 1e-2]}, cv=2, refit=True).fit(*records())
    assert spent(budget) == 5 * 0.125
    search = GridSearchCV(model(budget, 0.4), {"lam": [1e-3, 1e-2]}, cv=2, error_score="raise")
    with pytest.raises(BudgetExceeded, match=r"this search makes 5 fits.*epsilon=1\.375 left"):
        search.fit(*records())
    assert spent(budget) == 5 * 0.125  # fits that end in a refusal would be of no use
    search.set_params(param_grid={"lam": [1e-3]}).fit(*records())
    assert spent(budget) == pytest.approx(5 * 0.125 + 3 * 0.4)


def test_a_grid_over_epsilon_is_not_refused_for_its_first_epsilon(budget):
    grid = {"epsilon": [0.75, 0.125]}  # four times the first exceed the budget
    GridSearchCV(model(budget), grid, cv=2, refit=False).fit(*records())
    assert spent(budget) == 2 * 0.75 + 2 * 0.125


def test_no_value_is_judged_before_the_budget(tmp_path):
    """Neither NaN nor a foreign label is noticed by a fit that the budget refuses."""
    path = str(tmp_path / "budget.db")
    Ledger.init(path, "people", epsilon=0.1, delta=1e-5)
    X, y = records()
    X[0, 0] = math.nan
    with pytest.raises(BudgetExceeded):
        model(path).fit(X, y)
    with pytest.raises(BudgetExceeded):
        DPRidge(y_bounds=(0, 1), ledger=path, dataset="people").fit(X, np.full(80, math.nan))


@pytest.mark.parametrize("given", [{"ledger": "budget.db"}, {"dataset": "people"}])
def test_ledger_and_dataset_come_together(given):
    with pytest.raises(ParameterError, match="together"):
        DPLinearSVC(classes=[0, 1], **given).fit(*records())


def test_other_refusals_cost_nothing(budget, tmp_path):
    with pytest.raises(ParameterError, match="lam"):
        model(budget, lam=-1.0).fit(*records())
    with pytest.raises(BudgetExceeded, match="epsilon=inf"):
        model(budget, math.inf).fit(*records())
    with pytest.raises(LedgerError, match="no ledger"):
        model(str(tmp_path / "none.db")).fit(*records())
    with pytest.raises(LedgerError, match="relation"):
        model(budget, relation="replace-one").fit(*records())
    assert spent(budget) == 0.0


def test_fits_with_one_seed_do_not_share_their_noise(budget):
    X, y = records()
    coefs = [model(budget, random_state=SECRET).fit(X * 0.0, y).coef_ for _ in range(2)]
    assert (coefs[0] != coefs[1]).all()


def test_a_ledger_made_anew_gives_other_noise(budget, monkeypatch):
    """At the same path, in the same second, for the same data set, plan and reservation."""
    monkeypatch.setattr("dpscd.privacy.ledger._now", lambda: "2030-01-01T00:00:00Z")
    X, y = records()
    coefs = []
    for _ in range(2):
        Path(budget).unlink()
        Ledger.init(budget, "people", epsilon=2.0, delta=1e-4)
        coefs.append(model(budget, random_state=SECRET).fit(X * 0.0, y).coef_)
    assert (coefs[0] != coefs[1]).all()


@pytest.mark.parametrize(
    "seed", [0, 2**127, np.random.RandomState(0), np.random.default_rng(0), "seed"]
)
def test_a_seed_that_is_not_called_secret_is_refused(budget, seed):
    class Untouched:
        def __array__(self, *_args, **_options):
            raise AssertionError("data were read")

    with pytest.raises(ParameterError, match="SecretSeed"):
        model(budget, random_state=seed).fit(Untouched(), Untouched())
    assert not Ledger(budget).history("people")


def test_a_fit_with_a_secret_seed_is_marked(budget):
    plain = model(budget).fit(*records())
    seeded = clone(model(budget, random_state=SECRET)).fit(*records())
    assert [x.seeded for x in Ledger(budget).history("people")] == [False, True]
    assert Ledger(budget).show("people").seeded == 1
    assert [plain.privacy_.seeded, seeded.privacy_.seeded] == [False, True]


def test_a_secret_seed_stays_with_its_process(budget, tmp_path):
    fitted = model(budget, random_state=SECRET).fit(*records())
    assert fitted.get_params()["random_state"] is SECRET
    assert "SecretSeed(...)" in repr(fitted)
    assert pickle.loads(pickle.dumps(fitted)).random_state is None
    fitted.save(tmp_path / "model.json")
    digits = str(SECRET.value)
    assert digits not in (tmp_path / "model.json").read_text()
    assert digits.encode() not in Path(budget).read_bytes()
    with pytest.raises(StreamError, match="cannot be pickled"):
        pickle.dumps(model(budget, random_state=SECRET))


def test_labels_are_not_read_before_they_are_paid_for(tmp_path):
    path = str(tmp_path / "budget.db")
    Ledger.init(path, "people", epsilon=0.001, delta=1e-5)
    X, y = records()
    for labels in (y, y * 0, [object()] * len(y)):
        with pytest.raises(ParameterError, match="before they are paid for"):
            model(path).set_params(classes=None).fit(X, labels)
        with pytest.raises(BudgetExceeded):
            model(path).fit([["text", None]] * len(y), labels)
    with pytest.raises(ParameterError, match="class_weight has a weight for 7"):
        model(path, class_weight={7: 1.0}).fit(X, y)


# --- Refused fits: said at once in a search, and again when a prediction is asked for ---------

X = np.random.default_rng(0).normal(size=(300, 2))
Y = (X[:, 0] > 0).astype(int)
SCHEMA = {
    "target": {"column": "y", "classes": ["0", "1"]},
    "columns": {"a": {"kind": "number", "bounds": [-3, 3]}},
}


@pytest.fixture
def two_fits(tmp_path):
    """Return the ledger of a budget that holds two fits, and its data set."""
    Ledger.init(tmp_path / "b.json", "d", 25.0, 2.5e-4)
    return {"ledger": str(tmp_path / "b.json"), "dataset": "d", "delta": 1e-4}


def logistic(two_fits):
    return DPLogisticRegression(1.0, classes=[0, 1], **two_fits)


def test_a_search_hears_of_a_refusal_at_once(two_fits):
    search = GridSearchCV(logistic(two_fits), {"lam": [0.1, 1.0]}, cv=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(BudgetExceeded):
            search.fit(X, Y)
    kinds = [warning.category for warning in caught]
    first = next(x for x in caught if issubclass(x.category, PrivacyWarning))
    assert kinds.index(PrivacyWarning) < kinds.index(FitFailedWarning)
    assert "a fit of this search was refused" in str(first.message)
    assert "Left: epsilon=23" in str(first.message)
    with pytest.raises(NotFittedError, match=r"its fit was refused.*does not fit into the"):
        search.predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_so_does_a_cross_validation(two_fits):
    with pytest.warns(PrivacyWarning, match="a fit of this search was refused"):
        scores = cross_val_score(logistic(two_fits), X, Y, cv=3)
    assert np.isnan(scores).tolist() == [False, False, True]


def test_alone_it_is_an_error_and_no_warning(two_fits):
    logistic(two_fits).fit(X, Y)
    logistic(two_fits).fit(X, Y)
    model = logistic(two_fits)
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)
    for ask in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(NotFittedError, match=r"its fit was refused\. a fit with epsilon=1"):
            ask(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        logistic(two_fits).predict(X)


def test_models_of_tables_and_counts_say_it_too(two_fits):
    unknown = {**two_fits, "dataset": "another"}
    table = pd.DataFrame({"a": X[:, 0], "y": Y.astype(str)})
    whole = TableModel(SCHEMA, DPLogisticRegression(1.0, **unknown))
    with pytest.raises(LedgerError):
        whole.fit(table)
    with pytest.raises(NotFittedError, match="This TableModel is not fitted: its fit was"):
        whole.predict(table)
    counts = DPPoissonRegressor(1.0, y_bounds=(0, 1), **unknown)
    with pytest.raises(LedgerError):
        counts.fit(X, Y)
    with pytest.raises(NotFittedError, match="its fit was refused"):
        counts.predict(X)


def test_a_model_outlives_a_fit_that_was_refused(two_fits):
    model = logistic(two_fits).fit(X, Y)
    coef = model.coef_.copy()
    logistic(two_fits).fit(X, Y)
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)
    model.predict(X)
    np.testing.assert_array_equal(model.coef_, coef)
