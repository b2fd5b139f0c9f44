"""Shapes of columns: what is shown is what the model does, with the noise that is in it."""

import math

import numpy as np
import pandas as pd
import pytest

from dpscd import DPLogisticRegression, DPRidge, ParameterError, TableModel, load, to_sklearn

N = 4000
BENT = {"kind": "number", "bounds": [0, 100], "shape": "smooth", "bins": 5}
COLUMNS = {
    "age": BENT,
    "dose": {"kind": "number", "bounds": [0, 50], "transform": "log1p", "missing": "column"},
    "hour": {"kind": "number", "bounds": [0, 24], "shape": "steps", "knots": [6, 18]},
    "year": {"kind": "number", "bounds": [2000, 2004], "bins": 4},
    "sex": {"kind": "category", "values": ["f", "m"], "missing": "column"},
    "stage": {"kind": "ordinal", "values": ["I", "II", "III"]},
    "smokes": {"kind": "boolean"},
}
CLASSES = {"target": {"column": "ill", "classes": ["no", "yes"]}, "columns": COLUMNS}
THREE = {"target": {"column": "group", "classes": ["a", "b", "c"]}, "columns": COLUMNS}
NUMBER = {"target": {"column": "cost", "bounds": [0, 20]}, "columns": COLUMNS}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 100, N)
    return pd.DataFrame(
        {
            "age": age,
            "dose": np.where(rng.uniform(size=N) < 0.1, np.nan, rng.uniform(0, 50, N)),
            "hour": rng.uniform(0, 24, N),
            "year": rng.uniform(2000, 2004, N),
            "sex": rng.choice(["f", "m"], N),
            "stage": rng.choice(["I", "II", "III"], N),
            "smokes": rng.choice([True, False], N),
            "ill": np.where(np.abs(age - 50) > 25, "yes", "no"),
            "group": np.array(["a", "b", "c"])[(age // 33.4).astype(int)],
            "cost": np.abs(age - 50) / 5 + rng.uniform(0, 4, N),
        }
    )


def decisions(model, table):
    plain = model.estimator_
    features = model.transform(table)
    return features @ np.atleast_2d(plain.coef_).T + plain.intercept_


@pytest.mark.full
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("schema", [CLASSES, THREE, NUMBER])
def test_effects_are_differences_of_decisions(table, schema, intercept):
    kind = DPRidge if schema is NUMBER else DPLogisticRegression
    model = TableModel(schema, kind(5.0, fit_intercept=intercept, random_state=0)).fit(table)
    shapes = model.shapes()
    assert set(shapes["column"]) == set(COLUMNS)
    assert (shapes["band"] >= 0.0).all()
    for (name, *_), part in shapes.groupby(["column"]):
        output = 0
        if schema is THREE:
            part, output = part[part["class"] == "c"], 2
        values = [math.nan if x == "(missing)" else x for x in part["value"]]
        rows = pd.concat([table.iloc[:1]] * len(part), ignore_index=True)
        rows = rows.astype(object).assign(**{name: pd.Series(values, dtype=object)})
        found = decisions(model, rows)[:, output]
        effect = part["effect"].to_numpy()
        np.testing.assert_allclose(found - found[0], effect - effect[0], atol=1e-5)


def test_the_clearest_column_comes_first_at_its_knots(table, tmp_path):
    model = TableModel(CLASSES, DPLogisticRegression(10.0, random_state=0)).fit(table)
    shapes = model.shapes()
    assert shapes["column"][0] == "age"
    own = shapes[shapes["column"] == "age"]
    assert own["value"].tolist() == [0, 20, 40, 60, 80, 100]
    assert own["effect"].iloc[[0, 5]].min() > own["effect"].iloc[[2, 3]].max()
    hour = shapes[shapes["column"] == "hour"]
    assert hour["value"].tolist() == [3, 12, 21]
    assert shapes[shapes["column"] == "sex"]["value"].tolist() == [
        "f", "m", "(other)", "(missing)",
    ]  # fmt: skip
    model.save(tmp_path / "model.json")
    pd.testing.assert_frame_equal(load(tmp_path / "model.json").shapes(), shapes)


@pytest.mark.full
def test_values_without_records_are_told_by_released_means_alone(table):
    """Of a hundred that nobody has none is called seen; those that many have always are."""
    wide = {
        **COLUMNS,
        "age": {**BENT, "bounds": [0, 1000], "bins": 25},
        "year": {"kind": "number", "bounds": [2000, 2032], "bins": 8},
        "hour": {"kind": "number", "bounds": [0, 48], "shape": "steps", "knots": [24, 40]},
        "sex": {"kind": "category", "values": ["f", "m", "x"]},
    }
    for seed in range(4):
        model = TableModel({**NUMBER, "columns": wide}, DPRidge(10.0, random_state=seed))
        shapes = model.fit(table).shapes()
        seen = {
            name: part[part["seen"]]["value"].tolist()
            for name, part in shapes.groupby("column")
        }
        assert seen["age"] == [0, 40, 80, 120]
        assert seen["year"] == [2002]
        assert seen["hour"] == [12]
        assert seen["sex"] == ["f", "m"]
        assert seen["stage"] == ["I", "II", "III"]  # one feature for all
        assert "(missing)" in seen["dose"]
    for less in ({"standardise": False}, {"epsilon": 0.1}):
        plain = DPRidge(**{"epsilon": 10.0, "random_state": 0, **less})
        model = TableModel({**NUMBER, "columns": wide}, plain).fit(table)
        assert model.shapes()["seen"].all()


@pytest.mark.full
def test_a_knot_does_not_count_its_neighbours_records(table):
    """Knots in the user's unit and back again are a rounding away from themselves."""
    age = {"kind": "number", "bounds": [0, 100], "shape": "smooth", "bins": 7}
    schema = {**NUMBER, "columns": {**COLUMNS, "age": age}}
    old = table.assign(age=75 + table["age"] / 4)
    for seed in range(4):
        model = TableModel(schema, DPRidge(10.0, random_state=seed)).fit(old)
        shapes = model.shapes().query("column == 'age' and seen")
        assert shapes["value"].min() > 70.0


@pytest.mark.full
def test_bands_cover_what_fits_differ_by(table):
    fits = [
        TableModel(NUMBER, DPRidge(1.0, random_state=seed)).fit(table).shapes()
        for seed in range(12)
    ]
    ages = [x[x["column"] == "age"].sort_values("value") for x in fits]
    effects = np.array([x["effect"] for x in ages])
    bands = np.array([x["band"] for x in ages])
    away = np.abs(effects - effects.mean(axis=0))
    # Two deviations: 95 % of a normal one, of twelve fits.
    assert (away <= bands).mean() >= 0.9


@pytest.mark.full
def test_effects_are_relative_to_released_means(table):
    model = TableModel(NUMBER, DPRidge(10.0, random_state=0)).fit(table)
    means = model.estimator_.released_means()
    np.testing.assert_allclose(means, model.transform(table).mean(axis=0), atol=0.02)
    for less in ({"standardise": False}, {"fit_intercept": False}, {"epsilon": math.inf}):
        plain = TableModel(NUMBER, DPRidge(**{"epsilon": 10.0, **less})).fit(table)
        assert plain.estimator_.released_means() is None
        effects = plain.shapes().groupby("column")["effect"].mean()
        np.testing.assert_allclose(effects, 0.0, atol=1e-9)
    assert (plain.shapes()["band"] == 0.0).all()


def test_counts_and_what_goes_round_in_a_model(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"hour": rng.uniform(0, 24, 4000), "month": rng.integers(1, 13, 4000), "rooms": 3}
    )
    late = np.abs(table["hour"] - 12) > 6
    table["ill"] = np.where(late ^ (table["month"] == 7), "yes", "no")
    columns = {
        "hour": {"kind": "number", "bounds": [0, 24], "cyclic": True},
        "month": {"kind": "number", "bounds": [1, 12], "integer": True, "cyclic": True},
        "rooms": {"kind": "number", "bounds": [1, 8], "integer": True, "shape": "steps"},
    }
    schema = {"target": {"column": "ill", "classes": ["no", "yes"]}, "columns": columns}
    model = TableModel(schema, DPLogisticRegression(2.0, random_state=0)).fit(table)
    assert model.score(table) > 0.85
    own = dict(iter(model.shapes().groupby("column")))
    ends = own["hour"].set_index("value")["effect"][[0.0, 24.0]]
    assert ends.iloc[0] == ends.iloc[1] > own["hour"]["effect"].min()
    assert own["month"]["value"].tolist() == list(range(1, 13))
    assert own["rooms"]["value"].tolist() == list(range(1, 9))
    model.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    asked = pd.DataFrame({"hour": [0, 24, None], "month": [7, 7, None], "rooms": [1, 1, 9]})
    chances = model.predict_proba(asked)
    np.testing.assert_array_equal(again.predict_proba(asked), chances)
    np.testing.assert_array_equal(chances[0], chances[1])
    np.testing.assert_allclose(to_sklearn(model).predict_proba(asked), chances, atol=1e-6)
    with pytest.raises(ParameterError, match=r"not for the shape of column 'hour' \(cyclic"):
        TableModel(schema, DPLogisticRegression(2.0, inference=True)).fit(table)
