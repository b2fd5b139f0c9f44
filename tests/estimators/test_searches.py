"""Refused fits in searches: said at once, and again when a prediction is asked for."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from dpscd import (
    BudgetExceeded,
    DPLogisticRegression,
    DPPoissonRegressor,
    Ledger,
    LedgerError,
    PrivacyWarning,
    TableModel,
)

X = np.random.default_rng(0).normal(size=(300, 2))
Y = (X[:, 0] > 0).astype(int)
SCHEMA = {
    "target": {"column": "y", "classes": ["0", "1"]},
    "columns": {"a": {"kind": "number", "bounds": [-3, 3]}},
}


@pytest.fixture
def budget(tmp_path):
    """Return the ledger of a budget that holds two fits, and its data set."""
    Ledger.init(tmp_path / "b.json", "d", 2.5, 1e-3)
    return {"ledger": str(tmp_path / "b.json"), "dataset": "d", "delta": 1e-4}


def logistic(budget):
    return DPLogisticRegression(1.0, classes=[0, 1], **budget)


def test_a_search_hears_of_a_refusal_at_once(budget):
    search = GridSearchCV(logistic(budget), {"lam": [0.1, 1.0]}, cv=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(BudgetExceeded):
            search.fit(X, Y)
    kinds = [warning.category for warning in caught]
    first = next(x for x in caught if issubclass(x.category, PrivacyWarning))
    assert kinds.index(PrivacyWarning) < kinds.index(FitFailedWarning)
    assert "a fit of this search was refused" in str(first.message)
    assert "Left: epsilon=0.5" in str(first.message)
    with pytest.raises(NotFittedError, match=r"its fit was refused.*does not fit into the"):
        search.predict(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_so_does_a_cross_validation(budget):
    with pytest.warns(PrivacyWarning, match="a fit of this search was refused"):
        scores = cross_val_score(logistic(budget), X, Y, cv=3)
    assert np.isnan(scores).tolist() == [False, False, True]


def test_alone_it_is_an_error_and_no_warning(budget):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logistic(budget).fit(X, Y)
        logistic(budget).fit(X, Y)
        model = logistic(budget)
        with pytest.raises(BudgetExceeded):
            model.fit(X, Y)
    for ask in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(NotFittedError, match=r"its fit was refused\. a fit with epsilon=1"):
            ask(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        logistic(budget).predict(X)


def test_models_of_tables_and_counts_say_it_too(budget):
    unknown = {**budget, "dataset": "another"}
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


def test_a_model_outlives_a_fit_that_was_refused(budget):
    model = logistic(budget).fit(X, Y)
    coef = model.coef_.copy()
    logistic(budget).fit(X, Y)
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)
    model.predict(X)
    np.testing.assert_array_equal(model.coef_, coef)
