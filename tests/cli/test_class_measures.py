"""What evaluate says of classes, next to scikit-learn."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_score, recall_score, roc_auc_score

from commands import call
from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge
from dpscd.cli.class_measures import of_classes, print_by_class

N = 3000


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (N, 3))
    return X, np.argmax(X + rng.gumbel(0.0, 0.15, (N, 3)), axis=1)


def evaluated(model, X, y, *words, code=0):
    model.save("m.json")
    np.save("x.npy", X)
    np.save("y.npy", y)
    return call("evaluate", "m.json", "x.npy", "--labels", "y.npy", *words, code=code)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("classes", [2, 3])
def test_numbers_are_those_of_scikit_learn(records, classes):
    X, y = records
    y = np.minimum(y, classes - 1)
    model = DPLogisticRegression(5.0, classes=list(range(classes))).fit(X, y)
    found = json.loads(evaluated(model, X, y, "--json").stdout)
    guess, chances = model.predict(X), model.predict_proba(X)
    own = found["by class"]
    assert [one["recall"] for one in own] == pytest.approx(recall_score(y, guess, average=None))
    assert [one["precision"] for one in own] == pytest.approx(
        precision_score(y, guess, average=None)
    )
    assert [one["mean probability"] for one in own] == pytest.approx(chances.mean(axis=0))
    assert found["confusion"] == confusion_matrix(y, guess).tolist()
    area = roc_auc_score(y, chances[:, 1] if classes == 2 else chances, multi_class="ovr")
    assert found["metrics"]["area under the curve"] == pytest.approx(area)
    assert ("reliability" in found) == (classes == 2)


def test_reliability_counts_every_record_once(records):
    X, y = records
    model = DPLogisticRegression(5.0, classes=[0, 1]).fit(X, y > 0)
    found = json.loads(evaluated(model, X, (y > 0).astype(int), "--json").stdout)
    parts = found["reliability"]
    assert sum(part["records"] for part in parts) == N
    assert all(part["from"] <= part["mean probability"] <= part["to"] for part in parts)
    shares = sum(part["records"] * part["share"] for part in parts)
    assert shares == pytest.approx((y > 0).sum())


def test_details_are_printed_if_asked_for(records):
    X, y = records
    model = DPLogisticRegression(5.0, classes=[0, 1]).fit(X, y > 0)
    short = evaluated(model, X, (y > 0).astype(int)).stdout
    assert "By class" in short
    assert "come true?" not in short
    long = evaluated(model, X, (y > 0).astype(int), "--details").stdout
    assert "Do probabilities of 1 come true?" in long
    assert "by what is predicted" in long
    refused = evaluated(model, X, y, "--details", "--private-epsilon", "1", code=1)
    assert "--metric confusion" in refused.stderr


@pytest.mark.full
def test_models_without_probabilities_or_classes(records):
    X, y = records
    svm = DPLinearSVC(5.0, classes=[0, 1, 2]).fit(X, y)
    found = json.loads(evaluated(svm, X, y, "--json").stdout)
    assert "mean probability" not in found["by class"][0]
    assert "reliability" not in found
    assert "By class" in evaluated(svm, X, y, "--details").stdout
    line = DPRidge(5.0, y_bounds=(0, 2)).fit(X, y)
    assert set(json.loads(evaluated(line, X, y, "--json").stdout)) == {
        "private", "model_sha256", "records", "metrics",
    }  # fmt: skip
    assert "By class" not in evaluated(line, X, y).stdout


def test_a_class_that_is_not_there_has_no_recall(capsys):
    found = of_classes(["a", "b", "c"], np.array([0, 0, 1]), np.array([0, 1, 1]), None)
    assert found["by class"][2] == {
        "class": "c", "records": 0, "predicted": 0, "recall": None, "precision": None,
    }  # fmt: skip
    print_by_class(found, details=False)
    assert "-" in capsys.readouterr().out


def test_the_report_shows_recall_and_precision(records):
    X, y = records
    model = DPLogisticRegression(5.0, classes=[0, 1, 2]).fit(X, y)
    Path("e.json").write_text(evaluated(model, X, y, "--json").stdout)
    call("report", "m.json", "--out", "p.html", "--evaluation", "e.json")
    assert "recall of 2" in Path("p.html").read_text()
