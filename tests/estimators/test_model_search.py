"""The front door of private searches: what is read when, charged, kept secret and refused."""

import json
import pickle
import re
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

import dpscd
from commands import call
from dpscd import (
    BudgetExceeded,
    CardError,
    DataError,
    DPLinearSVC,
    DPLogisticRegression,
    DPModelSearch,
    DPPoissonRegressor,
    DPRidge,
    Ledger,
    ParameterError,
    PrivacyCard,
    SecretSeed,
    StoredRows,
    TableModel,
    UtilityWarning,
)
from dpscd.errors import CalibrationError
from dpscd.estimators import fitting, model_search, search_plan
from dpscd.estimators.search_plan import part_sizes, split_units
from dpscd.model.file import fit_to_text
from dpscd.privacy.random import Purpose, SecureSource, SeededSource
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.scores.measure import Answers
from dpscd.scores.registry import CLASS_METRICS, NUMBER_METRICS, ScoreFacts

N = 3000
CLASSES = ["a", "b"]
SCHEMA = {
    "target": {"column": "ill", "classes": ["no", "yes"]},
    "columns": {
        "age": {"kind": "number", "bounds": [0, 100], "shape": "line"},
        "sex": {"kind": "category", "values": ["f", "m"]},
    },
}
SHORT = {**SCHEMA, "columns": {**SCHEMA["columns"], "age": {"kind": "ignore"}}}


def records(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (n, 3))
    return X, np.where(X[:, 0] > X[:, 1], "b", "a")


def pair(**given):
    return [kind(classes=CLASSES, **given) for kind in (DPLogisticRegression, DPLinearSVC)]


def search(candidates=None, epsilon=5.0, **given):
    return DPModelSearch(
        pair() if candidates is None else candidates, epsilon, **{"random_state": 0, **given}
    )


def people(n=N):
    rng = np.random.default_rng(0)
    age, sex = rng.integers(0, 100, n), rng.choice(["f", "m"], n)
    ill = np.where(age > 60, "yes", "no")
    return pd.DataFrame({"age": age, "sex": sex, "ill": ill, "patient": np.arange(n) // 2})


def tables(person=None):
    layout = {} if person is None else {"table": {"person": person}}
    return [TableModel({**schema, **layout}) for schema in (SCHEMA, SHORT)]


@pytest.mark.parametrize(
    "relation",
    [pytest.param(x, marks=[pytest.mark.full] if x != "zero-out" else []) for x in Relation],
)
def test_the_best_run_comes_with_a_card_of_the_whole_search(relation, tmp_path):
    X, y = records()
    n = N + 50 if relation.needs_n else None
    found = search(relation=relation.value, n=n).fit(X, y)
    card = found.privacy_
    assert (card.epsilon, card.relation) == (5.0, relation)
    assert 0.99 * 5.0 < card.verify() <= 5.0
    assert found.best_estimator_.epsilon == card.search.far_epsilon < 5.0
    assert card.releases in card.search.fits
    total = card.facts.n + card.search.score.n
    assert total == (n or N)
    assert found.score(X, y) > 0.9
    assert found.best_score_ == pytest.approx(found.score(X, y), abs=0.05)
    assert found.metric_ == "accuracy"
    assert found.best_index_ in (0, 1)
    assert "private search" in str(card)
    found.save(tmp_path / "m.json")
    again = dpscd.load(tmp_path / "m.json")
    assert again.privacy_ == card
    assert (again.predict(X) == found.predict(X)).all()


@pytest.mark.full
def test_seeds_repeat_a_search_and_seal_it(tmp_path):
    X, y = records()
    first, second, other = (search(random_state=seed).fit(X, y) for seed in (3, 3, 4))
    assert (first.best_estimator_.coef_ == second.best_estimator_.coef_).all()
    assert (first.best_estimator_.coef_ != other.best_estimator_.coef_).all()
    assert first.best_estimator_.random_state is None
    assert first.privacy_.seeded
    assert not search(random_state=None).fit(X, y).privacy_.seeded
    ledger = Ledger.init(tmp_path / "b.db", "people", 20.0, 1e-3)
    seed = SecretSeed(2**100)
    charged = {"ledger": tmp_path / "b.db", "dataset": "people", "random_state": seed}
    sealed = [search(delta=1e-5, **charged).fit(X, y) for _ in range(2)]
    one, two = (x.best_estimator_.coef_ for x in sealed)
    assert (one != two).all()
    assert sealed[0].privacy_.facts.dataset == "people"
    history = ledger.history("people")
    assert [x.label for x in history] == ["DPModelSearch"] * 2
    assert all(x.committed and x.seeded and x.epsilon == 5.0 for x in history)
    assert ledger.show("people").spent_epsilon == 10.0


@pytest.mark.full
def test_no_seed_is_used_twice_in_a_search(monkeypatch):
    keys, real = [], model_search.source_for

    def noted(random_state, fit=""):
        source = real(random_state, fit)
        keys.append(source._key)
        return source

    for module in (model_search, fitting):
        monkeypatch.setattr(module, "source_for", noted)
    search(mean_runs=30, random_state=1).fit(*records())
    assert len(keys) > 6
    assert len(set(keys)) == len(keys)


@pytest.mark.full
def test_a_budget_is_charged_before_a_cell_is_read(tmp_path):
    X, y = records()
    Ledger.init(tmp_path / "b.db", "people", 6.0, 1e-3)
    charged = {"ledger": tmp_path / "b.db", "dataset": "people", "random_state": None}
    bad = X.tolist()
    for row in bad[:100]:  # in both parts
        row[1] = "no number"
    with pytest.raises(DataError):
        search(delta=1e-5, **charged).fit(bad, y)
    assert Ledger(tmp_path / "b.db").show("people").spent_epsilon == 5.0
    refused = search(delta=1e-5, **charged)
    with pytest.raises(BudgetExceeded, match="a search with epsilon=5"):
        refused.fit(bad, y)
    with pytest.raises(NotFittedError, match="was refused"):
        refused.predict(X)
    Ledger.init(tmp_path / "b.db", "renyi", 60.0, 1e-3, filter="renyi")
    with pytest.raises(ParameterError, match="cannot hold a search"):
        search(delta=1e-5, **{**charged, "dataset": "renyi"}).fit(X, y)


@pytest.mark.parametrize("made", ["ArrayParts", "TableParts"])
def test_records_are_read_after_the_charge(made, tmp_path, monkeypatch):
    budget = tmp_path / "b.db"
    Ledger.init(budget, "people", 6.0, 1e-3)
    kind = getattr(search_plan, made)

    def read(*_):
        assert Ledger(budget).show("people").spent_epsilon == 5.0
        raise KeyboardInterrupt

    for name in ("read", "part"):
        monkeypatch.setattr(kind, name, read)
    one = search(tables() if made == "TableParts" else None)
    one.set_params(delta=1e-5, ledger=budget, dataset="people", random_state=None)
    with pytest.raises(KeyboardInterrupt):
        one.fit(*((people(),) if made == "TableParts" else records()))


@pytest.mark.full
def test_containers_give_the_same(tmp_path):
    X, y = records()
    np.save(tmp_path / "x.npy", X)
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    usual = search().fit(X, y).best_estimator_.coef_
    for rows in (X.tolist(), tuple(map(tuple, X)), frame, StoredRows(tmp_path / "x.npy")):
        assert (search().fit(rows, y.tolist()).best_estimator_.coef_ == usual).all()
    assert list(search().fit(frame, y).best_estimator_.feature_names_in_) == ["u", "v", "w"]
    thin = sparse.csr_matrix(np.where(X > 0.2, X, 0.0))
    usual = search().fit(thin, y).best_estimator_.coef_
    assert (search().fit(thin.tocoo(), y).best_estimator_.coef_ == usual).all()


@pytest.mark.full
def test_tables_with_different_schemas(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = search(tables(), mean_runs=8).fit(frame)
    assert found.best_index_ == 0
    assert isinstance(found.best_estimator_, TableModel)
    assert found.score(frame) > 0.9
    assert list(found.classes_) == ["no", "yes"]
    assert found.predict_proba(frame).shape == (N, 2)
    coef = found.best_estimator_.estimator_.coef_
    for given in ((tmp_path / "t.csv",), (frame.drop(columns="ill"), frame["ill"])):
        again = search(tables(), mean_runs=8).fit(*given)
        assert (again.best_estimator_.estimator_.coef_ == coef).all()
    found.save(tmp_path / "m.json")
    again = dpscd.load(tmp_path / "m.json")
    assert again.privacy_.verify() <= 5.0


@pytest.mark.full
@pytest.mark.parametrize("named", [True, False])
def test_persons_stay_in_one_part(named, monkeypatch):
    frame, seen = people(), []
    real = model_search.held_out

    def noted(model, X, y, groups):
        seen.append(X.persons if named else groups)
        return real(model, X, y, groups)

    monkeypatch.setattr(model_search, "held_out", noted)
    if named:
        found = search(tables(person="patient")).fit(frame)
    else:
        found = search(tables()).fit(frame, groups=frame["patient"])
    card = found.privacy_
    assert card.protected.is_person
    assert card.facts.n + card.search.score.n == N // 2
    assert card.verify() <= 5.0
    for codes in seen:
        assert (np.bincount(codes) == 2).all()
        assert len(np.bincount(codes)) == N // 2 // 5


@pytest.mark.full
def test_persons_of_arrays_and_rows_of_nobody():
    X, y = records()
    groups = [None if i % 7 == 0 else i // 3 for i in range(N)]
    card = search().fit(X, y, groups=groups).privacy_
    assert card.facts.n + card.search.score.n == N // 3
    assert card.unit == dpscd.privacy.relation.Unit(groups=True).text


@pytest.mark.full
@pytest.mark.parametrize("metric", ["auto", "mse", "r2"])
def test_regressions(metric):
    X, _ = records()
    y = X[:, 0] - X[:, 1]
    ridges = [DPRidge(y_bounds=(-1, 1)), DPRidge(y_bounds=(-1, 1), travel=1e-4)]
    found = search(ridges, 9.0, metric=metric, mean_runs=20).fit(X, y)
    assert found.best_index_ == 0
    assert found.score(X, y) > 0.5


@pytest.mark.full
@pytest.mark.parametrize("metric", ["auc", "log_loss", "brier"])
def test_measures_of_probabilities(metric):
    X, y = records()
    given = [DPLogisticRegression(classes=CLASSES, lam=lam) for lam in ("auto", 100.0)]
    found = search(given, 9.0, metric=metric, mean_runs=20).fit(X, y)
    assert found.metric_ == metric
    assert found.best_index_ == 0 or metric == "auc"
    if metric == "log_loss":
        assert search(given, metric=metric, bound=2.0).fit(X, y).best_score_ < 2.0


@pytest.mark.full
def test_grids():
    X, y = records()
    one = DPLogisticRegression(classes=CLASSES)
    found = search(one, param_grid={"travel": [1e-5, 0.5]}, epsilon=9.0, mean_runs=8).fit(X, y)
    assert found.best_index_ == 1
    assert found.best_estimator_.travel == 0.5
    with pytest.raises(ParameterError, match="param_grid"):
        search(one, param_grid={"travel": 3}).fit(X, y)


@pytest.mark.full
def test_nothing_is_left_of_other_runs(monkeypatch):
    X, y = records()
    texts = []
    real = model_search.prepared
    monkeypatch.setattr(model_search, "prepared", lambda *given: _kept(texts, real(*given)))
    found = search(mean_runs=20, random_state=5)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found.fit(X, y)
    assert not [x for x in heard if "run" in str(x.message)]
    assert len(texts) > 3
    losers = [x for x in texts if x is not found.best_estimator_]
    assert len(losers) == len(texts) - 1
    assert found.random_state == 5
    state = pickle.loads(pickle.dumps(found))
    assert state.random_state is None
    assert set(vars(state)) - set(found.get_params(deep=False)) <= {
        "best_estimator_", "best_index_", "best_score_", "metric_", "privacy_",
        "_sklearn_version",
    }  # fmt: skip
    whole = fit_to_text(state.best_estimator_.fit_)
    assert not re.search(rf"(?<![\d.]){len(texts)}(\.0)?(?![\d.])", whole)
    fit = state.best_estimator_.fit_
    assert len(fit.answers) == sum(len(x.at) for x in fit.plan.releases)
    assert "loser" not in whole


def _kept(found, one):
    found.append(one)
    return one


@pytest.mark.full
def test_what_is_refused(monkeypatch):
    X, y = records()
    own = DPLogisticRegression(classes=CLASSES)
    for candidates, words in (
        ([own], "two or more"),
        (own, "two or more"),
        ([own, "svm"], "not str"),
        ([own, DPLogisticRegression(classes=CLASSES, random_state=0)], "random_state=0"),
        ([own, DPLogisticRegression(classes=CLASSES, ledger="x", dataset="y")], "ledger"),
        ([own, DPLogisticRegression(classes=CLASSES, inference=True)], "inference"),
        ([own, DPLogisticRegression(classes=CLASSES, relation="replace-one")], "relation"),
        ([own, DPLogisticRegression()], "classes=None"),
        ([own, DPLogisticRegression(classes=["a", "c"])], "its classes"),
        ([own, DPRidge(y_bounds=(0, 1))], "its classes"),
        ([own, *tables()], "TableModel"),
        ([DPRidge(y_bounds=(0, 1)), DPRidge(y_bounds=(0, 2))], "bounds"),
        ([DPRidge(), DPRidge()], "y_bounds"),
        ([DPPoissonRegressor(y_bounds=(0, 9), exposure_bounds=(1, 2))] * 2, "exposure"),
    ):
        with pytest.raises(ParameterError, match=words):
            search(candidates).fit(X, y)
    for given, words in (
        ({"epsilon": np.inf}, "epsilon"),
        ({"epsilon": 101.0}, "epsilon"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"holdout": 0.0}, "holdout"),
        ({"holdout": 0.95}, "holdout"),
        ({"mean_runs": 1.0}, "mean_runs"),
        ({"mean_runs": 1e6}, "mean_runs"),
        ({"metric": "recall"}, "more than one number"),
        ({"metric": "log_loss"}, "needs probabilities"),
        ({"metric": "mae"}, "metric"),
        ({"bound": -1.0}, "bound"),
        ({"n": 100}, "goes with relation='add-remove'"),
        ({"relation": "add-remove"}, "needs n="),
        ({"relation": "none"}, "relation"),
        ({"ledger": "b.db"}, "together"),
    ):
        with pytest.raises(ParameterError, match=words):
            search(**{"candidates": pair(), **given}).fit(X, y)
    for rows, labels, error, words in (
        (X, None, ParameterError, "y=None"),
        (X, y[:-1], DataError, "inconsistent"),
        (X[:2], y[:2], DataError, "too few"),
    ):
        with pytest.raises(error, match=words):
            search().fit(rows, labels)
    with pytest.raises(NotFittedError):
        search().predict(X)
    svm = search([DPLinearSVC(classes=CLASSES), DPLinearSVC(classes=CLASSES, travel=0.1)])
    svm.fit(X, y)
    assert not hasattr(svm, "predict_proba")
    assert svm.decision_function(X).shape == (N,)
    private = {"column": "age", "bounds": "private"}
    columns = {"sex": SCHEMA["columns"]["sex"]}
    other = {**SCHEMA, "table": {"missing": ["", "p7"]}}
    aged, younger, patients = (
        TableModel({"target": {"column": name, "bounds": [0, high]}, "columns": columns})
        for name, high in (("age", 100), ("age", 90), ("patient", 100))
    )
    for candidates, words in (
        ([TableModel({"target": private, "columns": columns})] * 2, "private bounds"),
        ([TableModel(SCHEMA), TableModel(other)], r"under .table."),
        ([TableModel(SCHEMA), tables("patient")[0]], "the schema's person"),
        ([aged, younger], "bounds of its target"),
        ([aged, patients], "its target"),
    ):
        with pytest.raises(ParameterError, match=words):
            search(candidates).fit(people())
    assert search([aged, aged]).fit(people()).metric_ == "mae"
    with pytest.raises(ParameterError, match="groups cannot be given"):
        search(tables(person="patient")).fit(people(), groups=people()["patient"])
    monkeypatch.setattr(search_plan, "_MOST_TIMES", 0)
    with pytest.raises(CalibrationError, match="no noise"):
        search().fit(X, y)


@pytest.mark.full
def test_a_table_that_changes_meanwhile_is_refused(monkeypatch):
    real, calls = search_plan.open_parsed, []

    def changing(table, *given, **named):
        calls.append(table)
        return real(table.iloc[: -len(calls)], *given, **named)

    monkeypatch.setattr(search_plan, "open_parsed", changing)
    with pytest.raises(DataError, match="changed"):
        search(tables()).fit(people())


def test_a_run_that_would_release_something_else_is_refused(monkeypatch):
    real = model_search.prepared
    monkeypatch.setattr(
        model_search, "prepared", lambda *given: real(*given).set_params(epochs=7)
    )
    with pytest.raises(CardError, match="than was planned"):
        search().fit(*records())


@pytest.mark.full
def test_runs_and_scores_get_more_noise_until_they_reach_both_points(monkeypatch):
    real = search_plan.search_points

    def tight(target, stop):
        points = real(target, stop)
        return {**points, "near_epsilon": 0.8 * points["near_epsilon"]}

    usual = search().fit(*records()).privacy_.search
    monkeypatch.setattr(search_plan, "search_points", tight)
    card = search().fit(*records()).privacy_
    assert card.verify() < 4.9
    assert card.search.far_epsilon < 0.95 * usual.far_epsilon
    assert card.search.score.event.noise_multiplier > usual.score.event.noise_multiplier


def test_scikit_learn_sees_what_it_is():
    assert is_classifier(search())
    assert is_regressor(search([DPRidge(y_bounds=(0, 1))] * 2))
    assert clone(search(epsilon=2.0)).epsilon == 2.0


@pytest.mark.full
def test_forged_cards_are_refused():
    card = search().fit(*records()).privacy_
    values = json.loads(card.to_json())
    assert PrivacyCard.from_json(card.to_json()) == card
    fits, score = values["search"]["fits"], values["search"]["score"]

    def noisier(cost, noise):
        return {**cost, "event": {**cost["event"], "noise_multiplier": noise}}

    other = {**values["plan"]["target"], "epsilon": 4.0}
    changes = {
        "no fits but others": {"fits": [[noisier(fits[0][0], 1e9), *fits[0][1:]]]},
        "a candidate without noise": {"fits": [*fits, [noisier(fits[0][-1], 0.01)]]},
        "another n": {"fits": [*fits, [{**x, "n": 7} for x in fits[0]]]},
        "too many candidates": {"fits": fits * 501},
        "a score with less noise": {"score": noisier(score, 0.3)},
        "a smaller epsilon": {"target": {**values["search"]["target"], "epsilon": 4.0}},
        "a score of a sample": {"score": {**score, "event": {**score["event"], "rate": 0.5}}},
        "a longer score": {"score": {**score, "clip": 2.0}},
        "more runs": {"stop": 0.1},
        "a nearer point": {"near_epsilon": 0.01},
        "a farther point": {"far_delta": 1e-4},
        "a smaller far epsilon": {"far_epsilon": 0.1},
    }
    forged = [{"search": {**values["search"], **change}} for change in changes.values()]
    forged += [{"plan": {**values["plan"], "target": other}}, {"search": None}]
    for change in forged:
        with pytest.raises(CardError):
            PrivacyCard.from_json(json.dumps({**values, **change})).verify()
    del values["search"]
    with pytest.raises(CardError, match="unknown or missing"):
        PrivacyCard.from_json(json.dumps(values))


def test_the_split_is_exact_or_of_coins_and_uses_no_cell():
    assert part_sizes(10, 0.2) == (8, 2)
    found = split_units(SecureSource(), 1000, 0.2, Relation.ZERO_OUT)
    assert found.sum() == 200
    coins = [
        split_units(SeededSource(bytes([i])), 1000, 0.2, Relation.ADD_REMOVE).sum()
        for i in range(200)
    ]
    # 200,000 coins: within five standard deviations, and not all of one size.
    assert abs(np.mean(coins) - 200.0) < 5.0 * np.sqrt(160.0 / 200.0)
    assert len(set(coins)) > 10
    # One unit more leaves the coins of the others as they are.
    more = split_units(SeededSource(b"x"), 1001, 0.2, Relation.ADD_REMOVE)
    less = split_units(SeededSource(b"x"), 1000, 0.2, Relation.ADD_REMOVE)
    assert (more[:1000] == less).all()
    # Every unit is as likely as any other to be kept apart.
    times = sum(
        split_units(SeededSource(bytes([i])), 20, 0.2, Relation.REPLACE_ONE).astype(int)
        for i in range(255)
    )
    assert times.sum() == 255 * 4
    assert (np.abs(times - 51.0) < 5.0 * np.sqrt(51.0 * 0.8)).all()


class _Twice:
    """A source whose first words are all equal."""

    seeded = False

    def __init__(self):
        self.asked = []

    def words(self, purpose, first, steps, width):
        assert purpose is Purpose.SPLIT
        self.asked.append(first)
        if first == 0:
            return np.zeros((steps, width), np.uint64)
        return np.arange(steps * width, dtype=np.uint64)[::-1].reshape(steps, width)


def test_equal_words_are_drawn_again():
    source = _Twice()
    found = split_units(source, 10, 0.2, Relation.ZERO_OUT)
    assert source.asked == [0, 10]
    assert list(np.flatnonzero(found)) == [8, 9]


@pytest.mark.full
def test_runs_are_as_many_as_the_coin_says(monkeypatch):
    """The number of runs is geometric; 5 standard deviations, a false alarm in 1e6."""
    runs, X, y = [], *records()

    def counted(*_given):
        runs[-1] += 1
        return model_search._Run(object(), 0, 0.0, float(runs[-1]))

    monkeypatch.setattr(model_search, "_one_run", counted)
    monkeypatch.setattr(DPModelSearch, "_keep", lambda *_given, **_named: None)
    asked = search(mean_runs=4, random_state=None)
    plan = []
    real = model_search.plan_search
    monkeypatch.setattr(
        model_search,
        "plan_search",
        lambda *given: plan[0] if plan else _kept(plan, real(*given)),
    )
    for _ in range(400):
        runs.append(0)
        asked.fit(X, y)
    counts = np.bincount(runs)
    assert counts[0] == 0
    assert abs(np.mean(runs) - 4.0) < 5.0 * np.sqrt(12.0 / 400.0)
    assert abs(counts[1] / 400.0 - 0.25) < 5.0 * np.sqrt(0.25 * 0.75 / 400.0)


@pytest.mark.full
def test_the_first_of_equal_runs_is_kept_and_scores_are_not_cut(monkeypatch):
    ranks = iter([0.4, 1.3, 1.2, 1.3, -5.0])
    made = []

    def run(*_given):
        made.append(model_search._Run(object(), len(made), 1.0, next(ranks)))
        return made[-1]

    monkeypatch.setattr(model_search, "_one_run", run)
    found = []
    monkeypatch.setattr(
        DPModelSearch, "_keep", lambda _self, best, *_given, **_named: found.append(best)
    )
    coins = iter([1, 1, 1, 1, 0])
    real = SecureSource.words

    def words(self, purpose, first, steps, width):
        if purpose is Purpose.RUNS:
            return np.array([[3, 2**63 * next(coins)]], np.uint64)
        return real(self, purpose, first, steps, width)

    monkeypatch.setattr(SecureSource, "words", words)
    search(mean_runs=2.5, random_state=None).fit(*records())
    assert len(made) == 5
    assert found == [made[1]]


@pytest.mark.parametrize("metric", [*CLASS_METRICS[:4], *NUMBER_METRICS])
def test_ranks_grow_with_what_is_better_and_are_not_cut(metric):
    given = ((0, 1),) if metric in CLASS_METRICS else ((), 0.0, 1.0)
    measure = ScoreFacts(1000, metric, *given).measure(PrivacyTarget(1.0, 1e-5))
    y = np.random.default_rng(0).integers(0, 2, 1000)

    def rank(right, noise=0.0):
        guess = np.where(np.arange(1000) < right, y, 1 - y)
        chance = np.where(guess, 0.9, 0.1)
        if metric in CLASS_METRICS:
            answers = Answers(y, guess, np.stack([1 - chance, chance], 1))
        else:
            answers = Answers(y, guess.astype(float), None)
        totals = measure.vectors(answers).sum(axis=1) + noise
        return measure.rank(measure.sums(totals, 1.0, 1000))

    assert rank(600) < rank(700) < rank(900) < rank(1000)
    if metric != "auc":
        assert rank(1000) < rank(1000, noise=50.0) < rank(1000, noise=60.0)


@pytest.mark.full
def test_no_record_is_in_both_parts_and_none_is_lost(monkeypatch):
    X, y = records()
    seen = {"fit": [], "score": []}
    real_fit, real_score = DPLinearSVC.fit, model_search.held_out

    def fit(self, rows, *given, **named):
        seen["fit"].append(rows)
        return real_fit(self, rows, *given, **named)

    def score(model, rows, *given):
        seen["score"].append(rows)
        return real_score(model, rows, *given)

    monkeypatch.setattr(DPLinearSVC, "fit", fit)
    monkeypatch.setattr(model_search, "held_out", score)
    search([DPLinearSVC(classes=CLASSES)] * 2, mean_runs=4).fit(X, y)
    for train, test in zip(seen["fit"], seen["score"], strict=True):
        assert len(test) == N // 5
        assert (np.sort(np.concatenate([train, test])[:, 0]) == np.sort(X[:, 0])).all()


@pytest.mark.full
def test_a_part_without_records_is_scored_all_the_same():
    X, y = records(n=30)
    # Of 30 coins of chance 0.02 all show the same side in half of the cases.
    for rows in (X, X.tolist(), sparse.csr_matrix(X)):
        for seed in range(3):
            asked = {"relation": "add-remove", "n": 600, "holdout": 0.02, "random_state": seed}
            with pytest.warns(UtilityWarning, match="do not search"):
                search(epsilon=9.0, **asked).fit(rows, y)


@pytest.mark.full
def test_nothing_is_said_of_what_is_compiled(monkeypatch, capsys):
    said = []
    monkeypatch.setattr(
        fitting, "say_compiling", lambda stream, **_: said.append(stream.isatty())
    )
    monkeypatch.setattr(fitting, "compiling_said", _says)
    search().fit(*records())
    assert said
    assert not any(said)
    assert capsys.readouterr().err == ""


@contextmanager
def _says(say):
    say()
    yield


@pytest.mark.full
def test_reports_and_exports_say_how_the_model_was_chosen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Ledger.init("b.db", "people", 6.0, 1e-3)
    asked = {"ledger": "b.db", "dataset": "people", "random_state": None, "delta": 1e-5}
    search(**asked).fit(*records()).save("m.json")
    for words in (
        ["verify", "m.json"],
        ["inspect", "m.json"],
        ["report", "m.json", "--ledger", "b.db", "--out", "r.html"],
        ["export", "model-card", "m.json", "--out", "card.md"],
    ):
        call(*words)
    page = (tmp_path / "r.html").read_text()
    assert "private search" in page
    assert "DPModelSearch (this plan)" in page
    assert "cannot be told from it" in page
    assert "private search" in (tmp_path / "card.md").read_text()


@pytest.mark.full
def test_the_card_stays_with_the_search():
    X, y = records()
    found = search().fit(X, y)
    found.best_estimator_.fit(X, y)
    assert found.privacy_.search is not None
    assert found.privacy_.epsilon == 5.0


def test_where_noise_hides_the_scores_the_search_says_so():
    X, y = records(n=400)
    with pytest.warns(UtilityWarning, match="do not search"):
        search(epsilon=0.5, random_state=0).fit(X, y)
    price = search(epsilon=1.0).price(20_000)
    assert price.epsilon_of_run == pytest.approx(0.77, abs=0.02)
    assert (price.trained, price.scored) == (16_000, 4_000)
    assert price.seen == pytest.approx(0.8)
    assert price.score_noise < 0.01
    assert "do not search" not in str(price)
    assert "do not search" in str(search(epsilon=0.1).price(1_000))
