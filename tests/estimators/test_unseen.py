"""Levels that do not occur: no weight, and a prediction counts them as the column's average."""

import numpy as np
import pandas as pd
import pytest

from dpscd import DPLogisticRegression, DPRidge, Schema, TableModel, load
from dpscd.estimators.unseen import as_average
from dpscd.preprocessing.encoding import levels_of

N = 6000
COLUMNS = {
    "dept": {"kind": "category", "values": ["a", "b", "c", "never"]},
    "sex": {"kind": "category", "values": ["f", "m"], "complete": True},
    "age": {"kind": "number", "bounds": [0, 100], "shape": "line", "missing": "column"},
}
NUMBER = {"target": {"column": "cost", "bounds": [0, 10]}, "columns": COLUMNS}
CLASSES = {"target": {"column": "group", "classes": ["x", "y", "z"]}, "columns": COLUMNS}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    dept = rng.choice(["a", "b", "c"], N, p=[0.6, 0.3, 0.1])
    cost = 3.0 * (dept == "a") + 4.0 * (dept == "c") + rng.uniform(0, 3, N)
    return pd.DataFrame(
        {
            "dept": dept,
            "sex": rng.choice(["f", "m"], N),
            "age": rng.uniform(0, 100, N),
            "cost": cost,
            "group": np.array(["x", "y", "z"])[np.minimum(cost // 2.5, 2).astype(int)],
        }
    )


@pytest.mark.parametrize("schema", [NUMBER, CLASSES])
def test_levels_that_never_occur_have_no_weight(table, schema, tmp_path):
    kind = DPRidge if schema is NUMBER else DPLogisticRegression
    dropped = 0
    for seed in range(5):
        model = TableModel(schema, kind(2.0, random_state=seed)).fit(table)
        coef, noise = (
            np.atleast_2d(x) for x in (model.estimator_.coef_, model.estimator_.coef_noise_)
        )
        names = list(model.estimator_.feature_names_in_)
        empty = [names.index(x) for x in ("dept=never", "dept=(other)", "age=(missing)")]
        dropped += (coef[:, empty] == 0.0).all(axis=0).sum()
        # Weight and noise are 0 together.
        np.testing.assert_array_equal(coef[:, empty] == 0.0, noise[:, empty] == 0.0)
        occurring = [names.index(f"dept={x}") for x in "abc"]
        assert coef[:, occurring].all()
    assert dropped >= 13  # of 15; one in fifteen may be taken for a level that occurs
    model.save(tmp_path / "model.json")
    unknown = table.assign(dept="elsewhere")
    np.testing.assert_array_equal(
        load(tmp_path / "model.json").predict(unknown), model.predict(unknown)
    )


def test_an_unseen_level_counts_as_the_average(table):
    model = TableModel(NUMBER, DPRidge(5.0, random_state=1)).fit(table)
    one = table.iloc[[0]]
    each = [model.predict(one.assign(dept=x))[0] for x in ("a", "b", "c")]
    average = np.dot(each, [0.6, 0.3, 0.1])
    for value in ("never", "elsewhere"):
        assert model.predict(one.assign(dept=value))[0] == pytest.approx(average, abs=0.1)
    sexes = [model.predict(one.assign(sex=x))[0] for x in ("f", "m")]
    for value in (None, "x"):
        assert model.predict(one.assign(sex=value))[0] == pytest.approx(np.mean(sexes), abs=0.1)
    shapes = model.shapes().set_index(["column", "value"])
    assert shapes.loc[("dept", "never"), ["effect", "band"]].tolist() == [0.0, 0.0]


def test_rows_stay_as_they_are_where_nothing_was_released(table):
    schema = Schema.from_dict(NUMBER)
    rows = np.ones((2, len(levels_of(schema).value)))
    coef = np.zeros((1, rows.shape[1]))
    np.testing.assert_array_equal(as_average(rows.copy(), schema, coef, None), rows)
    normalised = Schema.from_dict({**NUMBER, "table": {"rows": "normalise"}})
    assert levels_of(normalised) is None
    means = np.zeros(rows.shape[1])
    np.testing.assert_array_equal(as_average(rows.copy(), normalised, coef, means), rows)
    plain = TableModel(NUMBER, DPRidge(5.0, standardise=False, random_state=0)).fit(table)
    assert plain.estimator_.coef_.all()


def test_noisy_moments_leave_no_level_out(table):
    model = TableModel(NUMBER, DPRidge(0.02, standardise=True, random_state=0)).fit(table)
    assert model.estimator_.coef_.all()
