"""Noisy scores of test records that belong to persons."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import call
from dpscd import DPLogisticRegression, DPRidge, Ledger, TableModel, load

SCHEMA = {
    "table": {"person": "patient"},
    "target": {"column": "ill", "classes": ["no", "yes"]},
    "columns": {"age": {"kind": "number", "bounds": [0, 100]}},
}


def visits(persons=300):
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 9, persons)
    age = rng.integers(0, 100, persons).repeat(rows)
    ill = np.where(age > 60, "yes", "no")
    return pd.DataFrame({"patient": np.arange(persons).repeat(rows), "age": age, "ill": ill})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits().to_csv("test.csv", index=False)
    estimator = DPLogisticRegression(epsilon=5.0, random_state=0)
    TableModel(SCHEMA, estimator).fit(visits()).save("model.json")
    return tmp_path


def evaluate(*words, **more):
    return call("evaluate", "model.json", "test.csv", *words, **more)


@pytest.mark.full
def test_a_score_is_a_mean_over_persons_and_charged_as_such(folder):
    ledger = Ledger.init("b.db", "test", 5.0, 1e-3, person="patient")
    Ledger.init("b.db", "rows", 5.0, 1e-3)
    charged = ("--private-epsilon", 2, "--ledger", "b.db", "--dataset")
    values = json.loads(evaluate(*charged, "test", "--json").stdout)
    assert values["persons"] == 300
    assert "'patient'" in values["unit"]
    assert values["value"] > 0.7
    assert ledger.show("test").spent_epsilon > 0.0
    assert "record" in evaluate(*charged, "rows", code=1).output
    assert "300 persons" in evaluate("--private-epsilon", 2).output
    assert (folder / "b.db").exists()


@pytest.mark.usefixtures("folder")
def test_measures_are_over_rows_and_over_persons():
    test = visits()
    test.loc[test["age"] % 7 == 0, "patient"] = None  # nobody's: in no measure of persons
    test.to_csv("test.csv", index=False)
    values = json.loads(evaluate("--json").stdout)
    own = values["by person"]
    model = load("model.json")
    right = pd.Series(model.predict(test) == test["ill"])
    known = test["patient"].notna()
    assert values["metrics"]["accuracy"] == pytest.approx(right.mean())
    assert own["metrics"]["accuracy"] == pytest.approx(
        right[known].groupby(test["patient"][known]).mean().mean()
    )
    assert own["persons"] == test["patient"].nunique()
    chance = pd.Series(model.predict_proba(test)[:, 1])
    for name, column in (("share of yes", test["ill"] == "yes"),
                         ("mean probability of yes", chance)):  # fmt: skip
        of_persons = column[known].groupby(test["patient"][known]).mean().mean()
        assert own["metrics"][name] == pytest.approx(of_persons)
        assert values["metrics"][name] == pytest.approx(column.mean())
    words = evaluate().output
    assert "persons: everybody does" in words
    assert f"records of {own['persons']} persons" in words
    test.assign(patient=None).to_csv("test.csv", index=False)
    assert "by person" not in json.loads(evaluate("--json").stdout)
    test.drop(columns="patient").to_csv("test.csv", index=False)
    assert "by person" not in json.loads(evaluate("--json").stdout)


@pytest.mark.usefixtures("folder")
def test_measures_of_a_regression_are_over_persons_too():
    schema = {**SCHEMA, "target": {"column": "cost", "bounds": [0, 100]}}
    table = visits().assign(cost=lambda t: t["age"] / 2.0)
    TableModel(schema, DPRidge(5.0, random_state=0)).fit(table).save("model.json")
    table.to_csv("test.csv", index=False)
    values = json.loads(evaluate("--json").stdout)
    own = values["by person"]
    means = table.groupby("patient")["cost"].mean()
    assert own["metrics"]["mean target"] == pytest.approx(means.mean())
    assert values["metrics"]["mean target"] == pytest.approx(table["cost"].mean())
    assert own["metrics"]["R2"] > 0.5


@pytest.mark.full
@pytest.mark.usefixtures("folder")
def test_a_fit_says_what_its_probabilities_answer():
    Path("s.toml").write_text(
        '[table]\nperson = "patient"\n[target]\ncolumn = "ill"\nclasses = ["no", "yes"]\n'
        '[columns.age]\nkind = "number"\nbounds = [0, 100]\n'
    )
    visits(3000).to_csv("many.csv", index=False)
    for weight, words in (("sum", "over rows; with"), ("share", "over persons; with")):
        options = ("--epsilon", 5, "--person-weight", weight, "--out", "m.json")
        found = call("fit", "many.csv", "--schema", "s.toml", *options)
        assert f"Probabilities are right on average {words}" in found.output
