"""Persons as unit of privacy, through the front door: ``fit(X, y, groups=...)``."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score

from dpscd import (
    DataError,
    DPHuberRegressor,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    Ledger,
    ParameterError,
    PrivacyCard,
    PrivacyWarning,
    SecretSeed,
    TableModel,
    load,
    private_score,
)
from dpscd.errors import LedgerError
from dpscd.records.opening import Given
from dpscd.releases.rescaling import SLOPES

N, D = 400, 4


def people(rows=3, seed=0, n=N):
    """Return records of `n` persons with so many rows each, mixed up."""
    rng = np.random.default_rng(seed)
    person = rng.permutation(np.repeat(np.arange(n), rows))
    X = (rng.normal(size=(n, D))[person] + rng.normal(size=(len(person), D))) / 6.0
    line = X @ np.array([1.0, -2.0, 0.5, 0.0])
    return X, line, person


ESTIMATORS = {
    "ridge": (DPRidge(y_bounds=(-3, 3)), lambda line: line),
    "huber": (DPHuberRegressor(y_bounds=(-3, 3)), lambda line: line),
    "poisson": (DPPoissonRegressor(y_bounds=(0, 20)), lambda line: np.floor(np.exp(line + 1))),
    "logistic": (DPLogisticRegression(classes=[0, 1]), lambda line: (line > 0) * 1),
    "svm": (DPLinearSVC(classes=[0, 1]), lambda line: (line > 0) * 1),
    "classes": (
        DPLogisticRegression(classes=[0, 1, 2]), lambda line: np.digitize(line, [-0.2, 0.2])
    ),
}  # fmt: skip


def fitted(name, X, line, groups, **changes):
    estimator, labels = ESTIMATORS[name]
    given = {} if groups is None else {"groups": groups}
    weight = changes.pop("sample_weight", None)
    model = sklearn.clone(estimator).set_params(random_state=1, **changes)
    return model.fit(X, labels(line), sample_weight=weight, **given)


def same(one, other):
    return np.array_equal(one.coef_, other.coef_) and np.array_equal(
        one.intercept_, other.intercept_
    )


@pytest.mark.full
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_row_per_person_is_no_groups_to_the_last_bit(name, as_sparse):
    X, line, _ = people(rows=1)
    X = sparse.csr_array(X) if as_sparse else X
    alone = fitted(name, X, line, None)
    # With "sum" the level of counts has a part for further rows, whose noise is another.
    share = {"person_weight": "share"} if name == "poisson" else {}
    own = fitted(name, X, line, [f"person {i}" for i in range(N)], **share)
    assert same(alone, own)
    assert own.privacy_.unit == (
        "a person: all records with the same value of the groups given to fit"
    )
    assert own.privacy_.facts.n == alone.privacy_.facts.n == N
    assert own.privacy_.verify() == alone.privacy_.verify()


@pytest.mark.full
@pytest.mark.parametrize("name", ["ridge", "classes"])
def test_persons_are_counted_not_rows(name):
    cards = []
    for rows in (2, 9):
        X, line, person = people(rows)
        model = fitted(name, X, line, person)
        assert PrivacyCard.from_json(model.privacy_.to_json()).verify() <= 1.0
        cards.append(model.privacy_.to_json())
    assert cards[0] == cards[1]  # nothing on it follows the number of rows
    assert f'"n": {N}' in cards[0]


@pytest.mark.parametrize("weight", ["sum", "share"])
def test_without_privacy_weights_mean_what_they_say(weight):
    X, line, person = people(3)
    keep = np.ones(len(person), dtype=bool)
    keep[np.flatnonzero(person < 200)[::2]] = False  # persons with 1, 2 or 3 rows
    X, line, person = X[keep], line[keep] + 0.2 * np.sin(person[keep]), person[keep]
    model = fitted(
        "ridge", X, line, person, epsilon=float("inf"), lam=1e-2, fit_intercept=False,
        person_weight=weight,
    )  # fmt: skip
    count = np.bincount(person)[person]
    own = np.ones(len(person)) if weight == "sum" else 1.0 / count
    reference = Ridge(alpha=1e-2 * len(np.unique(person)), fit_intercept=False)
    expected = reference.fit(X, line, sample_weight=own).coef_
    np.testing.assert_allclose(model.coef_, expected, rtol=2e-3, atol=2e-4)


@pytest.mark.full
@pytest.mark.parametrize("absent", [None, np.nan, "", pd.NA, "nan", "NaN", "NA", " None "])
def test_rows_of_nobody_contribute_nothing(absent):
    X, line, person = people(2)
    groups = person.astype(object)
    nobody = np.arange(len(person)) % 7 == 0
    groups[nobody] = absent
    found = fitted("ridge", X, line, groups)
    assert same(found, fitted("ridge", X[~nobody], line[~nobody], person[~nobody]))


def test_rows_without_an_identifier_and_gaps_that_became_texts_are_nobody():
    frame, plain = table(), {**SCHEMA, "table": {}}
    gone = np.arange(len(frame)) % 5 == 0
    patient = np.array(list(map(str, frame["patient"].mask(gone))))
    assert (patient[gone] == "nan").all()
    estimator = DPLogisticRegression(random_state=1)
    given = TableModel(plain, estimator).fit(frame, groups=patient)
    assert given.privacy_.facts.n == frame["patient"][~gone].nunique()
    empty = frame.assign(patient=frame["patient"].mask(gone, None))
    for other in (frame.assign(patient=patient), empty, frame[~gone]):
        named = TableModel(SCHEMA, estimator).fit(other)
        assert same(given.estimator_, named.estimator_)
    score = private_score(given, frame, groups=patient, epsilon=1.0)
    assert score.card.facts.n == given.privacy_.facts.n


def test_identifiers_stay_out_of_the_model(tmp_path):
    X, line, person = people(2)
    secret = [f"patient-{i:06d}-Smith" for i in person]
    model = fitted("logistic", X, line, secret)
    model.save(tmp_path / "model.json")
    texts = [pickle.dumps(model), (tmp_path / "model.json").read_bytes()]
    texts += [repr(vars(model)).encode(), str(model.privacy_).encode()]
    for text in texts:
        assert b"Smith" not in text
        assert b"patient" not in text


@pytest.mark.full
def test_given_weights_compare_rows_of_one_person():
    X, line, person = people(2)
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.5, 2.0, len(person))
    one = fitted("ridge", X, line, person, sample_weight=weights)
    scaled = weights * np.array([1.0, 4.0])[person % 2]  # persons against each other
    assert same(one, fitted("ridge", X, line, person, sample_weight=scaled))
    assert not same(one, fitted("ridge", X, line, person, sample_weight=weights[::-1]))


@pytest.mark.full
def test_a_person_with_many_rows_takes_turns():
    X, line, person = people(2)
    person = np.where(np.arange(len(person)) % 3 == 0, 7, person)  # far more than a lot
    few = fitted("ridge", X, line, person, max_rows=4)
    assert few.privacy_.facts.persons.most == 4
    assert few.privacy_.verify() <= 1.0
    assert not same(few, fitted("ridge", X, line, person))


def test_all_rows_of_one_person_make_a_model_of_noise():
    X, line, person = people(2)
    model = fitted("ridge", X, line, np.zeros(len(person)))
    assert model.privacy_.facts.n == 1
    assert model.privacy_.verify() <= 1.0
    assert np.isfinite(model.predict(X)).all()


BAD = {
    "short": (lambda person: person[:-1], "inconsistent numbers of samples"),
    "two columns": (lambda person: np.stack([person, person], axis=1), "one"),
    "lists": (lambda person: [[int(i), 1] for i in person], "neither a text nor a whole"),
    "rounded": (lambda person: person + 2.0**60, "floating-point|rounded|whole numbers"),
    "a number": (len, "one"),
    "nobody": (lambda person: [None] * len(person), "no records"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_groups_are_refused_in_words(case):
    X, line, person = people(2)
    given, words = BAD[case]
    with pytest.raises(DataError, match=words) as caught:
        fitted("ridge", X, line, given(person))
    assert caught.value.__cause__ is None
    assert str(len(person)) not in str(caught.value)


@pytest.mark.full
def test_a_splitter_that_alone_has_groups_warns():
    X, line, person = people(2)
    model = DPRidge(y_bounds=(-3, 3), random_state=0)
    with pytest.warns(PrivacyWarning, match="not given to fit"):
        cross_val_score(model, X, line, groups=person, cv=GroupKFold(2))
    cross_val_score(model, X, line, cv=KFold(2))


@pytest.mark.full
def test_groups_reach_fit_by_metadata_routing():
    X, line, person = people(4)
    with sklearn.config_context(enable_metadata_routing=True):
        model = DPRidge(y_bounds=(-3, 3), random_state=0).set_fit_request(groups=True)
        search = GridSearchCV(model, {"lam": [1e-3, "auto"]}, cv=GroupKFold(2))
        search.fit(X, line, groups=person)
    assert search.best_estimator_.privacy_.facts.n == N
    assert "person" in search.best_estimator_.privacy_.unit


@pytest.mark.full
def test_a_budget_has_one_unit(tmp_path):
    X, line, person = people(2)
    path = str(tmp_path / "budget.db")
    ledger = Ledger.init(path, "people", epsilon=3.0, delta=1e-4, groups=True)
    Ledger.init(path, "rows", epsilon=3.0, delta=1e-4)
    ours = {"ledger": path, "random_state": SecretSeed(2**100 + 1)}
    model = DPRidge(y_bounds=(-3, 3), dataset="people", **ours).fit(X, line, groups=person)
    assert ledger.history("people")[0].releases[-1]["n"] == N == model.privacy_.facts.n
    with pytest.raises(LedgerError, match="person"):
        DPRidge(y_bounds=(-3, 3), dataset="people", **ours).fit(X, line)
    with pytest.raises(LedgerError, match="record"):
        DPRidge(y_bounds=(-3, 3), dataset="rows", **ours).fit(X, line, groups=person)
    assert len(ledger.history("people")) == 1
    assert not ledger.history("rows")


def table(rows=3, n=N):
    X, line, person = people(rows, n=n)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["ill"] = np.where(line > 0, "yes", "no")
    frame["patient"] = [f"P{i}" for i in person]
    return frame


SCHEMA = {
    "table": {"person": "patient"},
    "target": {"column": "ill", "classes": ["no", "yes"]},
    "columns": {name: {"kind": "number", "bounds": [-1, 1]} for name in "abcd"},
}


def test_a_schema_names_the_column_of_persons(tmp_path):
    frame = table()
    estimator = DPLogisticRegression(random_state=1)
    model = TableModel(SCHEMA, estimator).fit(frame)
    assert model.privacy_.unit == "a person: all records with the same value of 'patient'"
    assert model.privacy_.facts.n == N
    for name in ("t.csv", "t.parquet"):
        path = tmp_path / name
        frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
        assert same(TableModel(SCHEMA, estimator).fit(path).estimator_, model.estimator_)
    plain = {**SCHEMA, "table": {}}
    given = TableModel(plain, estimator).fit(frame, groups=frame["patient"])
    assert same(given.estimator_, model.estimator_)
    assert "groups given to fit" in given.privacy_.unit
    # Predictions and scores need no identifiers.
    assert model.score(frame.drop(columns="patient")) == model.score(frame)
    with pytest.raises(ParameterError, match="patient"):
        TableModel(SCHEMA, estimator).fit(frame, groups=frame["patient"])
    with pytest.raises(DataError, match="inconsistent"):
        TableModel(plain, estimator).fit(frame, groups=frame["patient"][:-1])


@pytest.mark.full
def test_private_bounds_of_persons():
    frame = table(5, n=4000)
    frame["a"] *= 37.0
    schema = {**SCHEMA, "columns": {**SCHEMA["columns"]}}
    schema["columns"]["a"] = {"kind": "number", "bounds": "private"}
    model = TableModel(schema, DPLogisticRegression(epsilon=3.0, random_state=1)).fit(frame)
    low, high = model.bounds_["a"]
    assert -120.0 < low < -10.0 < 10.0 < high < 120.0
    assert model.privacy_.verify() <= 3.0


def test_capacity_is_of_persons():
    """As many rows as there are for one person: no refusal follows their number."""
    from dpscd.losses import Squared
    from dpscd.persons import PersonRows
    from dpscd.privacy.draws import capacity_of
    from dpscd.problem import Problem
    from dpscd.records.labels import NumberLabels
    from dpscd.releases.moments import LabelQuery
    from dpscd.solvers.local import LocalRecords

    rows = capacity_of(1) + 1
    labels = np.zeros(rows)
    own = PersonRows(np.array([0, rows]), labels, 100)
    store = LocalRecords(
        np.zeros((rows, 1), np.float32), labels, np.ones(rows), NumberLabels(-1.0, 1.0),
        persons=own,
    )  # fmt: skip
    assert store.total(LabelQuery(1, Problem(Squared(), 1.0, 1, 1))) == [0.0]


def test_identifiers_are_not_in_what_a_traceback_would_show():
    given = Given(sample_weight=[0.25], exposure=[7.5], groups=["Ada"])
    assert "Ada" not in repr(given)
    assert "Ada" not in f"{given} {(given,)}"


# --- Chances, whole fits: the release "steepness" --------------------------------------------

MANY, ROWS = 4000, 10


def many():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(MANY), ROWS)
    X = rng.normal(size=(len(person), 5)) / 3.0
    decision = X @ np.array([6.0, -3.0, 0.0, 0.0, 0.0])
    y = (rng.random(len(person)) < 1.0 / (1.0 + np.exp(-decision))).astype(int)
    return X, y, person


def of_chances(**changes):
    X, y, person = many()
    values = {"epsilon": 2.0, "classes": [0, 1], "random_state": 3, "row_bound": 1.5, **changes}
    return DPLogisticRegression(**values).fit(X, y, groups=person)


@pytest.mark.full
def test_it_is_planned_for_persons_and_makes_chances_fit(tmp_path):
    model = of_chances()
    assert [x.what for x in model.privacy_.releases[-2:]] == ["steepness", "calibration"]
    assert model.privacy_.releases[-2].event.steps == 2
    assert model.privacy_.verify() <= 2.0
    assert model.fit_.state.model.slope != 1.0
    X, y, _ = many()
    chance = model.predict_proba(X)[:, 1]
    loss = -np.mean(np.log(np.where(y == 1, chance, 1.0 - chance)))
    decision = model.decision_function(X)
    scales = np.linspace(0.2, 3.0, 57)
    best = min(np.mean(np.logaddexp(0.0, -s * decision * (2 * y - 1))) for s in scales)
    assert loss < best + 0.004
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def mean_errors(model, X, y, person):
    """Return by which part mean probabilities are off, over rows and over persons."""
    chance, rows = model.predict_proba(X)[:, 1], np.bincount(person)
    of_persons = [np.mean(np.bincount(person, x) / rows) for x in (chance, y)]
    return chance.mean() / y.mean() - 1.0, of_persons[0] / of_persons[1] - 1.0


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_mean_probabilities_of_persons_are_right(epsilon):
    X, y, person = many()
    model = of_chances(epsilon=epsilon)
    assert np.abs(mean_errors(model, X, y, person)).max() < 0.02
    alone = DPLogisticRegression(epsilon, classes=[0, 1], random_state=1)
    first = person * ROWS == np.arange(len(person))
    alone.fit(X[first], y[first], groups=person[first])
    assert abs(mean_errors(alone, X[first], y[first], person[first])[0]) < 0.04


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::dpscd.PrivacyWarning")
@pytest.mark.parametrize("epsilon", [1.0, 100.0])
def test_rows_of_people_who_have_one_each_are_records(epsilon):
    """A rare class, whose level is to be as exact as if nobody could have several rows."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-0.5, 0.5, size=(20_000, 5))
    y = (rng.random(len(X)) < 1.0 / (1.0 + np.exp(2.5 - 4.0 * X[:, 0]))).astype(int)
    for seed in range(3):
        model = DPLogisticRegression(epsilon, classes=[0, 1], random_state=seed)
        chance = model.fit(X, y, groups=range(len(X))).predict_proba(X)[:, 1]
        assert chance.mean() == pytest.approx(y.mean(), rel=0.03 if epsilon == 1.0 else 0.01)


def frequent():
    """Return rows of people of whom those with many rows are positive more often."""
    rng = np.random.default_rng(5)
    often = rng.normal(size=5 * MANY)
    rows = 1 + np.minimum(rng.poisson(np.exp(0.8 * often + 0.5)), 30)
    person = np.repeat(np.arange(5 * MANY), rows)
    X = rng.uniform(-0.5, 0.5, size=(len(person), 5))
    decision = 2.0 * X[:, 0] + 1.2 * often[person] - 0.4
    return X, (rng.random(len(person)) < 1.0 / (1.0 + np.exp(-decision))).astype(int), person


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [3.0, math.inf])
def test_probabilities_are_right_per_row_or_per_person_as_asked(epsilon):
    X, y, person = frequent()
    for place, weight in enumerate(("sum", "share")):
        model = DPLogisticRegression(
            epsilon, classes=[0, 1], person_weight=weight, random_state=0
        ).fit(X, y, groups=person)
        both = mean_errors(model, X, y, person)
        assert abs(both[place]) < 0.03
        assert abs(both[1 - place]) > 0.1  # these are two questions


@pytest.mark.full
def test_without_an_intercept_too():
    model = of_chances(fit_intercept=False)
    assert model.privacy_.releases[-1].what == "steepness"
    assert SLOPES[0] <= model.fit_.state.model.slope <= SLOPES[1]


@pytest.mark.parametrize("n", [30, 300])
def test_it_is_left_out_where_it_would_be_noise(n):
    X, y, person = many()
    few = person < n
    model = DPLogisticRegression(classes=[0, 1], random_state=0).fit(
        X[few], y[few], groups=person[few]
    )
    assert "steepness" not in {x.what for x in model.privacy_.releases}
