"""A target may be trained on its logarithm: label by label, and predictions come back."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import call
from dpscd import (
    DPHuberRegressor,
    DPPoissonRegressor,
    DPRidge,
    ModelFileError,
    ParameterError,
    Schema,
    SchemaError,
    TableModel,
    load,
    look,
    to_sklearn,
)
from dpscd.model.file import _checksum
from dpscd.records.labels import NumberLabels, from_trained, trained_bounds, trained_labels
from dpscd.records.tables import TableReader

PRICE = {
    "target": {"column": "price", "bounds": [0, 1_000_000], "transform": "log1p"},
    "columns": {"size": {"kind": "number", "bounds": [0, 10], "shape": "line"}},
}
SCHEMA = Schema.from_dict(PRICE)
TARGET = SCHEMA.target


def houses(n=4000):
    rng = np.random.default_rng(0)
    size = rng.uniform(0, 10, n)
    return pd.DataFrame({"size": size, "price": np.exp(4 + size / 2 + rng.normal(0, 0.5, n))})


@pytest.fixture(scope="module")
def model():
    return TableModel(PRICE, DPRidge(2.0, random_state=0)).fit(houses())


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=6))
def test_a_label_is_moved_to_its_bounds_and_then_transformed_by_itself(values):
    found = trained_labels(TARGET, np.array(values))
    for value, own in zip(values, found, strict=True):
        alone = trained_labels(TARGET, np.array([value]))[0]
        assert alone.tobytes() == own.tobytes()
        if np.isfinite(value):
            assert own == np.log1p(min(max(value, 0.0), 1e6))
        else:
            assert not np.isfinite(own)
    plain = Schema.from_dict({**PRICE, "target": {"column": "price", "bounds": [0, 1]}}).target
    own = np.array(values)
    assert trained_labels(plain, own) is own
    assert from_trained(plain, own, inside=True) is own
    assert trained_bounds(plain) == (0.0, 1.0)


def test_triples_have_labels_on_the_scale_of_training():
    reader = TableReader(NumberLabels(*trained_bounds(TARGET)), SCHEMA, {})
    table = pd.DataFrame({"size": 1, "price": [0, np.e - 1, -7, 1e9, "x", "inf"]}, dtype=object)
    found = reader.records(table)
    np.testing.assert_allclose(found.labels[:4], [0.0, 1.0, 0.0, np.log1p(1e6)])
    np.testing.assert_array_equal(found.weights, [1, 1, 1, 1, 0, 0])


def test_predictions_come_back_in_the_unit_of_the_target_near_the_median(model):
    table = pd.DataFrame({"size": [2.0, 5.0, 8.0]})
    median = np.exp(4 + table["size"].to_numpy() / 2)
    np.testing.assert_allclose(model.predict(table), median, rtol=0.2)
    assert model.target_bounds_ == (0.0, 1e6)
    assert model.estimator_.y_bounds == trained_bounds(TARGET)
    truth = houses()
    assert model.score(truth) > 0.5
    straight = Schema.from_dict({**PRICE, "target": {"column": "price", "bounds": [0, 1e6]}})
    plain = TableModel(straight, DPRidge(2.0, random_state=0)).fit(truth)
    errors = [
        np.median(np.abs(np.log1p(own.predict(truth)) - np.log1p(truth["price"])))
        for own in (model, plain)
    ]
    assert errors[0] < 0.75 * errors[1]


def test_it_is_the_model_of_labels_that_were_transformed_before(model):
    table = houses().assign(price=lambda x: np.log1p(x["price"]))
    target = {"column": "price", "bounds": list(trained_bounds(TARGET))}
    other = TableModel({**PRICE, "target": target}, DPRidge(2.0, random_state=0)).fit(table)
    np.testing.assert_array_equal(other.estimator_.coef_, model.estimator_.coef_)
    np.testing.assert_allclose(np.expm1(other.predict(table)), model.predict(table))


def test_predictions_stay_inside_unless_they_need_not():
    own = np.array([-5.0, np.log1p(1e6), 1000.0])
    inside = from_trained(TARGET, own, inside=True)
    np.testing.assert_allclose(inside, [0.0, 1e6, 1e6])
    assert inside.min() >= 0.0
    assert inside.max() <= 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = from_trained(TARGET, own, inside=False)
    assert free[0] == np.expm1(-5.0)
    assert free[2] == np.inf
    table = houses(500)
    loose = DPRidge(2.0, clip_predictions=False, random_state=0)
    assert np.isfinite(TableModel(PRICE, loose).fit(table).predict(table)).all()


def test_files_keep_it_and_a_changed_one_is_refused(model, tmp_path):
    table = houses(50)
    path = tmp_path / "m.json"
    model.save(path)
    again = load(path)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again.schema_.target.transform == "log1p"
    other = json.loads(path.read_text())
    del other["checksum"], other["plan"]["facts"]["schema"]["target"]["transform"]
    path.write_text(json.dumps({**other, "checksum": _checksum(other)}))
    with pytest.raises(ModelFileError, match="parameters are not those of its plan"):
        load(path)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ({"bounds": [0, 1], "transform": "sqrt"}, "transform must be 'log1p'"),
        ({"bounds": [-1, 1], "transform": "log1p"}, "log1p needs declared bounds"),
        ({"bounds": "private", "transform": "log1p"}, "log1p needs declared bounds"),
        (
            {"classes": ["a", "b"], "transform": "log1p"},
            "transform is for a target with bounds",
        ),
    ],
)
def test_what_cannot_be_transformed_is_refused(target, says):
    with pytest.raises(SchemaError, match=f"target 'price': {says}"):
        Schema.from_dict({**PRICE, "target": {"column": "price", **target}})


def test_what_would_not_be_in_the_unit_of_the_target_is_refused(model):
    table = houses(100)
    with pytest.raises(ParameterError, match="inference is for a target in its own unit"):
        TableModel(PRICE, DPRidge(1.0, inference=True)).fit(table)
    with pytest.raises(ParameterError, match="counts, which are trained as they are"):
        TableModel(PRICE, DPPoissonRegressor(1.0)).fit(table)
    with pytest.raises(ParameterError, match=r"predicts log\(1 \+ price\) from features"):
        to_sklearn(model)


def test_other_regressions_have_it_too():
    table = houses()
    found = TableModel(PRICE, DPHuberRegressor(2.0, random_state=0)).fit(table)
    assert found.score(table) > 0.4


def test_a_look_measures_nearness_to_bounds_as_training_does():
    assert look(houses(), SCHEMA).hints == ()


@pytest.mark.full
def test_the_command_line_scores_and_explains_in_the_right_unit(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save("m.json")
    houses().to_csv("t.csv", index=False)

    def run(*words):
        return call(*words).stdout

    scores = json.loads(run("evaluate", "m.json", "t.csv", "--json"))
    assert scores["metrics"]["R2"] == pytest.approx(model.score(houses()))
    noisy = json.loads(run("evaluate", "m.json", "t.csv", "--private-epsilon", 5, "--json"))
    assert noisy["numbers"]["value"] > 0.9
    assert "log(1 + price)" in run("inspect", "m.json", "--column", "size")
    run("report", "m.json", "--out", "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "by how much log(1 + price) goes up or down" in page
    assert "between 0 and 1e6, as log(1 + price)" in page
