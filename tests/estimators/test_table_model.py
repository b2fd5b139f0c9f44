"""Models of tables: training, files, ledger, and what nobody may see."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from aged_tables import COLUMNS, NUMBER, SCHEMA, N, aged
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score

import dpscd
from dpscd import (
    BudgetExceeded,
    DataError,
    DataTypeError,
    DPLinearSVC,
    DPLogisticRegression,
    DPModelSearch,
    DPRidge,
    Ledger,
    ParameterError,
    PrivacyCard,
    PrivacyWarning,
    TableModel,
    UtilityWarning,
)
from dpscd.preprocessing.schema import Schema
from dpscd.records.encoding import parse


@pytest.fixture(scope="module")
def table():
    return aged([f"secret-{k}" for k in range(N)])


def logistic(**more):
    return DPLogisticRegression(**{"epsilon": 2.0, "random_state": 0, **more})


@pytest.fixture(scope="module")
def model(table):
    return TableModel(SCHEMA, logistic()).fit(table)


def test_classes_keep_their_names_and_order(model, table):
    assert model.estimator_.classes_.tolist() == ["yes", "no"]
    assert set(model.predict(table)) == {"yes", "no"}
    assert (model.predict(table) == table["ill"]).mean() > 0.95
    chances = model.predict_proba(table)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(table))
    card = model.privacy_
    assert card.facts.classes == ("yes", "no")
    assert card.facts.target == "ill"
    assert card.verify() <= 2.0
    names = model.estimator_.feature_names_in_.tolist()
    assert names[0] == "age 0 to 10"
    assert names[-1] == "sex=(other)"


def test_numbers_are_learned(table):
    model = TableModel(NUMBER, DPRidge(epsilon=2.0, random_state=0)).fit(table)
    assert np.abs(model.predict(table) - table["cost"]).mean() < 12
    assert model.privacy_.shown()["y_bounds"] == [0.0, 200.0]
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "decision_function")


def test_default_estimators_follow_the_target(table):
    small = table.head(500)
    assert isinstance(TableModel(SCHEMA).fit(small).estimator_, DPLogisticRegression)
    assert isinstance(TableModel(NUMBER).fit(small).estimator_, DPRidge)
    svm = TableModel(SCHEMA, DPLinearSVC(random_state=0)).fit(small)
    with pytest.raises(AttributeError) as refused:
        svm.predict_proba(small)
    assert "'DPLinearSVC' object has no attribute" in str(refused.value.__cause__)


def test_estimators_that_do_not_fit_are_refused(table):
    for schema, estimator, says in (
        (SCHEMA, DPRidge(), "DPRidge does not go with target 'ill'"),
        (NUMBER, DPLinearSVC(), "does not go with target 'cost'"),
        (SCHEMA, object(), "estimator must be"),
        (SCHEMA, DPLogisticRegression(epsilon=-1), "epsilon"),
    ):
        with pytest.raises(ParameterError, match=says):
            TableModel(schema, estimator).fit(table)
    with pytest.raises(DataError, match="different numbers of records"):
        TableModel(SCHEMA).fit(table, table["ill"].head(3))
    with pytest.raises(DataTypeError, match="pandas, polars or Arrow"):
        TableModel(SCHEMA).fit(table.to_numpy())
    with pytest.raises(NotFittedError):
        TableModel(SCHEMA).predict(table)


CONTRADICTIONS = [
    (NUMBER, DPRidge(y_bounds=(0, 100)), r"y_bounds=\(0, 100\) contradicts .* \(0.0, 200.0\)"),
    (SCHEMA, DPLogisticRegression(classes=["a", "b"]), r"classes=\['a', 'b'\] contradicts"),
    (SCHEMA, DPLogisticRegression(classes=["yes", "no", "ill"]), "leave classes out"),
    (
        {**NUMBER, "target": {"column": "cost", "bounds": "private"}},
        DPRidge(y_bounds=(0, 200)),
        "bounds = 'private': leave y_bounds out",
    ),
]


@pytest.mark.parametrize(("schema", "estimator", "words"), CONTRADICTIONS)
def test_estimators_that_contradict_the_schema_are_refused(
    table, tmp_path, schema, estimator, words
):
    path = str(tmp_path / "budget.db")
    Ledger.init(path, "it", epsilon=5.0, delta=1e-4)
    charged = clone(estimator).set_params(ledger=path, dataset="it")
    with pytest.raises(ParameterError, match=words):
        TableModel(schema, charged).fit(table)
    assert not Ledger(path).history("it")
    if schema["target"].get("bounds") != "private":
        candidates = [TableModel(schema, clone(estimator)), TableModel(schema)]
        search = DPModelSearch(candidates, ledger=path, dataset="it")
        with pytest.raises(ParameterError, match=words):
            search.fit(table)
        assert not Ledger(path).history("it")


@pytest.mark.full
def test_warnings_point_to_the_line_of_the_user(table):
    with pytest.warns(PrivacyWarning, match="formal sense") as caught:
        TableModel(SCHEMA, logistic(epsilon=20.0)).fit(table)
    assert [own.filename for own in caught] == [__file__]
    candidates = [TableModel(SCHEMA, DPLogisticRegression(lam=lam)) for lam in (0.1, 1.0)]
    with pytest.warns(UtilityWarning) as caught:
        DPModelSearch(candidates, epsilon=0.5).fit(table.head(300))
    assert {own.filename for own in caught} == {__file__}


@pytest.mark.full
def test_what_equals_the_schema_is_no_contradiction(table, tmp_path):
    small = table.head(500)
    logged = {**NUMBER, "target": {"column": "cost", "bounds": [0, 200], "transform": "log1p"}}
    private = {**NUMBER, "target": {"column": "cost", "bounds": "private"}}
    for schema, estimator in (
        (SCHEMA, DPLogisticRegression(classes=np.array(["no", "yes"]))),
        (NUMBER, DPRidge(y_bounds=[0, 200])),
        (logged, DPRidge(y_bounds=(0, 200))),
        (private, DPRidge()),
    ):
        model = TableModel(schema, estimator).fit(small)
        clone(model).fit(small)
        model.save(tmp_path / "model.json")
        again = dpscd.load(tmp_path / "model.json")
        assert again.fit(small).schema_ == model.schema_
        if schema is not private:
            TableModel(schema, model.estimator_).fit(small)


def test_class_weights_are_given_by_name(table):
    unsure = table.assign(ill=np.random.default_rng(1).choice(["yes", "no"], N, p=[0.3, 0.7]))
    weighted = TableModel(SCHEMA, logistic(class_weight={"yes": 20.0})).fit(unsure)
    plain = TableModel(SCHEMA, logistic()).fit(unsure)
    more, less = ((one.predict(unsure) == "yes").mean() for one in (weighted, plain))
    assert more > 0.9
    assert less < 0.1
    assert weighted.privacy_.shown()["class_weight"] == {"yes": 1.0, "no": 0.05}
    assert weighted.estimator_.class_weight == {"yes": 20.0}
    assert weighted.estimator_.link_.caps[1] == 1.0 > weighted.estimator_.link_.caps[0]
    with pytest.raises(ParameterError, match="weight for maybe"):
        TableModel(SCHEMA, logistic(class_weight={"maybe": 2.0})).fit(table)


def test_records_with_unknown_targets_contribute_nothing(table):
    small = table.head(2000)
    other = small.assign(ill=small["ill"].where(small.index % 2 == 0, "unknown"))
    twisted = other.assign(age=small["age"].where(small.index % 2 == 0, 1.0))
    options = {"standardise": False, "random_state": 3}
    one = TableModel(SCHEMA, logistic(**options)).fit(other)
    two = TableModel(SCHEMA, logistic(**options)).fit(twisted)
    np.testing.assert_array_equal(one.estimator_.coef_, two.estimator_.coef_)
    numbers = small.assign(cost=small["cost"].where(small.index % 2 == 0))
    lost = numbers.assign(age=small["age"].where(small.index % 2 == 0, 1.0))
    models = [
        TableModel(NUMBER, DPRidge(standardise=False, random_state=3)).fit(one)
        for one in (numbers, lost)
    ]
    np.testing.assert_array_equal(models[0].estimator_.coef_, models[1].estimator_.coef_)


def test_private_bounds_are_a_release_on_the_card(table):
    columns = {**COLUMNS, "age": {"kind": "number", "bounds": "private", "bins": 10}}
    schema = {"target": {"column": "cost", "bounds": "private"}, "columns": columns}
    model = TableModel(schema, DPRidge(epsilon=3.0, random_state=0)).fit(table)
    assert set(model.bounds_) == {"age", "cost"}
    low, high = model.bounds_["age"]
    assert -1.0 <= low < 15.0
    assert 85.0 < high < 130.0
    card = model.privacy_
    assert card.releases[0].what == "bounds"
    assert card.shown()["released_bounds"] == ["age", "cost"]
    assert "y_bounds" not in card.shown()
    assert card.verify() <= 3.0
    assert np.abs(model.predict(table) - table["cost"]).mean() < 20
    # Without privacy they are the range of the values.
    plain = TableModel(schema, DPRidge(epsilon=math.inf)).fit(table)
    assert plain.bounds_["age"] == (table["age"].min(), table["age"].max())
    nothing = table.assign(age=np.nan, cost=5.0)
    none = TableModel(schema, DPRidge(epsilon=math.inf)).fit(nothing)
    assert none.bounds_ == {"age": (0.0, 1.0), "cost": (5.0, 6.0)}


def test_scores_leave_out_records_without_a_target(model, table, tmp_path):
    known = table.iloc[:200]
    right = (model.predict(known) == known["ill"]).mean()
    assert model.score(known) == pytest.approx(right)
    strange = known.iloc[:5].assign(ill="perhaps")
    assert model.score(pd.concat([known, strange])) == pytest.approx(right)
    assert model.score(known.drop(columns="ill"), known["ill"]) == pytest.approx(right)
    costs = TableModel(NUMBER, DPRidge(5.0, random_state=0)).fit(table)
    odd = known.iloc[:1].assign(cost=math.nan)
    found = costs.score(pd.concat([known, odd]))
    assert found == pytest.approx(r2_score(known["cost"], costs.predict(known)))
    known.to_csv(tmp_path / "t.csv", index=False)
    assert costs.score(tmp_path / "t.csv") == pytest.approx(found)


def test_a_fit_is_charged_before_bounds_are_released(table, tmp_path, monkeypatch):
    ledger = tmp_path / "budget.db"
    Ledger.init(ledger, "people", 1.0, 1e-4)
    columns = {**COLUMNS, "age": {"kind": "number", "bounds": "private"}}
    schema = {"target": SCHEMA["target"], "columns": columns}
    budget = {"ledger": str(ledger), "dataset": "people"}
    estimator = logistic(epsilon=0.6, delta=1e-6, random_state=None, **budget)
    TableModel(schema, estimator).fit(table)
    monkeypatch.setattr(
        "dpscd.records.opening.TableRecords", lambda *_: pytest.fail("data were used")
    )
    with pytest.raises(BudgetExceeded):
        TableModel(schema, estimator).fit(table)
    assert Ledger(ledger).show("people").reserved == 1


def test_files_hold_the_schema_and_nothing_of_the_records(model, table, tmp_path):
    file = tmp_path / "model.json"
    model.save(file)
    again = dpscd.load(file)
    assert again.schema_ == model.schema_
    assert "secret-" not in file.read_text()
    refitted = again.set_params(estimator=again.estimator.set_params(random_state=0)).fit(table)
    np.testing.assert_array_equal(refitted.estimator_.coef_, model.estimator_.coef_)


def test_columns_read_from_data_are_on_the_card(table):
    columns = {**COLUMNS, "age": {**COLUMNS["age"], "read_from_data": True}}
    model = TableModel({**SCHEMA, "columns": columns}, logistic()).fit(table.head(500))
    assert model.privacy_.shown()["read_from_data"] == ["age"]
    assert "NOT COVERED: what the schema says of 'age' was read off" in str(model.privacy_)
    assert PrivacyCard.from_json(model.privacy_.to_json()) == model.privacy_


def test_parsed_records_and_pickles_give_the_same_model(model, table):
    parsed = parse(Schema.from_dict(SCHEMA), table)
    again = TableModel(SCHEMA, logistic()).fit(parsed)
    np.testing.assert_array_equal(again.estimator_.coef_, model.estimator_.coef_)
    np.testing.assert_array_equal(again.predict(parsed), model.predict(table))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(table), model.predict(table))
    assert "secret-" not in repr(pickle.dumps(model))
    assert copy.estimator.random_state is None
    assert copy.estimator_.random_state is None
    assert model.estimator.random_state == 0
    unfitted = pickle.loads(pickle.dumps(TableModel(SCHEMA, logistic())))
    assert unfitted.estimator.random_state == 0


@pytest.mark.full
def test_sparse_features_work_end_to_end(table):
    columns = {"place": {"kind": "category", "values": [str(k) for k in range(60)]}}
    schema = {"target": SCHEMA["target"], "columns": columns}
    places = table.assign(place=(table["age"] * 0.6).astype(int).astype(str))
    model = TableModel(schema, logistic(epsilon=8.0)).fit(places)
    assert hasattr(model.transform(places), "indptr")
    assert (model.predict(places) == places["ill"]).mean() > 0.9
