"""The front door of private scores: what is read when, charged, protected and refused."""

import itertools
import json
import math
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import brier_score_loss, get_scorer, log_loss, make_scorer, roc_auc_score

from dpscd import (
    BudgetExceeded,
    DataError,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    Ledger,
    ParameterError,
    PrivacyCard,
    SecretSeed,
    StoredRows,
    TableModel,
    private_score,
)
from dpscd.estimators.loading import read_fit
from dpscd.estimators.private_score import PrivateScore
from dpscd.kernels.rows import MARGIN
from dpscd.privacy.relation import PrivacyTarget
from dpscd.scores.registry import NUMBER_METRICS, SKLEARN_METRICS, ScoreFacts

N = 4000
SCHEMA = {
    "target": {"column": "ill", "classes": ["yes", "no"]},
    "columns": {"age": {"kind": "number", "bounds": [0, 100]}},
}


def records(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (n, 3))
    return X, np.where(X[:, 0] > X[:, 1], "b", "a")


@pytest.fixture(scope="module")
def model():
    return DPLogisticRegression(10.0, classes=["a", "b"], random_state=0).fit(*records())


@pytest.fixture(scope="module")
def ridge():
    X, _ = records()
    return DPRidge(10.0, y_bounds=(-1, 1), random_state=0).fit(X, X[:, 0] - X[:, 1])


def people(n=N):
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, n)
    ill = np.where(age > 60, "yes", "no")
    return pd.DataFrame({"age": age, "ill": ill, "patient": np.arange(n) // 2})


@pytest.fixture(scope="module")
def table():
    return TableModel(SCHEMA, DPLogisticRegression(10.0, random_state=0)).fit(people())


@pytest.mark.full
@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
@pytest.mark.parametrize("metric", ["auto", "auc", "log_loss", "brier", "confusion", "recall"])
def test_scores_of_a_classifier(model, metric, relation):
    X, y = records(1)
    n = N + 100 if relation == "add-remove" else None
    found = private_score(
        model, X, y, epsilon=5.0, metric=metric, relation=relation, n=n, random_state=1
    )
    assert isinstance(found, PrivateScore)
    assert found.classes == ["a", "b"]
    assert found.card.shown()["metric"] == found.metric
    assert found.card.verify() <= 5.0
    assert found.card.relation == relation
    assert PrivacyCard.from_json(found.card.to_json()) == found.card
    value, low, high = (np.asarray(x) for x in (found.value, found.low, found.high))
    assert ((low <= value) & (value <= high)).all()
    if metric == "auto":
        assert found.value == pytest.approx(model.score(X, y), abs=0.01)
    assert "the score hardly depends on" in str(found.card)


@pytest.mark.full
@pytest.mark.parametrize("metric", ["auto", "mse", "r2"])
def test_scores_of_a_regression(ridge, metric, tmp_path):
    X, _ = records(1)
    y = X[:, 0] - X[:, 1]
    found = private_score(ridge, X, y, epsilon=10.0, metric=metric, random_state=1)
    assert found.metric == ("mae" if metric == "auto" else metric)
    assert found.low <= found.value <= found.high
    assert found.card.verify() <= 10.0
    if metric == "r2":
        assert found.value == pytest.approx(ridge.score(X, y), abs=0.02)
        bad = private_score(ridge, X[:3], y[:3], epsilon=0.1, metric="r2")
        assert bad.low == -math.inf
        bad.save(tmp_path / "bad.json")
        assert json.loads((tmp_path / "bad.json").read_text())["numbers"]["low"] is None
        assert read_fit(tmp_path / "bad.json").numbers == bad.fit_.numbers
        assert found.bound == 4.0


def same(one, other):
    return (one.fit_.numbers, one.card) == (other.fit_.numbers, other.card)


def test_containers_give_the_same(model, table, tmp_path):
    X, y = records(1)
    np.save(tmp_path / "x.npy", X)
    asked = {"epsilon": 1.0, "random_state": 3}
    usual = private_score(model, X, y, **asked)
    for rows in (sparse.csr_matrix(X), StoredRows(tmp_path / "x.npy"), X.tolist()):
        assert same(private_score(model, rows, list(y), **asked), usual)
    frame = people()
    frame.to_csv(tmp_path / "t.csv", index=False)
    first = private_score(table, frame, **asked)
    assert same(private_score(table, tmp_path / "t.csv", **asked), first)
    apart = private_score(table, frame.drop(columns="ill"), frame["ill"], **asked)
    assert same(apart, first)
    assert first.classes == ["yes", "no"]
    recall = private_score(table, frame, epsilon=5.0, metric="recall", random_state=0)
    truth = table.predict(frame)
    for name, value in zip(["yes", "no"], recall.value, strict=True):
        own = frame["ill"] == name
        assert value == pytest.approx((truth[own] == name).mean(), abs=0.02)


def test_what_cannot_be_used_counts_as_the_worst_and_raises_nothing(model, ridge):
    X, y = records(1)
    asked = {"epsilon": 50.0, "random_state": 0}
    right = private_score(model, X, y, **asked).value
    odd = X.copy()
    odd[: N // 2, 1] = np.nan
    other = y.astype(object)
    other[: N // 2] = "secret 987654"
    for rows, labels in ((odd, y), (sparse.csr_matrix(odd), y), (X, other)):
        found = private_score(model, rows, labels, **asked).value
        assert found == pytest.approx(right / 2, abs=0.01)
    numbers = np.where(np.arange(N) < N // 2, np.nan, 0.0)
    found = private_score(ridge, X, numbers, metric="mse", **asked)
    assert found.value > 2.0  # half of them at the bound of 4


def test_the_charge_comes_before_any_value(model, tmp_path, monkeypatch):
    X, y = records(1, 500)
    ledger = Ledger.init(tmp_path / "b.db", "held out", 1.0, 1e-4)
    asked = {"ledger": tmp_path / "b.db", "dataset": "held out"}

    def fail(*_args, **_more):
        raise DataError("a value was used.")

    monkeypatch.setattr(type(model), "predict", fail)
    with pytest.raises(BudgetExceeded, match="a score with epsilon"):
        private_score(model, X, y, epsilon=2.0, **asked)
    for wrong in ({"metric": "mse"}, {"level": 2.0}, {"n": 5}, {"bound": -1.0}):
        with pytest.raises(ParameterError):
            private_score(model, X, y, epsilon=0.4, **wrong, **asked)
    with pytest.raises(DataError, match="no records"):
        private_score(model, X[:0], y[:0], epsilon=0.4, **asked)
    assert ledger.show("held out").reserved == 0
    with pytest.raises(DataError, match="a value was used"):
        private_score(model, X, y, epsilon=0.4, **asked)
    assert ledger.show("held out").reserved == 1
    assert ledger.show("held out").committed == 0
    monkeypatch.undo()
    found = private_score(model, X, y, epsilon=0.4, **asked)
    assert ledger.show("held out").committed == 1
    assert found.card.facts.dataset == "held out"
    entry = ledger.history("held out")[-1]
    assert entry.label == "score"
    assert entry.releases == tuple(map(asdict, found.card.releases))
    with pytest.raises(BudgetExceeded):
        private_score(model, X, y, epsilon=0.4, **asked)


def test_seeds(model, tmp_path):
    X, y = records(1, 500)
    y = y[::-1]  # half of them right: nothing is cut at 0
    # Four numbers: noise on a grid, of about 5,000 likely values, may well meet in one.
    asked = {"epsilon": 0.3, "random_state": 5, "metric": "confusion"}
    assert same(private_score(model, X, y, **asked), private_score(model, X, y, **asked))
    assert private_score(model, X, y, **asked).card.seeded
    fresh = {**asked, "random_state": None}
    assert len({str(private_score(model, X, y, **fresh).value) for _ in range(3)}) == 3
    Ledger.init(tmp_path / "b.db", "d", 5.0, 1e-4)
    budget = {"ledger": tmp_path / "b.db", "dataset": "d"}
    with pytest.raises(ParameterError, match="random_state must be None with a ledger"):
        private_score(model, X, y, **asked, **budget)
    secret = {**asked, "random_state": SecretSeed(2**100 + 1), **budget}
    assert private_score(model, X, y, **secret) != private_score(model, X, y, **secret)


@pytest.mark.full
def test_persons_count_once_each(table, model):
    frame = people()
    schema = {**SCHEMA, "table": {"person": "patient"}}
    by_column = TableModel(schema, DPLogisticRegression(10.0, random_state=0)).fit(frame)
    found = private_score(by_column, frame, epsilon=5.0, random_state=0)
    assert found.card.facts.n == N // 2
    assert "'patient'" in found.card.unit
    assert found.card.verify() <= 5.0
    with pytest.raises(ParameterError, match="the schema's person"):
        private_score(by_column, frame, epsilon=5.0, groups=frame["patient"])
    given = private_score(table, frame, epsilon=5.0, groups=frame["patient"], random_state=0)
    assert given.card.facts.n == N // 2
    assert given.card.protected.groups
    assert given.value == pytest.approx(found.value, abs=0.05)
    X, y = records(1)
    grouped = DPLogisticRegression(10.0, classes=["a", "b"], random_state=0)
    grouped.fit(X, y, groups=np.arange(N) // 4)
    with pytest.raises(ParameterError, match="protect single records"):
        private_score(grouped, X, y, epsilon=1.0)
    found = private_score(grouped, X, y, epsilon=1.0, groups=np.arange(N) // 4)
    assert found.card.facts.n == N // 4
    with pytest.raises(DataError):
        private_score(model, X, y, epsilon=1.0, groups=[1, 2])


def test_a_secret_number_of_records_is_not_told(model, table):
    X, y = records(1)
    asked = {"epsilon": 1.0, "relation": "add-remove", "random_state": 0}
    with pytest.raises(ParameterError, match="declared number of records"):
        private_score(model, X, y, **asked)
    for metric in ("accuracy", "brier", "recall"):
        none = private_score(model, X[:0], y[:0], n=1000, metric=metric, **asked)
        assert np.max(none.high) == 1.0
        assert none.card.facts.n == 1000
    for metric in ("accuracy", "auc"):
        none = private_score(table, people()[:0], n=1000, metric=metric, **asked)
        assert (none.low, none.high) == (0.0, 1.0) or metric == "accuracy"
    for declared, delta in ((1000, 1e-5), (10**6, 1e-7)):
        one = private_score(model, X, y, n=declared, **asked)
        other = private_score(model, X[1:], y[1:], n=declared, **asked)
        assert one.card == other.card
        assert one.card.delta == pytest.approx(delta)


@pytest.mark.full
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_huge_numbers_warn_nobody(kind):
    X, y = records(1)
    model = DPLogisticRegression(5.0, classes=["a", "b"], lam=1e-6).fit(X, y)
    for signs in itertools.product((-1.0, 1.0), repeat=3):
        rows = X.copy()
        rows[0] = np.array(signs) * 1e308
        for metric in ("accuracy", "auc", "log_loss", "brier", "confusion", "recall"):
            private_score(model, kind(rows), y, epsilon=1.0, metric=metric)


def test_the_margin_of_sums_is_given_back():
    measure = ScoreFacts(N, "accuracy", (0, 1)).measure(PrivacyTarget(1.0, 1e-5))
    sums = measure.sums(np.array([N * MARGIN]), 2.0, N)
    assert sums.values[0] == N
    assert sums.std == 2.0 / MARGIN


@pytest.mark.parametrize(
    ("model", "asked", "says"),
    [
        ((-1e200, 1e200), {"metric": "mse"}, "too wide for squared errors"),
        ((-1.0, 1.0), {"epsilon": 20_000.0}, "up to 10000"),
    ],
)
def test_public_numbers_without_end_are_refused_before_the_charge(model, asked, says, tmp_path):
    X, _ = records(1)
    Ledger.init(tmp_path / "b.json", "d", 50.0, 1e-3)
    line = DPRidge(np.inf, y_bounds=model, lam=1.0).fit(X, X[:, 0])
    budget = {"ledger": str(tmp_path / "b.json"), "dataset": "d"}
    with pytest.raises(ParameterError, match=says):
        private_score(line, X, X[:, 0], **{"epsilon": 1.0, **asked}, **budget)
    assert not Ledger(tmp_path / "b.json").history("d")


def test_a_table_that_changed_is_refused_after_the_charge(table, tmp_path, monkeypatch):
    ledger = Ledger.init(tmp_path / "b.db", "held out", 1.0, 1e-4)
    people(50).to_csv(tmp_path / "t.csv", index=False)
    real = Ledger.reserve

    def charged_meanwhile(self, *given, **more):
        people(60).to_csv(tmp_path / "t.csv", index=False)
        return real(self, *given, **more)

    monkeypatch.setattr(Ledger, "reserve", charged_meanwhile)
    asked = {"epsilon": 1.0, "ledger": tmp_path / "b.db", "dataset": "held out"}
    with pytest.raises(DataError, match="changed while it was read"):
        private_score(table, tmp_path / "t.csv", **asked)
    assert ledger.show("held out").spent_epsilon == 1.0


def test_refusals_in_words(model):
    X, y = records(1, 50)
    svc = DPLinearSVC(10.0, classes=["a", "b"], random_state=0).fit(X, y)
    assert 0.0 <= private_score(svc, X, y, epsilon=1.0).value <= 1.0
    for wrong, says in (
        ((svc, X, y, {"metric": "auc"}), "needs probabilities"),
        ((model, X, y, {"epsilon": math.inf}), "epsilon=inf"),
        ((model, X, y, {"delta": 0.0}), "delta=0.0"),
        ((model, X, y, {"relation": "other"}), "relation='other'"),
        ((model, X, y, {"n": 7}), "goes with relation='add-remove'"),
        ((model, X, y, {"ledger": "b.db"}), "given together"),
        ((model, X, None, {}), "known labels"),
        ((object(), X, y, {}), "one of this library's estimators"),
    ):
        *given, more = wrong
        with pytest.raises(ParameterError, match=says):
            private_score(*given, **{"epsilon": 1.0, **more})
    with pytest.raises(DataError, match="inconsistent"):
        private_score(model, X, y[:-1], epsilon=1.0)
    counts = DPPoissonRegressor(10.0, y_bounds=(0, 9), exposure_bounds=(1, 2), random_state=0)
    counts.fit(X, np.ones(50), exposure=np.ones(50))
    with pytest.raises(ParameterError, match="exposures"):
        private_score(counts, X, np.ones(50), epsilon=1.0)


def test_dask_is_refused(model):
    array = pytest.importorskip("dask.array")
    X, y = records(1, 50)
    with pytest.raises(ParameterError, match="not available on Dask"):
        private_score(model, array.from_array(X), y, epsilon=1.0)


def test_messages_hold_no_value(model):
    X, y = records(1, 50)
    cells = X.astype(object)
    cells[3, 1] = "secret 987654"
    secret = "secret 987654"
    for rows, labels in ((cells, y), ([[secret]], ["a"]), (X, [[secret] * 2])):
        try:
            private_score(model, rows, labels, epsilon=1.0)
        except Exception as error:
            assert "987654" not in str(error)


def of_one_column(labels, target, estimator):
    """Return a table with a column `a` and these labels of it, and a model of it."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.uniform(0, 1, N)})
    table["y"] = labels(table["a"], rng.normal(size=N))
    schema = {"target": target, "columns": {"a": {"kind": "number", "bounds": [0, 1]}}}
    return table, TableModel(schema, estimator(5.0, random_state=0)).fit(table)


@pytest.mark.full
@pytest.mark.parametrize("name", [*SKLEARN_METRICS, "accuracy", "r2"])
def test_names_of_scikit_learn_mean_what_they_mean_there(model, ridge, name):
    X, y = records(1)
    numbers = SKLEARN_METRICS.get(name, name) in NUMBER_METRICS
    scored, labels = (ridge, X[:, 0] - X[:, 1]) if numbers else (model, y)
    scorer = get_scorer(name)
    if name == "neg_brier_score":
        scorer = make_scorer(brier_score_loss, response_method="predict_proba", pos_label="b")
    exact = abs(scorer(scored, X, labels))
    found = private_score(scored, X, labels, epsilon=1000.0, delta=0.5, metric=name)
    assert found.value == pytest.approx(exact, abs=0.02)
    assert not found.metric.startswith("neg_")


@pytest.mark.full
def test_tables_whose_classes_are_not_sorted_are_scored_by_their_own_codes():
    target = {"column": "y", "classes": ["c", "b"]}
    table, model = of_one_column(
        lambda a, noise: np.where(a + 0.2 * noise > 0.5, "b", "c"), target, DPLogisticRegression
    )
    chances = model.predict_proba(table)
    exact = {
        "auc": roc_auc_score(table["y"] == "b", chances[:, 0]),
        "log_loss": log_loss(table["y"], chances),
        "brier": np.mean((chances[:, 0] - (table["y"] == "b")) ** 2),
        "accuracy": model.score(table),
    }
    for metric, value in exact.items():
        found = private_score(model, table, epsilon=1000.0, delta=0.5, metric=metric)
        assert found.value == pytest.approx(value, abs=0.02), metric


@pytest.mark.full
def test_errors_of_a_transformed_target_are_in_its_own_unit():
    target = {"column": "y", "bounds": [0, 200], "transform": "log1p"}
    table, model = of_one_column(
        lambda a, noise: np.expm1(5 * a + 0.5 * noise).clip(0), target, DPRidge
    )
    exact = np.mean((model.predict(table) - np.clip(table["y"], 0, 200)) ** 2)
    found = private_score(model, table, epsilon=1000.0, delta=0.5, metric="mse")
    assert exact > 100
    assert found.value == pytest.approx(exact, abs=5)
    assert found.bound == 200.0**2
