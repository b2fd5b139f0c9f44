"""Monotone columns: what was released, brought to the nearest shape that rises or falls."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from dpscd import (
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    Schema,
    TableModel,
    load,
    to_sklearn,
)
from dpscd.estimators.shapes import BAND
from dpscd.preprocessing.monotone import WIDER, made_monotone
from dpscd.records.encoding import encode, feature_names, parse

N = 3000
SHAPES = {
    "auto": {},
    "smooth": {"shape": "smooth", "bins": 7},
    "knots": {"shape": "smooth", "knots": [5, 20, 60]},
    "steps": {"shape": "steps", "bins": 6},
    "own steps": {"shape": "steps", "knots": [5, 20, 60]},
    "bins": {"bins": 5},
    "line": {"shape": "line"},
    "log": {"shape": "smooth", "transform": "log1p", "bins": 7},
    "signed": {"shape": "steps", "bins": 6, "missing": "column"},
}


def schema_of(shape, monotone="up", target=None):
    own = {"kind": "number", "bounds": [0, 100], **shape, "monotone": monotone}
    columns = {"sex": {"kind": "category", "values": ["f", "m"]}, "age": own}
    target = target or {"column": "cost", "bounds": [0, 10]}
    return Schema.from_dict({"target": target, "columns": columns})


def projected(schema, coef, noise=None):
    coef = np.asarray(coef, dtype=np.float64)
    return made_monotone(schema, {}, coef, np.zeros_like(coef) if noise is None else noise)


def curve(schema, coef, ages):
    frame = pd.DataFrame({"sex": "f", "age": ages})
    parsed = parse(schema, frame, target=False)
    rows = encode(schema, parsed, as_sparse=False)
    return rows.astype(np.float64) @ np.ravel(coef)


AGES = np.sort(np.append(np.linspace(-5, 105, 2000), [5, 20, 60]))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 100, N)
    cost = np.clip(5 + 4 * np.sin(age / 12) + rng.normal(size=N), 0, 10)
    ill = np.where(cost > 5, "yes", "no")
    sex = rng.choice(["f", "m"], N)
    return pd.DataFrame({"sex": sex, "age": age, "cost": np.round(cost), "ill": ill})


@pytest.mark.full
@pytest.mark.parametrize("monotone", ["up", "down"])
@pytest.mark.parametrize("shape", SHAPES)
def test_predictions_are_monotone(table, shape, monotone, tmp_path):
    schema = schema_of(SHAPES[shape], monotone)
    model = TableModel(schema, DPRidge(1.0, random_state=0, clip_predictions=False)).fit(table)
    records = pd.DataFrame({"sex": "m", "age": AGES})
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    sign = 1.0 if monotone == "up" else -1.0
    for found in (model, again, to_sklearn(model)):
        answers = sign * found.predict(records)
        # Features are kept in single precision.
        assert (np.diff(answers) >= -1e-6 * np.abs(answers).max()).all()
    shapes = model.shapes()
    own = shapes[(shapes["column"] == "age") & (shapes["value"] != "(missing)")]
    assert (np.diff(sign * own["effect"].to_numpy()) >= -1e-6).all()


@pytest.mark.full
@pytest.mark.parametrize("kind", [DPLogisticRegression, DPPoissonRegressor])
def test_classes_and_counts(table, kind):
    target = {"column": "ill", "classes": ["no", "yes"]}
    if kind is DPPoissonRegressor:
        target = {"column": "cost", "bounds": [0, 10]}
    model = TableModel(schema_of(SHAPES["smooth"], "down", target), kind(2.0, random_state=0))
    model.fit(table)
    records = pd.DataFrame({"sex": "m", "age": AGES})
    answers = model.predict(records)
    if kind is DPLogisticRegression:
        answers = model.predict_proba(records)[:, 1]
    assert answers[0] > answers[-1]
    assert (np.diff(answers) <= 1e-6 * answers.max()).all()


@st.composite
def released(draw, shapes=tuple(SHAPES)):
    """Return a schema, coefficients and their noise."""
    shape = draw(st.sampled_from(shapes))
    schema = schema_of({"shape": "line"} if shape == "auto" else SHAPES[shape], draw(UP))
    width = len(feature_names(schema))
    numbers = st.floats(-100, 100).map(lambda x: round(x, 3))
    coef = draw(st.lists(numbers, min_size=width, max_size=width))
    noise = draw(st.lists(st.floats(0.1, 3.0), min_size=width, max_size=width))
    return schema, np.array(coef), np.array(noise) if draw(st.booleans()) else None


UP = st.sampled_from(["up", "down"])


@given(released())
def test_any_coefficients_become_monotone_and_then_stay(found):
    schema, own, noise = found
    coef = projected(schema, own, noise)
    sign = 1.0 if schema.columns[1].monotone == "up" else -1.0
    values = curve(schema, sign * coef, AGES)
    assert (np.diff(values) >= -1e-4).all()
    # Neither the other column nor the sign of missing values is touched.
    others = [not name.startswith("age") or "=" in name for name in feature_names(schema)]
    np.testing.assert_array_equal(coef[others], own[others])
    np.testing.assert_allclose(projected(schema, coef, noise), coef, atol=1e-9)
    before = curve(schema, sign * own, AGES)
    if (np.diff(before) >= 1e-3).all():  # a shape that rises was not touched at all
        np.testing.assert_allclose(coef, own, atol=1e-9)


def test_it_is_the_nearest_shape_by_the_weights_of_the_noise():
    """Against a solver that knows nothing of pooling."""
    rng = np.random.default_rng(1)
    schema = schema_of(SHAPES["smooth"])
    for _ in range(5):
        coef, noise = rng.normal(size=12), rng.uniform(0.2, 3.0, 12)
        knots = np.linspace(-1, 1, 8)
        values, weights = coef[3] * knots + coef[4:], noise[4:] ** -2.0
        rising = LinearConstraint(np.diff(np.eye(8), axis=0), 0.0, np.inf)
        best = minimize(
            lambda x, v=values, w=weights: float(w @ (x - v) ** 2),
            np.sort(values),
            constraints=[rising],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        ).x
        found = projected(schema, coef, noise)
        assert found[3] == coef[3]
        np.testing.assert_allclose(found[3] * knots + found[4:], best, atol=1e-5)


def test_steps_keep_the_slope_that_no_step_falls_for():
    schema = schema_of({"shape": "steps", "knots": [25, 50, 75]})
    flat = [0.0, 0.0, 0.0]
    middles = np.array([-0.75, -0.25, 0.25, 0.75])
    # Rising steps on a rising line stay.
    np.testing.assert_array_equal(
        projected(schema, [*flat, 1.0, 0.0, 1.0, 2.0, 3.0]), [*flat, 1.0, 0.0, 1.0, 2.0, 3.0]
    )
    # The saw is flat on average: slope and steps both go.
    saw = projected(schema, [*flat, 1.0, *-middles])
    np.testing.assert_allclose(saw[3:], 0.0, atol=1e-12)
    # A falling line goes into the steps, which rise by less.
    fell = projected(schema, [*flat, -1.0, *(3.0 * middles)])
    np.testing.assert_allclose(fell[3:], [0.0, *(2.0 * middles)], atol=1e-12)
    # A line that is steeper than its steps allow keeps what they do.
    kept = projected(schema, [*flat, 2.0, *-middles])
    np.testing.assert_allclose(kept[3:], [1.0, 0.0, 0.0, 0.0, 0.0], atol=1e-12)


def test_a_line_is_cut_at_zero():
    schema = schema_of({"shape": "line"}, "down")
    assert projected(schema, [[1.0, 2.0, 3.0, 0.5]]).tolist() == [[1, 2, 3, 0]]
    assert projected(schema, [1.0, 2.0, 3.0, -0.5]).tolist() == [1, 2, 3, -0.5]


@pytest.mark.parametrize("shape", ["smooth", "steps", "bins"])
@pytest.mark.parametrize("rise", [0.0, 0.3, 10.0])
def test_bands_hold_after_the_projection(shape, rise):
    """At most one value in twenty lies outside its band, whether the truth is flat or steep."""
    rng = np.random.default_rng(2)
    schema = schema_of({**SHAPES[shape], "bins": 20})
    width = len(feature_names(schema))
    points = 21 if shape == "smooth" else 20
    truth = np.zeros(width)
    truth[-points:] = rise * np.arange(points)
    noise = rng.uniform(0.5, 2.0, width)
    noise[3] = 0.4  # of the line, which has the most records and so less noise than a knot
    line = np.zeros(points) if shape == "bins" else np.linspace(-1, 1, points)
    band = BAND * WIDER * np.hypot(noise[-points:], 0.4 * line)
    trials, outside = 400, 0
    for _ in range(trials):
        found = projected(schema, truth + noise * rng.normal(size=width), noise)
        slope = 0.0 if shape == "bins" else found[3]
        outside += (np.abs(slope * line + (found - truth)[-points:]) > band).sum()
    assert outside / (trials * points) < 0.05


@pytest.mark.full
def test_bands_of_a_monotone_column_are_wider(table):
    fitted = {}
    for monotone in ("up", None):
        schema = schema_of(SHAPES["smooth"]).to_dict()
        if monotone is None:
            del schema["columns"]["age"]["monotone"]
        model = TableModel(schema, DPRidge(1.0, random_state=0)).fit(table)
        shapes = model.shapes().sort_values(["column"], kind="stable")
        listed = model.fit_.plan.listed("moments")
        names = feature_names(model.schema_)
        own = [w for w, x in zip(model.estimator_.coef_, names, strict=True) if "age" in x]
        error = listed.error
        moving, band = BAND * error * np.linalg.norm(own), shapes["band"].to_numpy()
        fitted[monotone] = np.append(np.sqrt(band[:8] ** 2 - moving**2), band[8:])
    np.testing.assert_allclose(fitted["up"][:8], WIDER * fitted[None][:8])
    np.testing.assert_allclose(fitted["up"][8:], fitted[None][8:])


@pytest.mark.full
@pytest.mark.parametrize("shape", ["line", "smooth", "steps"])
def test_a_projection_leaves_the_average_prediction_where_it_was(shape):
    """Also where the direction is wrong, and records lie to one side."""
    rng = np.random.default_rng(3)
    age = 100.0 * rng.beta(8, 2, 20_000)
    cost = np.clip(10.0 - age / 12.0 + rng.normal(size=len(age)), 0, 10)
    frame = pd.DataFrame({"sex": "f", "age": age, "cost": cost})
    model = TableModel(schema_of(SHAPES[shape]), DPRidge(2.0, random_state=0)).fit(frame)
    found = model.predict(frame)
    assert abs(np.mean(found - cost)) < 0.1
    assert np.mean((found - cost) ** 2) < 1.1 * np.var(cost)
