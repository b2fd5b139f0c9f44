"""How fine shapes are: a matter of epsilon, n and the schema, never of records."""

import math

import numpy as np
import pandas as pd
import pytest

from dpscd import DPLogisticRegression, ParameterError, Schema, TableEncoder, TableModel
from dpscd.preprocessing.column_features import written
from dpscd.preprocessing.declarations import Column, Cross
from dpscd.preprocessing.schema import intervals_for, pair_intervals, shaped
from dpscd.rendering import number

TARGET = {"column": "ill", "classes": ["no", "yes"]}
NUMBER = {"kind": "number", "bounds": [0, 100]}
COLUMNS = {
    "age": NUMBER,
    "dose": {**NUMBER, "shape": "auto"},
    "line": {**NUMBER, "shape": "line"},
    "bins": {**NUMBER, "bins": 4},
    "own": {**NUMBER, "shape": "steps", "knots": [10, 20]},
    "sex": {"kind": "category", "values": ["f", "m"]},
    "note": {"kind": "ignore"},
}
SCHEMA = Schema.from_dict({"target": TARGET, "columns": COLUMNS})


def records(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.uniform(0, 100, n) for name in COLUMNS})
    table["sex"] = rng.choice(["f", "m"], n)
    table["ill"] = np.where(table["age"] > 50, "yes", "no")
    return table


def test_finer_with_more_records_and_epsilon_and_coarser_with_more_columns():
    found = [intervals_for(1.0, n, 10) for n in (1, 100, 1000, 10**4, 10**5, 10**6, 10**9)]
    assert found == sorted(found)
    assert found[0] == 0
    assert found[-1] == 32
    assert 0 < intervals_for(1.0, 5000, 100) < intervals_for(1.0, 5000, 4)
    assert intervals_for(0.1, 50_000, 7) == intervals_for(1.0, 5000, 7)
    assert intervals_for(math.inf, 10, 7) == 32
    # A shape of one or two intervals is not worth its features.
    assert {intervals_for(0.01, n, 3) for n in range(1, 10**5, 50)}.isdisjoint({1, 2})


def test_only_numbers_without_a_declared_shape_get_one():
    chosen = [column.name for column in SCHEMA.columns if column.undecided]
    assert chosen == ["age", "dose"]
    found = shaped(SCHEMA, 1.0, 50_000)
    count = intervals_for(1.0, 50_000, 6)
    for before, after in zip(SCHEMA.columns, found.columns, strict=True):
        if before.name in chosen:
            assert (after.shape, after.bins) == ("smooth", count)
            assert not after.undecided
        else:
            assert after == before
    few = shaped(SCHEMA, 1.0, 20)
    assert [few.columns[place].shape for place in (0, 1)] == ["line", "line"]
    assert not any(column.undecided for column in few.columns)
    assert shaped(found, 0.1, 10) == found


@pytest.mark.full
@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_a_fit_uses_the_public_number_of_records(relation):
    declared = {"n": 40_000} if relation == "add-remove" else {}
    estimator = DPLogisticRegression(
        1.0, epochs=1, relation=relation, random_state=0, **declared
    )
    for n in (300, 6000):
        found = TableModel(SCHEMA, estimator).fit(records(n)).schema_
        # Under add-remove the true number is secret: whatever it is, features are the same.
        assert found == shaped(SCHEMA, 1.0, declared.get("n", n))
    assert shaped(SCHEMA, 1.0, 300) != shaped(SCHEMA, 1.0, 6000)


def test_transformers_choose_what_a_model_would_if_they_are_told():
    table = records(500)
    plain = TableEncoder(SCHEMA.to_dict() | {"columns": {"age": NUMBER}}).fit(table)
    assert list(plain.get_feature_names_out()) == ["age"]
    told = TableEncoder(SCHEMA, epsilon=2.0, n=10_000).fit(table)
    assert told.schema_ == shaped(SCHEMA, 2.0, 10_000)


@pytest.mark.parametrize(
    ("told", "word"),
    [
        ({}, "column 'dose'"),
        ({"epsilon": 1.0}, "n=None"),
        ({"n": 10}, "epsilon=None"),
        ({"epsilon": -1.0, "n": 10}, "epsilon=-1.0"),
        ({"epsilon": True, "n": 10}, "epsilon=True"),
        ({"epsilon": 1.0, "n": 0}, "n=0"),
        ({"epsilon": 1.0, "n": True}, "n=True"),
        ({"epsilon": 1.0, "n": 2.5}, "n=2.5"),
    ],
)
def test_what_auto_needs_is_said(told, word):
    with pytest.raises(ParameterError, match=word):
        TableEncoder(SCHEMA, **told).fit(records(10))


def test_more_signal_than_a_number_holds_is_as_much_as_can_be():
    ages = Column("age", "number", bounds=(0.0, 1.0), shape="smooth")
    pair = Cross(ages, ages)
    assert intervals_for(1e307, 1000, 3) == intervals_for(math.inf, 1000, 3)
    assert pair_intervals(1e307, 1000, 3, pair) == pair_intervals(math.inf, 1000, 3, pair)


def test_numbers_are_written_so_that_they_can_be_told_apart():
    dates = [20200101.0, 20200102.0, 20200103.5]
    assert list(written(dates, 6).values()) == ["20200101", "20200102", "20200104"]
    assert written([1.0, 2.5, "(missing)"], 4) == {
        1.0: "1",
        2.5: "2.5",
        "(missing)": "(missing)",
    }
    assert written([1 / 3], 4) == {1 / 3: "0.3333"}
    assert written([1.0, "1"], 4) == {1.0: "1", "1": "1"}  # no digits will do
    assert len(set(written(dates, 4, number).values())) == 3
    day = {"kind": "number", "bounds": [20200101, 20200131], "shape": "smooth", "bins": 30}
    schema = {"target": TARGET, "columns": {"day": day, "bins": {**day, "shape": "steps"}}}
    names = (
        TableEncoder(schema).fit(records(5).assign(day=1.0, bins=1.0)).get_feature_names_out()
    )
    assert len(set(names)) == len(names)
