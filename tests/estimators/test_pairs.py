"""Pairs of columns in models of tables: learnt, kept, exported, shown."""

import numpy as np
import pandas as pd
import pytest

from dpscd import DPLogisticRegression, DPRidge, TableModel, load, to_sklearn

N = 20_000
COLUMNS = {
    "month": {"kind": "category", "values": list(range(1, 7)), "complete": True},
    "hour": {"kind": "number", "bounds": [0, 24], "missing": "column"},
    "site": {"kind": "category", "values": ["a", "b", "never"]},
    "grade": {"kind": "ordinal", "values": ["i", "ii", "iii", "iv"]},
    "flag": {"kind": "boolean"},
    "dose": {"kind": "number", "bounds": "private", "shape": "smooth"},
}
PAIRS = [["month", "hour"], ["month", "site"], ["grade", "flag"], ["hour", "dose"]]
TARGETS = {
    "load": {"column": "load", "bounds": [-4, 4]},
    "high": {"column": "high", "classes": ["no", "yes"]},
    "group": {"column": "group", "classes": ["x", "y", "z"]},
}


def schema_of(target="high", pairs=PAIRS, columns=COLUMNS, **table):
    table = {"pairs": pairs, **table}
    return {"table": table, "target": TARGETS[target], "columns": columns}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    month, hour = rng.integers(1, 7, N), rng.uniform(0, 24, N)
    wave = 2.0 * np.sin(hour / 24 * 2 * np.pi) * np.where(month < 4, 1.0, -1.0)
    score = wave + rng.logistic(scale=0.4, size=N)
    return pd.DataFrame(
        {
            "month": month,
            "hour": np.where(rng.uniform(size=N) < 0.05, np.nan, hour),
            "site": rng.choice(["a", "b"], N),
            "grade": rng.choice(["i", "ii", "iii", "iv"], N),
            "flag": rng.choice([True, False], N),
            "dose": rng.uniform(0, 8, N),
            "load": score,
            "high": np.where(score > 0, "yes", "no"),
            "group": np.array(["x", "y", "z"])[np.digitize(score, [-1, 1])],
        }
    )


@pytest.fixture(scope="module")
def strange():
    """Records with cells that a model has never seen, or that are missing."""
    rows = [
        (1, 3.0, "a", "i", True, 1.0),
        (99, 3.0, "a", "i", True, 1.0),
        (None, None, None, None, None, None),
        (2, None, "never", "elsewhere", "perhaps", 1e9),
        (3, 99.0, "elsewhere", "iv", False, -5.0),
        (None, 12.0, "never", "ii", False, 2.0),
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(object)


def estimator(target, **more):
    kind = DPRidge if target == "load" else DPLogisticRegression
    return kind(more.pop("epsilon", 2.0), random_state=0, **more)


@pytest.fixture(scope="module", params=TARGETS)
def fitted(request, table):
    return TableModel(schema_of(request.param), estimator(request.param)).fit(table)


def decisions(model, table):
    features = model.transform(table)
    return features @ np.atleast_2d(model.estimator_.coef_).T + model.estimator_.intercept_


@pytest.mark.full
def test_a_pair_learns_what_its_columns_alone_cannot(table):
    alone = TableModel(schema_of(pairs=[]), estimator("high")).fit(table)
    both = TableModel(schema_of(pairs=[["month", "hour"]]), estimator("high")).fit(table)
    assert alone.score(table) < 0.6
    assert both.score(table) > 0.8
    # epsilon n / sqrt(7), over six months, to the power of a third, and half of that.
    assert both.schema_.pairs[0].bins == round((2.0 * N / np.sqrt(7) / 6) ** (1 / 3) / 2)


@pytest.mark.full
def test_what_a_fit_chose_is_in_its_file(fitted, table, tmp_path):
    assert [pair.bins for pair in fitted.schema_.pairs] == [6, None, 9, 5]
    fitted.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.schema_ == fitted.schema_
    np.testing.assert_array_equal(decisions(again, table), decisions(fitted, table))
    np.testing.assert_array_equal(again.predict(table), fitted.predict(table))


def test_exports_predict_the_same(fitted, table, strange):
    plain = to_sklearn(fitted)
    for records in (table[:500], strange):
        if fitted.schema_.target.classes:
            found, wanted = plain.predict_proba(records), fitted.predict_proba(records)
            order = np.argsort(fitted.classes_)
            wanted = wanted[:, order] if len(order) > 2 else wanted
        else:
            found, wanted = plain.predict(records), fitted.predict(records)
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_what_is_not_known_of_a_pair_counts_as_its_average(table, strange):
    """A cell that a complete list does not have leaves no feature of the pair, nor a guess."""
    columns = {name: COLUMNS[name] for name in ("month", "site")}
    schema = schema_of("load", [["month", "site"]], columns)
    model = TableModel(schema, estimator("load", epsilon=5.0)).fit(table)
    names = list(model.estimator_.feature_names_in_)
    never = [place for place, name in enumerate(names) if " x site=never" in name]
    assert len(never) == 6
    assert (model.estimator_.coef_[never] == 0.0).all()
    assert (model.estimator_.coef_sd_[never] == 0.0).all()
    means = model.estimator_.released_means()
    pair = slice(len(names) - 24, len(names))
    rows = model.transform(strange)
    np.testing.assert_allclose(rows[1:4, pair], np.tile(means[pair], (3, 1)), atol=1e-6)
    assert (rows[0, pair] != 0).sum() == 1
    shown = model.shapes()
    assert not (shown["other"] == "never").any()
    found = to_sklearn(model).predict(strange)
    np.testing.assert_allclose(found, model.predict(strange), atol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("intercept", [True, False])
def test_effects_of_a_pair_are_differences_of_decisions(table, intercept):
    model = TableModel(schema_of(), estimator("high", fit_intercept=intercept)).fit(table)
    shapes = model.shapes()
    found = ["column", "value", "other", "effect", "band", "bound", "seen", "clear"]
    assert list(shapes.columns) == found
    assert shapes.loc[shapes["column"] == "site", "other"].isna().all()
    coef, unit = np.ravel(model.estimator_.coef_), 1.0 / np.sqrt(10)
    names = list(model.estimator_.feature_names_in_)
    moved, listed = model.fit_.spread.factor[0], model.fit_.plan.listed("moments")
    error = listed.error
    sizes = {
        "month x hour": 6 * 8,
        "month x site": 6 * 4,
        "grade x flag": 4 * 2,
        "hour x dose": 7 * 6,
    }
    means = model.estimator_.released_means() if intercept else None
    for pair, count in sizes.items():
        first, second = pair.split(" x ")
        own = shapes[shapes["column"] == pair].reset_index(drop=True)
        hidden = len(own) < count
        assert len(own) == count or (pair == "month x site" and hidden)
        records = pd.concat([table.iloc[:1]] * len(own), ignore_index=True).astype(object)
        for name, key in ((first, "value"), (second, "other")):
            cells = [np.nan if x == "(missing)" else x for x in own[key]]
            records[name] = pd.Series(cells, dtype=object)
        places = [k for k, x in enumerate(names) if " x " in x and x.startswith(first)]
        places = [k for k in places if f" x {second}" in names[k]]
        rows = model.transform(records)[:, places].astype(np.float64)
        np.testing.assert_allclose(rows.sum(axis=1), unit, atol=1e-6)
        centre = rows.mean(axis=0) if means is None else means[places]
        away = rows - centre
        np.testing.assert_allclose(own["effect"], away @ coef[places], atol=1e-5)
        # Released means move all effects of a pair together.
        moving = 0.0 if means is None else error * np.linalg.norm(coef[places])
        wanted = np.hypot(np.linalg.norm(away @ moved[:, places].T, axis=1), moving)
        np.testing.assert_allclose(own["band"], 2.0 * wanted, rtol=1e-4)


@pytest.mark.full
def test_sparse_rows_and_several_classes(table):
    wide = {**COLUMNS["month"], "values": list(range(1, 200))}
    columns = {"month": wide, "site": COLUMNS["site"]}
    model = TableModel(schema_of("group", [["month", "site"]], columns), estimator("group"))
    model.fit(table)
    assert model.transform(table[:5]).nnz == 15
    shapes = model.shapes()
    names = "column class value other effect band bound seen clear"
    assert list(shapes.columns) == names.split()
    shown = shapes[shapes["column"] == "month x site"]
    assert shown.groupby("class").size().nunique() == 1
    there = shown["value"].isin(list("123456")) & shown["other"].isin(["a", "b"])
    assert there.sum() == 3 * 12
    assert len(shown) < 3 * 90  # of 796 that the schema has room for
    some = table[:99]
    np.testing.assert_array_equal(to_sklearn(model).predict(some), model.predict(some))


def test_normalised_rows(table):
    model = TableModel(schema_of(rows="normalise"), estimator("high")).fit(table)
    lengths = np.linalg.norm(model.transform(table[:50]), axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=1e-5)
    assert len(model.shapes())


@pytest.mark.full
def test_dask_gives_the_same_model(table):
    dask = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    columns = {name: COLUMNS[name] for name in ("month", "hour")}
    schema = schema_of("load", [["month", "hour"]], columns)
    here = TableModel(schema, estimator("load")).fit(table)
    with distributed.Client(processes=False, n_workers=2, dashboard_address=None):
        parts = dask.from_pandas(table, npartitions=3)
        there = TableModel(schema, estimator("load")).fit(parts)
    assert there.schema_ == here.schema_
    assert there.estimator_.coef_.shape == here.estimator_.coef_.shape
    assert there.score(table) == pytest.approx(here.score(table), abs=0.05)
