"""What is said of a class is about that class, in whatever order a schema lists classes."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import call
from dpscd import (
    DPLinearSVC,
    DPLogisticRegression,
    DPModelSearch,
    TableModel,
    load,
    private_score,
    to_sklearn,
)
from dpscd.documents.described import Described
from dpscd.documents.write import page

N = 600
#: Of each class a level that nearly only its records have; the others are drawn.
NAMES = ["mm", "zz", "aa", "kk", "bb", "yy"]
ORDERS = st.integers(2, len(NAMES)).flatmap(lambda count: st.permutations(NAMES[:count]))
KINDS = {"logistic": DPLogisticRegression, "svm": DPLinearSVC}


def level_of(name):
    return f"level of {name}"


def table_of(classes):
    rng = np.random.default_rng(0)
    target = rng.choice(sorted(classes), N)
    kept = rng.uniform(size=N) < 0.93
    level = np.where(kept, target, rng.choice(sorted(classes), N))
    return pd.DataFrame(
        {
            "level": [level_of(name) for name in level],
            "other": np.where(target == "mm", "on", rng.choice(["on", "off"], N)),
            "number": np.where(target == "zz", 1.0, rng.uniform(0, 1, N)),
            "target": target,
        }
    )


def fitted(kind, classes, epsilon=math.inf):
    columns = {
        "number": {"kind": "number", "bounds": [0, 1], "shape": "smooth", "bins": 3},
        "level": {"kind": "category", "values": [level_of(x) for x in NAMES]},
        "other": {"kind": "category", "values": ["off", "on"]},
    }
    schema = {"target": {"column": "target", "classes": list(classes)}, "columns": columns}
    table = table_of(classes)
    plain = math.isinf(epsilon)
    chosen = {"lam": 1e-3} if plain else {"epochs": 5}
    estimator = KINDS[kind](epsilon, random_state=0, **chosen)
    return TableModel(schema, estimator).fit(table), table


def said(*words):
    return call(*words, env={"COLUMNS": "300"}).stdout


def listed(path):
    """Return the rows of what `inspect` lists: the names of the outputs, and value by row."""
    lines = said("inspect", path, "--top", 1000).splitlines()
    cells = [[x.strip() for x in line.strip("│┃ ").split("│")] for line in lines if "│" in line]
    head = next(line for line in lines if "column at value" in line)
    names = [x.strip() for x in head.strip("┃ ").split("┃")][1:]
    return names, {row[0]: dict(zip(names, row[1:], strict=True)) for row in cells}


@pytest.mark.full
@settings(max_examples=6)
@given(ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_page_names_the_class_that_a_level_goes_with(tmp_path_factory, kind, classes):
    folder = tmp_path_factory.mktemp("orders")
    model, table = fitted(kind, classes)
    path = folder / "model.json"
    model.save(path)
    model = load(path)
    shapes = model.shapes().query("seen")
    names, rows = listed(path)
    for name in classes:
        level = level_of(name)
        own = shapes[(shapes["column"] == "level") & (shapes["value"] == level)]
        values = rows[f"level = {level}"]
        if len(classes) == 2:
            second = float(values["effect"])
            assert second == pytest.approx(own["effect"].iloc[0], abs=1e-4)
            assert (second > 0.0) == (name == classes[1])
            continue
        truth = dict(zip(own["class"], own["effect"], strict=True))
        assert max(truth, key=truth.get) == name
        if len(classes) > 5:
            assert (values["most for"], names[0]) == (name, "most for")
            continue
        assert set(names) == {*classes, "± band"}
        for other in classes:
            assert float(values[other]) == pytest.approx(truth[other], abs=1e-4)
    # Coefficients, as JSON.
    found = json.loads(said("inspect", path, "--json"))
    for name in classes:
        own = found["coefficients"][f"level={level_of(name)}"]
        most = int(np.argmax(own)) if len(own) > 2 else int(own[0] > 0.0)
        assert found["classes"][most] == name
    # The report.
    subject = Described(model)
    assert len(subject.outputs) == max(1, len(classes) * (len(classes) > 2))
    for output, words in enumerate(subject.outputs):
        own = {x.label: x.value for x in subject.weights(output) if x.group == "level"}
        assert level_of(words.strip("“”")) == max(own, key=own.get)
    text = page(subject)
    assert all(f"towards {x}" in text for x in subject.outputs)
    # Predictions, and the model of another library.
    answers = table.drop(columns="target")
    guess = model.predict(answers)
    assert np.mean(guess == table["target"]) > 0.9
    np.testing.assert_array_equal(to_sklearn(model).predict(answers), guess)
    decisions = model.decision_function(answers)
    places = np.argmax(decisions, axis=1) if decisions.ndim > 1 else (decisions > 0).astype(int)
    np.testing.assert_array_equal(model.classes_[places], guess)
    # Scores.
    table.to_csv(folder / "t.csv", index=False)
    scores = json.loads(said("evaluate", path, folder / "t.csv", "--json"))
    for place, one in enumerate(scores["by class"]):
        own = table["target"] == one["class"]
        assert one["recall"] == pytest.approx(np.mean(guess[own] == one["class"]))
        row = [int((guess[own] == x["class"]).sum()) for x in scores["by class"]]
        assert scores["confusion"][place] == row
    noisy = private_score(
        model, table, epsilon=1000.0, metric="confusion", delta=1e-5, random_state=0
    )
    for true, row in zip(noisy.classes, noisy.value, strict=True):
        for other, share in zip(noisy.classes, row, strict=True):
            both = (table["target"] == true) & (guess == other)
            assert share == pytest.approx(both.mean(), abs=0.02)
    if kind == "logistic":
        chances = model.predict_proba(answers)
        np.testing.assert_array_equal(model.classes_[np.argmax(chances, axis=1)], guess)
        text = said("predict", path, folder / "t.csv", "--proba")
        written = [x.removeprefix("probability ") for x in text.split("\n")[0].split(",")[1:]]
        assert written == model.classes_.tolist()


@pytest.mark.parametrize("classes", [["zz", "mm", "aa"], ["aa", "zz", "mm"]])
def test_what_is_listed_is_of_the_class_above_it(tmp_path, classes):
    model, _ = fitted("logistic", classes, epsilon=5.0)
    model.save(tmp_path / "model.json")
    shapes = model.shapes().query("seen")
    _, rows = listed(tmp_path / "model.json")
    for value, own in shapes[shapes["column"] == "level"].groupby("value"):
        shown = rows[f"level = {value}"]
        for name, effect in zip(own["class"], own["effect"], strict=True):
            assert float(shown[name]) == pytest.approx(effect, abs=1e-4)
        assert float(shown["± band"]) == pytest.approx(own["band"].max(), abs=1e-4)


@pytest.mark.full
def test_a_search_answers_with_the_classes_of_the_schema():
    classes = ["zz", "mm", "aa"]
    model, table = fitted("logistic", classes)
    table = pd.concat([table] * 10, ignore_index=True)
    estimators = [DPLogisticRegression(epochs=epochs) for epochs in (5, 10)]
    candidates = [TableModel(model.schema_, one) for one in estimators]
    search = DPModelSearch(candidates, epsilon=8.0, random_state=0).fit(table)
    np.testing.assert_array_equal(search.classes_, sorted(classes))
    assert np.mean(search.predict(table) == table["target"]) > 0.8
    assert search.best_score_ > 0.8
