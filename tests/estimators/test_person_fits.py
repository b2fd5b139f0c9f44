"""Persons as unit of privacy, through the front door: ``fit(X, y, groups=...)``."""

import pickle
import warnings

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
    private_score,
)
from dpscd.errors import LedgerError
from dpscd.estimators.sources import Given
from dpscd.kernels.persons import MOST_ROWS

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
    assert own.privacy_.public["n"] == alone.privacy_.public["n"] == N
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


@pytest.mark.full
def test_it_learns_and_more_rows_help():
    X, line, person = people(20, n=4000)
    model = fitted("ridge", X, line, person)
    assert model.score(X, line) > 0.95


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
    assert given.privacy_.public["n"] == frame["patient"][~gone].nunique()
    empty = frame.assign(patient=frame["patient"].mask(gone, None))
    for other in (frame.assign(patient=patient), empty, frame[~gone]):
        named = TableModel(SCHEMA, estimator).fit(other)
        assert same(given.estimator_, named.estimator_)
    score = private_score(given, frame, groups=patient, epsilon=1.0)
    assert score.card.public["n"] == given.privacy_.public["n"]


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
    assert few.privacy_.public["max_rows"] == 4
    assert few.privacy_.verify() <= 1.0
    assert not same(few, fitted("ridge", X, line, person))


def test_all_rows_of_one_person_make_a_model_of_noise():
    X, line, person = people(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted("ridge", X, line, np.zeros(len(person)))
    assert model.privacy_.public["n"] == 1
    assert model.privacy_.verify() <= 1.0
    assert np.isfinite(model.predict(X)).all()


BAD = {
    "short": (lambda person: person[:-1], "inconsistent numbers of samples"),
    "two columns": (lambda person: np.stack([person, person], axis=1), "one"),
    "unhashable": (lambda person: [[int(i), 1] for i in person], "hash"),
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


@pytest.mark.parametrize(
    "changes",
    [{"max_rows": 0}, {"max_rows": 1.5}, {"max_rows": MOST_ROWS + 1}, {"person_weight": "all"}],
)
def test_bad_parameters_are_named(changes):
    X, line, person = people(2)
    (name,) = changes
    with pytest.raises(ParameterError, match=name):
        fitted("ridge", X, line, person, **changes)


@pytest.mark.full
def test_a_splitter_that_alone_has_groups_warns():
    X, line, person = people(2)
    model = DPRidge(y_bounds=(-3, 3), random_state=0)
    with pytest.warns(PrivacyWarning, match="not given to fit"):
        cross_val_score(model, X, line, groups=person, cv=GroupKFold(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        cross_val_score(model, X, line, cv=KFold(2))


@pytest.mark.full
def test_groups_reach_fit_by_metadata_routing():
    X, line, person = people(4)
    with sklearn.config_context(enable_metadata_routing=True):
        model = DPRidge(y_bounds=(-3, 3), random_state=0).set_fit_request(groups=True)
        search = GridSearchCV(model, {"lam": [1e-3, "auto"]}, cv=GroupKFold(2))
        with warnings.catch_warnings():
            warnings.simplefilter("error", PrivacyWarning)
            search.fit(X, line, groups=person)
    assert search.best_estimator_.privacy_.public["n"] == N
    assert "person" in search.best_estimator_.privacy_.unit


@pytest.mark.full
def test_a_budget_has_one_unit(tmp_path):
    X, line, person = people(2)
    path = str(tmp_path / "budget.db")
    ledger = Ledger.init(path, "people", epsilon=3.0, delta=1e-4, groups=True)
    Ledger.init(path, "rows", epsilon=3.0, delta=1e-4)
    ours = {"ledger": path, "random_state": SecretSeed(2**100 + 1)}
    model = DPRidge(y_bounds=(-3, 3), dataset="people", **ours).fit(X, line, groups=person)
    assert ledger.history("people")[0].releases[-1]["n"] == N == model.privacy_.public["n"]
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
    assert model.privacy_.public["n"] == N
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
    from dpscd.privacy.sums import capacity_of
    from dpscd.problem import Problem
    from dpscd.records.labels import NumberLabels
    from dpscd.releases.labels import LabelQuery
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
