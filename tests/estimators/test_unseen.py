"""Levels that do not occur: no weight, and a prediction counts them as the column's average."""

import numpy as np
import pandas as pd
import pytest

from dpscd import DPLogisticRegression, DPRidge, Schema, TableModel, load, to_sklearn
from dpscd.estimators.table_answers import as_average, averages_in
from dpscd.records.encoding import levels_of

N = 30_000
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


@pytest.mark.full
@pytest.mark.parametrize("schema", [NUMBER, CLASSES])
def test_levels_that_never_occur_have_no_weight(table, schema, tmp_path):
    kind = DPRidge if schema is NUMBER else DPLogisticRegression
    dropped = 0
    for seed in range(5):
        model = TableModel(schema, kind(5.0, random_state=seed)).fit(table)
        coef, noise = (
            np.atleast_2d(x) for x in (model.estimator_.coef_, model.estimator_.coef_sd_)
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
    names = model.estimator_.feature_names_in_[model.estimator_.unseen_features()]
    assert {"dept=never", "dept=(other)"} <= set(names)
    shapes = model.shapes()
    assert shapes[shapes["column"] == "dept"]["value"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("schema", [NUMBER, CLASSES])
def test_one_record_is_predicted_as_among_others_and_by_scikit_learn(table, schema):
    kind = DPRidge if schema is NUMBER else DPLogisticRegression
    model = TableModel(schema, kind(5.0, random_state=1)).fit(table)
    rows = table.iloc[:6].astype(object)
    rows["dept"] = ["a", "never", "elsewhere", None, "b", "c"]
    rows["sex"] = ["f", None, "x", "m", "f", None]
    rows["age"] = [5.0, None, 40.0, None, 70.0, 100.0]
    whole = model.transform(rows)
    for place in range(6):
        np.testing.assert_array_equal(model.transform(rows.iloc[[place]])[0], whole[place])
    plain = to_sklearn(model)
    if schema is NUMBER:
        np.testing.assert_allclose(plain.predict(rows), model.predict(rows), rtol=1e-5)
    else:
        found = plain.predict_proba(rows)
        np.testing.assert_allclose(found, model.predict_proba(rows), rtol=1e-4, atol=1e-6)


@pytest.mark.full
def test_rare_levels_that_matter_are_kept():
    rng = np.random.default_rng(0)
    n = 20_000
    table = pd.DataFrame({f"c{k}": rng.choice(list("ab"), n) for k in range(10)})
    table["c0"] = np.where(rng.uniform(size=n) < 0.02, "rare", table["c0"])
    table["y"] = np.where((table["c0"] == "rare") | (rng.uniform(size=n) < 0.2), "yes", "no")
    column = {"kind": "category", "values": ["a", "b", "rare"], "complete": True}
    schema = {
        "target": {"column": "y", "classes": ["no", "yes"]},
        "columns": {f"c{k}": column for k in range(10)},
    }
    for seed in range(4):
        model = TableModel(schema, DPLogisticRegression(1.0, random_state=seed)).fit(table)
        one = table[table["c0"] == "rare"].iloc[:1]
        assert model.predict_proba(one)[0, 1] > 0.5


@pytest.mark.full
def test_sparse_rows_and_rows_without_intercept_have_no_average(table):
    wide = {**COLUMNS, "town": {"kind": "category", "values": [f"t{k}" for k in range(400)]}}
    more = table.assign(town="t1")
    sparse = TableModel({**NUMBER, "columns": wide}, DPRidge(10.0, random_state=0)).fit(more)
    assert hasattr(sparse.transform(more), "indptr")
    assert np.isfinite(sparse.predict(more.assign(dept="elsewhere"))).all()
    bare = DPRidge(5.0, fit_intercept=False, standardise=True, random_state=0)
    model = TableModel(NUMBER, bare).fit(table)
    assert not model.transform(table.assign(dept="elsewhere"))[:, :3].any()


def test_rows_stay_as_they_are_where_nothing_was_released(table):
    schema = Schema.from_dict(NUMBER)
    rows = np.ones((2, len(levels_of(schema).value)))
    unseen = np.ones(rows.shape[1], dtype=bool)
    np.testing.assert_array_equal(as_average(rows.copy(), schema, unseen, None), rows)
    coef, intercept = averages_in(rows, rows[:, 0], schema, unseen, None)
    np.testing.assert_array_equal(coef, rows)
    np.testing.assert_array_equal(intercept, rows[:, 0])
    normalised = {**NUMBER, "table": {"rows": "normalise"}}
    assert levels_of(Schema.from_dict(normalised)) is None
    model = TableModel(normalised, DPRidge(5.0, random_state=0)).fit(table)
    assert not model.estimator_.unseen_features().any()
    plain = TableModel(NUMBER, DPRidge(5.0, standardise=False, random_state=0)).fit(table)
    assert plain.estimator_.coef_.all()


def test_noisy_moments_leave_no_level_out(table):
    model = TableModel(NUMBER, DPRidge(0.02, standardise=True, random_state=0)).fit(table)
    assert model.estimator_.coef_.all()
