"""What is refused has been paid for, whatever it tells; shapes and names cost nothing."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hostile import check_refusal, outcome
from kinds import Shy
from scipy import sparse

from dpscd import (
    DataError,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    Ledger,
    SchemaError,
    TableModel,
)
from dpscd.records import refusals

N = 40
X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(N, 2))
Y = [0, 1] * (N // 2)
SCHEMA = {
    "target": {"column": "y", "classes": ["0", "1"]},
    "columns": {"a": {"kind": "category", "values": ["1", "9007199254740993"]}},
}


@pytest.fixture
def budget(tmp_path):
    path = str(tmp_path / "budget.db")
    Ledger.init(path, "people", epsilon=2.0, delta=1e-4)
    return path


def spent(path):
    return Ledger(path).show("people").spent_epsilon


def settings(path):
    return {"epsilon": 0.5, "epochs": 1, "ledger": path, "dataset": "people"}


def classifier(path):
    return DPLogisticRegression(classes=[0, 1], **settings(path))


def table(path, **layout):
    return TableModel({"table": layout, **SCHEMA}, DPLogisticRegression(**settings(path)))


def with_cell(cell):
    rows = [list(row) for row in X]
    rows[3][1] = cell
    return rows


def outside():
    rows = sparse.csr_array(np.abs(X))
    rows.indices[3] = 7
    return rows


ARRAYS = {
    refusals.NOT_NUMBERS: [
        (with_cell("x"), Y),
        (with_cell(Shy()), Y),
        (X * [1.0, np.inf], Y),
        (pd.DataFrame(with_cell(None)), Y),
    ],
    refusals.RAGGED: [([*X.tolist()[1:], [1.0]], Y), ([*X.tolist()[1:], 5], Y)],
    refusals.COMPLEX: [(X * 1j, Y), (sparse.csr_array(X * 1j), Y)],
    refusals.NOT_CSR: [(outside(), Y), (outside().tocsr(), Y)],
    refusals.NOT_WEIGHTS: [(X, Y, [-1.0] * N), (X, Y, [Shy()] * N)],
    refusals.NOT_A_WEIGHT_EACH: [(X, Y, [1.0]), (X, Y, np.ones((N, 1)))],
    refusals.NO_WEIGHT: [(X, [2] * N), (X, Y, [0] * N)],
}


def check_paid(budget, text, fit, time=1):
    """A fit is refused with this text, and has been paid for like those before it."""
    with pytest.raises(DataError) as caught:
        fit()
    check_refusal(caught.value)
    assert str(caught.value) == text
    assert spent(budget) == 0.5 * time


@pytest.mark.parametrize("text", ARRAYS, ids=lambda text: text[:20])
def test_records_that_are_refused_have_been_paid_for(text, budget):
    for time, records in enumerate(ARRAYS[text], start=1):
        check_paid(budget, text, partial(classifier(budget).fit, *records), time)


def test_labels_of_a_regression_that_are_refused_have_been_paid_for(budget):
    model = DPRidge(y_bounds=(0, 1), **settings(budget))
    for time, cell in enumerate((np.nan, np.inf, "x", Shy()), start=1):
        fit = partial(model.fit, X, [cell, *Y[1:]])
        check_paid(budget, refusals.NOT_FINITE, fit, time)


def test_exposures_that_are_refused_have_been_paid_for(budget):
    refused = {refusals.NOT_EXPOSURES: [np.nan] * N, refusals.NOT_AN_EXPOSURE_EACH: [1.0]}
    model = DPPoissonRegressor(y_bounds=(0, 1), exposure_bounds=(1, 2), **settings(budget))
    for time, (text, exposure) in enumerate(refused.items(), start=1):
        check_paid(budget, text, partial(model.fit, X, Y, exposure=exposure), time)


WITHOUT_HEADER = {"header": False, "names": ["a", "y"]}
FILES = [
    (refusals.NOT_LINES.format("t.csv"), b'a,y\n1,0\n"1,0\n1",1\n1,1\n', {}),
    (refusals.NOT_CELLS.format("t.csv", ","), b"a,y\n1,0\n1,0,5\n", {}),
    (refusals.NOT_UTF8.format("t.csv"), b"a,y\n1,0\n\xff,0\n", {}),
    (refusals.OTHER_WIDTH.format("t.csv", 2), b"1,0,5\n1,0,6\n", WITHOUT_HEADER),
]


@pytest.mark.parametrize(("text", "content", "layout"), FILES)
def test_files_that_are_refused_have_been_paid_for(text, content, layout, budget, tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    model = table(budget, **layout)
    model.estimator.set_params(n=100)
    check_paid(budget, text, partial(model.fit, file))


def test_numbers_that_floats_cannot_tell_apart_have_been_paid_for(budget):
    people = pd.DataFrame({"a": [0.5] * N, "y": Y})
    check_paid(budget, refusals.ROUNDED, partial(table(budget).fit, people))


def test_shapes_and_names_cost_nothing(budget, tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b"a,z\n1,0\n")
    for refused in (
        lambda: classifier(budget).fit(X[0], Y),
        lambda: classifier(budget).fit(X[None], Y),
        lambda: classifier(budget).fit(X, Y[1:]),
        lambda: classifier(budget).fit(X, X),
        lambda: classifier(budget).fit([], []),
        lambda: table(budget).fit(pd.DataFrame({"a": [1]})),
        lambda: table(budget).fit(file),
        lambda: table(budget).fit(tmp_path / "none.csv"),
    ):
        with pytest.raises((DataError, SchemaError)):
            refused()
    assert spent(budget) == 0.0


def test_predictions_of_others_stay_as_they_are():
    model = DPLogisticRegression(5.0, classes=[0, 1], epochs=1, random_state=0).fit(X, Y)
    before = outcome(model.decision_function, X)
    after = outcome(model.decision_function, np.vstack([X[:3], [[1e300, -1e300]], X[4:]]))
    assert before[:3] + before[4:] == after[:3] + after[4:]
    rows = sparse.csr_array(X)
    whole = outcome(model.decision_function, rows)
    assert whole == [outcome(model.decision_function, rows[[i]])[0] for i in range(N)]


@pytest.mark.parametrize("features", [3, 20, 54])
def test_a_prediction_is_the_same_alone_and_among_others(features):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(N, features))
    model = DPRidge(5.0, y_bounds=(-1, 1), epochs=1, random_state=0).fit(rows, rows[:, 0])
    whole = outcome(model.predict, rows)
    assert whole == [outcome(model.predict, rows[[i]])[0] for i in range(N)]


def test_persons_are_counted_before_anything_is_paid_for(budget, tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b'a,y,p\n1,0,x\n"1,0,y\n1",1,z\n')
    people = pd.DataFrame({"a": ["1"] * N, "y": Y})
    for records, text in (
        (people.assign(p=2.0**60), refusals.ROUNDED_PERSONS),
        (people.assign(p=[Shy()] * N), refusals.NOT_AN_IDENTIFIER),
        (file, refusals.NOT_LINES.format("t.csv")),
    ):
        with pytest.raises(DataError) as caught:
            table(budget, person="p").fit(records)
        check_refusal(caught.value)
        assert str(caught.value) == text
    assert spent(budget) == 0.0
