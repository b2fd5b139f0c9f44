"""Noisy scores of test records that belong to persons."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpscd import DPLogisticRegression, Ledger, TableModel
from dpscd.cli.app import app

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


def evaluate(*words):
    return CliRunner().invoke(app, ["evaluate", "model.json", "test.csv", *map(str, words)])


def test_a_score_is_a_mean_over_persons_and_charged_as_such(folder):
    ledger = Ledger.init("b.db", "test", 5.0, 1e-3, person="patient")
    Ledger.init("b.db", "rows", 5.0, 1e-3)
    charged = ("--private-epsilon", 2, "--ledger", "b.db", "--dataset")
    found = evaluate(*charged, "test", "--json")
    assert found.exit_code == 0, found.output
    values = json.loads(found.stdout)
    assert values["persons"] == 300
    assert "'patient'" in values["unit"]
    assert values["value"] > 0.7
    assert ledger.show("test").spent_epsilon > 0.0
    refused = evaluate(*charged, "rows")
    assert refused.exit_code == 1
    assert "record" in refused.output
    assert "300 persons" in evaluate("--private-epsilon", 2).output
    assert (folder / "b.db").exists()


def test_without_a_column_of_persons_it_would_be_another_guarantee(folder):
    plain = {name: part for name, part in SCHEMA.items() if name != "table"}
    table = visits()
    model = TableModel(plain, DPLogisticRegression(random_state=0))
    model.fit(table, groups=table["patient"]).save(folder / "model.json")
    found = evaluate("--private-epsilon", 2)
    assert found.exit_code == 1
    assert "protect single records" in found.output
