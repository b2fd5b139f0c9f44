"""What evaluate says: of classes, next to scikit-learn; of persons, by their means."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, precision_score, recall_score, roc_auc_score

from commands import answer, call, refusal
from dpscd import (
    DataError,
    DPLinearSVC,
    DPLogisticRegression,
    DPRidge,
    Ledger,
    ParameterError,
    TableModel,
    evaluate,
    load,
)
from dpscd.cli.evaluate import _print_classes
from dpscd.estimators.evaluation import _mean_auc, class_tables

# --- classes ---------------------------------------------------------------------------------

N = 3000


ARRAYS = ("evaluate", "m.json", "x.npy", "--labels", "y.npy")


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (N, 3))
    return X, np.argmax(X + rng.gumbel(0.0, 0.15, (N, 3)), axis=1)


def trained(estimator, X, y):
    """Return the model, which is written next to its records."""
    np.save("x.npy", X)
    np.save("y.npy", y)
    model = estimator.fit(X, y)
    model.save("m.json")
    return model


@pytest.mark.parametrize("classes", [2, 3])
def test_numbers_are_those_of_scikit_learn(records, classes):
    X, y = records
    y = np.minimum(y, classes - 1)
    model = trained(DPLogisticRegression(5.0, classes=list(range(classes))), X, y)
    found = answer(*ARRAYS)
    guess, chances = model.predict(X), model.predict_proba(X)
    own = found["by class"]
    assert [one["recall"] for one in own] == pytest.approx(recall_score(y, guess, average=None))
    precision = precision_score(y, guess, average=None)
    assert [one["precision"] for one in own] == pytest.approx(precision)
    assert [one["mean probability"] for one in own] == pytest.approx(chances.mean(axis=0))
    assert found["confusion"] == confusion_matrix(y, guess).tolist()
    area = roc_auc_score(y, chances[:, 1] if classes == 2 else chances, multi_class="ovr")
    assert found["metrics"]["area under the curve"] == pytest.approx(area)
    assert ("reliability" in found) == (classes == 2)
    assert (
        json.loads(json.dumps(evaluate(model, X, y).to_dict()))
        | {"model_sha256": found["model_sha256"]}
        == found
    )
    with pytest.raises(DataError, match="none of the labels is one of the model's classes"):
        evaluate(model, X, y + 7)
    with pytest.raises(ParameterError, match="y=None is missing"):
        evaluate(model, X)
    with pytest.raises(DataError, match="inconsistent numbers"):
        evaluate(model, X, y[1:])


def test_reliability_counts_every_record_once_and_details_are_printed_if_asked_for(records):
    X, y = records
    trained(DPLogisticRegression(5.0, classes=[0, 1]), X, (y > 0).astype(int))
    parts = answer(*ARRAYS)["reliability"]
    assert sum(part["records"] for part in parts) == N
    assert all(part["from"] <= part["mean probability"] <= part["to"] for part in parts)
    shares = sum(part["records"] * part["share"] for part in parts)
    assert shares == pytest.approx((y > 0).sum())
    short, long = call(*ARRAYS).stdout, call(*ARRAYS, "--details").stdout
    assert "By class" in short
    assert "come true?" not in short
    assert "Do probabilities of 1 come true?" in long
    assert "by what is predicted" in long
    assert "--metric confusion" in refusal(*ARRAYS, "--details", "--private-epsilon", 1)


@pytest.mark.full
def test_models_without_probabilities_or_classes(records):
    X, y = records
    trained(DPLinearSVC(5.0, classes=[0, 1, 2]), X, y)
    found = answer(*ARRAYS)
    assert "mean probability" not in found["by class"][0]
    assert "reliability" not in found
    assert "By class" in call(*ARRAYS, "--details").stdout
    trained(DPRidge(5.0, y_bounds=(0, 2)), X, y)
    assert set(answer(*ARRAYS)) == {"private", "model_sha256", "records", "metrics"}
    assert "By class" not in call(*ARRAYS).stdout


def test_a_class_that_is_not_there_has_no_recall(capsys):
    found = class_tables(["a", "b", "c"], np.array([0, 0, 1]), np.array([0, 1, 1]), None)
    absent = {"class": "c", "records": 0, "predicted": 0, "recall": None, "precision": None}
    assert found["by class"][2] == absent
    _print_classes(found, details=False)
    assert "-" in capsys.readouterr().out


def test_the_report_shows_recall_and_precision(records):
    X, y = records
    trained(DPLogisticRegression(5.0, classes=[0, 1, 2]), X, y)
    Path("e.json").write_text(call(*ARRAYS, "--json").stdout)
    call("report", "m.json", "--out", "p.html", "--evaluation", "e.json")
    assert "recall of 2" in Path("p.html").read_text()


# --- persons ---------------------------------------------------------------------------------

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
def files(folder):
    visits().to_csv(folder / "test.csv", index=False)
    estimator = DPLogisticRegression(epsilon=5.0, random_state=0)
    TableModel(SCHEMA, estimator).fit(visits()).save("model.json")


TABLE = ("evaluate", "model.json", "test.csv")


@pytest.mark.full
@pytest.mark.usefixtures("files")
def test_a_score_is_a_mean_over_persons_and_charged_as_such():
    ledger = Ledger.init("b.db", "test", 5.0, 1e-3, person="patient")
    Ledger.init("b.db", "rows", 5.0, 1e-3)
    charged = (*TABLE, "--private-epsilon", 2, "--ledger", "b.db", "--dataset")
    values = answer(*charged, "test")
    facts = values["plan"]["facts"]
    assert (facts["n"], facts["person"]) == (300, "patient")
    assert values["numbers"]["value"] > 0.7
    assert ledger.show("test").spent_epsilon > 0.0
    assert "record" in refusal(*charged, "rows")
    assert "300 persons" in call(*TABLE, "--private-epsilon", 2).output


@pytest.mark.usefixtures("files")
def test_measures_are_over_rows_and_over_persons():
    test = visits()
    test.loc[test["age"] % 7 == 0, "patient"] = None  # nobody's: in no measure of persons
    test.to_csv("test.csv", index=False)
    values = answer(*TABLE)
    own = values["by person"]
    model = load("model.json")
    right = pd.Series(model.predict(test) == test["ill"])
    known = test["patient"].notna()
    assert own["persons"] == test["patient"].nunique()
    chance = pd.Series(model.predict_proba(test)[:, 1])
    found = evaluate(model, test)
    assert found.by_person == own
    assert str(found).startswith(f"{len(test):,} records, not private\naccuracy: ")
    inner = model.estimator_
    X = pd.DataFrame(model.transform(test), columns=inner.feature_names_in_)
    groups = test["patient"]
    theirs = evaluate(inner, X, test["ill"], groups=groups).by_person
    assert theirs["persons"] == own["persons"]
    assert theirs["metrics"] == pytest.approx(own["metrics"])
    for name, column in (
        ("accuracy", right),
        ("share of yes", test["ill"] == "yes"),
        ("mean probability of yes", chance),
    ):
        of_persons = column[known].groupby(test["patient"][known]).mean().mean()
        assert own["metrics"][name] == pytest.approx(of_persons)
        assert values["metrics"][name] == pytest.approx(column.mean())
    words = call(*TABLE).output
    assert "persons: everybody does" in words
    assert f"records of {own['persons']} persons" in words
    test.assign(patient=None).to_csv("test.csv", index=False)
    assert "by person" not in answer(*TABLE)
    test.drop(columns="patient").to_csv("test.csv", index=False)
    assert "by person" not in answer(*TABLE)


def test_measures_of_a_regression_are_over_persons_too():
    schema = {**SCHEMA, "target": {"column": "cost", "bounds": [0, 100]}}
    table = visits().assign(cost=lambda t: t["age"] / 2.0)
    TableModel(schema, DPRidge(5.0, random_state=0)).fit(table).save("model.json")
    table.to_csv("test.csv", index=False)
    values = answer(*TABLE)
    own = values["by person"]
    means = table.groupby("patient")["cost"].mean()
    assert own["metrics"]["mean target"] == pytest.approx(means.mean())
    assert values["metrics"]["mean target"] == pytest.approx(table["cost"].mean())
    assert own["metrics"]["R2"] > 0.5


@pytest.mark.full
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


def test_gains_say_how_much_of_a_class_is_found_first():
    chances = np.array([0.9, 0.8, 0.3, 0.3, 0.1])
    codes = np.array([1, 1, 1, 0, 0])
    both = np.column_stack([1.0 - chances, chances])
    found = class_tables(["no", "yes"], codes, codes, both)["gain"]
    at = {round(x["records"], 2): x["found"] for x in found}
    assert len(at) == 20
    # A tie counts as its mean.
    assert at[0.2] == pytest.approx(1 / 3)
    assert at[0.4] == pytest.approx(2 / 3)
    assert at[0.6] == pytest.approx(2.5 / 3)
    assert at[0.8] == at[1.0] == pytest.approx(1.0)
    assert class_tables(["no", "yes"], 0 * codes, codes, both)["gain"] == []


def test_without_a_probability_there_is_no_area():
    codes, missing = np.array([0, 1, 1]), np.array([[0.5, 0.5], [0.2, 0.8], [np.nan, np.nan]])
    assert np.isnan(_mean_auc(codes, missing))
    assert _mean_auc(codes[:2], missing[:2]) == 1.0
