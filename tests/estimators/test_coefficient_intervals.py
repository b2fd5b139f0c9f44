"""Confidence intervals through the front door: what users type, read, save and are refused."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from dpscd import (
    DPLinearSVC,
    DPLogisticRegression,
    DPRidge,
    Ledger,
    ParameterError,
    TableModel,
    load,
)
from dpscd.estimators.validation import check_inference
from dpscd.inference import ABSENT, CAPPED

N = 20_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)) * [1.0, 2.0, 0.5] + [0.0, 1.0, -0.5]
COEF, CONSTANT = np.array([1.0, -0.25, 0.0]), 0.5
Y = X @ COEF + CONSTANT + RNG.normal(size=N)
TWO = (RNG.random(N) < 1.0 / (1.0 + np.exp(-(X @ COEF)))).astype(int)
RIDGE = {"y_bounds": (-10.0, 10.0), "row_bound": 6.0}
CLASSES = {"classes": [0, 1], "row_bound": 6.0}


@pytest.fixture(scope="module")
def ridge():
    return DPRidge(1.0, inference=True, random_state=0, **RIDGE).fit(X, Y)


@pytest.fixture(scope="module")
def logistic():
    return DPLogisticRegression(1.0, inference="robust", random_state=0, **CLASSES).fit(X, TWO)


@pytest.mark.full
def test_intervals_are_a_frame_of_terms(ridge):
    found = ridge.conf_int()
    assert list(found.columns) == ["term", "estimate", "low", "high"]
    assert found["term"].tolist() == ["x0", "x1", "x2", "(intercept)"]
    truth = np.array([*COEF, CONSTANT])
    width = (found["high"] - found["low"]).to_numpy()
    assert (np.abs(found["estimate"] - truth) < 1.2 * width).all()  # 4.7 deviations
    # Without privacy the first would be 3.92 / sqrt(n) wide.
    assert 3.92 / math.sqrt(N) < width[0] < 1.25 * 3.92 / math.sqrt(N)
    wider = ridge.conf_int(alpha=0.01)
    np.testing.assert_allclose((wider["high"] - wider["low"]) / width, 2.5758 / 1.96, rtol=1e-4)


def test_the_estimate_is_the_coefficient_without_the_penalty(ridge):
    found = ridge.conf_int()["estimate"].to_numpy()[:3]
    assert (np.abs(found[:2]) > np.abs(ridge.coef_[:2])).all()
    np.testing.assert_allclose(found, ridge.coef_, rtol=0.1, atol=0.01)


@pytest.mark.full
def test_a_summary_is_a_table_that_says_what_it_is(ridge, logistic):
    text = str(ridge.summary())
    assert "Linear regression, (1, 5e-06)-differentially private, 20,000 records" in text
    for part in ("estimate", "std err", "P>|z|", "[2.5%", "97.5%]", "privacy", "(intercept)"):
        assert part in text
    assert "assume that the model is true" in text
    frame = logistic.summary().frame
    np.testing.assert_allclose(frame["odds_ratio"], np.exp(frame["estimate"]))
    np.testing.assert_allclose(frame["odds_low"], np.exp(frame["low"]))
    assert "Robust standard errors (sandwich)." in str(logistic.summary())
    assert "regression of 1," in str(logistic.summary())
    assert (frame["privacy"] > 0.0).all()
    assert (frame["privacy"] < 0.6).all()
    expected = [math.erfc(abs(z) / math.sqrt(2.0)) for z in frame["z"]]
    np.testing.assert_allclose(frame["p_value"], expected)


def test_a_contrast_is_a_weighted_sum(ridge):
    one = ridge.contrast({"x0": 1, "x1": -2}).frame.iloc[0]
    own = ridge.conf_int().set_index("term")["estimate"]
    assert one["term"] == "x0 - 2 x1"
    assert one["estimate"] == pytest.approx(own["x0"] - 2 * own["x1"])
    assert ridge.contrast({"x0": 1}).frame["std_error"][0] == pytest.approx(
        ridge.summary().frame["std_error"][0]
    )
    frame = pd.DataFrame(X, columns=["dose 1 mg", "b", "c"])
    named = DPRidge(1.0, inference=True, random_state=0, **RIDGE).fit(frame, Y)
    assert named.contrast({"dose 1 mg": 1, "b": -1}).frame["term"][0] == "dose 1 mg - b"
    with pytest.raises(ParameterError, match="no term 'age'; there are x0, x1"):
        ridge.contrast({"age": 1})


@pytest.mark.parametrize("alpha", [0.0, 1.0, 95, "x", math.nan])
def test_alpha_lies_between_0_and_1(ridge, alpha):
    with pytest.raises(ParameterError, match="alpha"):
        ridge.conf_int(alpha)


def test_models_of_arrays_have_no_reference_levels(ridge):
    with pytest.raises(ParameterError, match="reference is for models of tables"):
        ridge.summary(reference={"x0": "1"})


@pytest.mark.full
def test_a_model_for_prediction_has_no_intervals(ridge):
    plain = clone(ridge).set_params(inference=False).fit(X[:2000], Y[:2000])
    with pytest.raises(ParameterError, match=r"trained for prediction.*inference=True"):
        plain.conf_int()
    again = clone(ridge).fit(X, Y)
    again.set_params(inference=False).fit(X[:2000], Y[:2000])
    with pytest.raises(ParameterError, match="trained for prediction"):
        again.summary()


@pytest.mark.full
def test_without_an_intercept_there_is_none_in_the_table():
    centred = X - [0.0, 1.0, -0.5]
    model = DPRidge(1.0, inference=True, fit_intercept=False, random_state=0, **RIDGE)
    found = model.fit(centred, centred @ COEF + RNG.normal(size=N)).conf_int()
    assert found["term"].tolist() == ["x0", "x1", "x2"]
    assert found.notna().all().all()


@pytest.mark.full
def test_a_single_coefficient_has_its_interval_and_its_file(tmp_path):
    x = X[:, :1]
    y = 0.5 * x[:, 0] + RNG.normal(size=N)
    options = {"y_bounds": (-8.0, 8.0), "row_bound": 4.0, "fit_intercept": False}
    model = DPRidge(1.0, inference=True, random_state=0, **options).fit(x, y)
    found = model.summary().frame.iloc[0]
    assert 0.8 / math.sqrt(N) < found["std_error"] < 1.4 / math.sqrt(N)
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").conf_int().equals(model.conf_int())


@pytest.mark.full
def test_persons_are_clustered():
    groups = np.repeat(np.arange(N // 2), 2)
    model = DPLogisticRegression(1.0, inference=True, random_state=0, **CLASSES)
    model.fit(X, TWO, groups=groups)
    assert "clustered by person" in str(model.summary())
    assert model.conf_int().notna().all().all()
    assert model.privacy_.facts.n == N // 2
    assert model.privacy_.facts.persons.weight == "share"


@pytest.mark.full
def test_declared_n_of_add_remove_does_not_enter_the_widths(ridge):
    more = DPRidge(
        1.0, inference=True, relation="add-remove", n=N + 1000, random_state=0, **RIDGE
    ).fit(X, Y)
    ratio = more.summary().frame["std_error"] / ridge.summary().frame["std_error"]
    np.testing.assert_allclose(ratio, 1.0, atol=0.05)


# --- what is refused before anything is read -------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"inference": "yes"}, "inference='yes' must be True, False or 'robust'"),
        ({"inference": 1}, "must be True, False or 'robust'"),
        ({"epsilon": math.inf}, "finite epsilon"),
        ({"lam": 0.1}, "lam=0.1 does not go with inference"),
        ({"travel": 1.0}, "travel=1.0 does not go"),
        ({"epochs": 5}, "epochs=5 does not go"),
        ({"lot_size": 5}, "lot_size=5 does not go"),
        ({"standardise": False}, "standardise=False does not go"),
        ({"class_weight": {0: 2.0}}, "class_weight does not go"),
    ],
)
def test_parameters_that_do_not_go_with_it_are_refused(given, words):
    model = DPLogisticRegression(**{"inference": True, **CLASSES, **given})
    with pytest.raises(ParameterError, match=words):
        model.fit(X, TWO)


def test_records_that_do_not_go_with_it_are_refused():
    model = DPRidge(1.0, inference=True, **RIDGE)
    every = DPRidge(1.0, inference=True, person_weight="sum", **RIDGE)
    three = DPLogisticRegression(1.0, inference=True, classes=[0, 1, 2])
    for one, rows, y, more, words in (
        (
            model,
            X,
            Y,
            {"sample_weight": np.ones(N)},
            "sample_weight does not go with inference",
        ),
        (model, sparse.csr_array(X), Y, {}, "dense rows, not a sparse matrix"),
        (every, X, Y, {"groups": np.arange(N)}, "needs person_weight='share'"),
        (three, X, TWO, {}, "for two classes, not 3"),
        (model, X[:30], Y[:30], {}, "inference cannot work with 30 records"),
    ):
        with pytest.raises(ParameterError, match=words):
            one.fit(rows, y, **more)
    assert "inference" not in DPLinearSVC().get_params()


def test_a_cluster_is_refused():
    records = SimpleNamespace(workers=2, weighted=False, sparse=False, persons=None)
    with pytest.raises(ParameterError, match="not available on Dask"):
        check_inference(None, records)


@pytest.mark.full
def test_nothing_is_charged_for_what_is_refused(tmp_path):
    Ledger.init(tmp_path / "budget.db", "people", epsilon=5.0, delta=1e-3)
    ledger = Ledger(tmp_path / "budget.db")
    options = {"ledger": str(tmp_path / "budget.db"), "dataset": "people"}
    model = DPRidge(1.0, inference=True, **RIDGE, **options)
    with pytest.raises(ParameterError):
        model.fit(X[:30], Y[:30])
    assert ledger.show("people").reserved == 0
    model.fit(X, Y)
    assert ledger.show("people").committed == 1


# --- files -----------------------------------------------------------------------------------


def test_a_file_holds_the_intervals(ridge, logistic, of_table, tmp_path):
    for model in (ridge, logistic, of_table):
        model.save(tmp_path / "model.json")
        again = load(tmp_path / "model.json")
        pd.testing.assert_frame_equal(again.summary().frame, model.summary().frame)
        assert again.privacy_.verify() <= model.privacy_.epsilon
    assert all(c.shape == "line" for c in again.schema_.columns if c.kind == "number")


# --- tables ----------------------------------------------------------------------------------

SCHEMA = {
    "target": {"column": "sick", "classes": ["no", "yes"]},
    "columns": {
        "age": {"kind": "number", "bounds": [18, 90]},
        "dose": {
            "kind": "number",
            "bounds": [0, 100],
            "transform": "log1p",
            "missing": "column",
        },
        "smokes": {"kind": "boolean"},
        "stage": {"kind": "ordinal", "values": ["I", "II", "III"]},
        "blood": {
            "kind": "category",
            "values": ["A", "B", "AB", "0", "none"],
            "complete": True,
        },
    },
}


def table(n=30_000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "dose": np.where(rng.random(n) < 0.3, np.nan, rng.exponential(10.0, n)),
            "smokes": rng.random(n) < 0.4,
            "stage": rng.choice(["I", "II", "III"], n),
            "blood": rng.choice(["A", "B", "AB", "0"], n, p=[0.4, 0.2, 0.1, 0.3]),
        }
    )
    effect = 0.03 * (frame["age"] - 50.0) + 0.6 * frame["smokes"]
    effect += frame["stage"].map({"I": -0.4, "II": 0.0, "III": 0.4})
    effect += frame["blood"].map({"A": 0.0, "B": 0.5, "AB": -0.5, "0": 0.0})
    effect += 0.2 * np.log1p(frame["dose"].fillna(0.0))
    sick = rng.random(n) < 1.0 / (1.0 + np.exp(-effect))
    return frame.assign(sick=np.where(sick, "yes", "no"))


@pytest.fixture(scope="module")
def of_table():
    estimator = DPLogisticRegression(2.0, inference=True, random_state=0)
    return TableModel(SCHEMA, estimator).fit(table())


@pytest.mark.full
def test_terms_of_a_table_are_in_the_units_of_its_columns(of_table):
    found = of_table.summary().frame.set_index("term")
    assert list(found.index) == [
        "age", "log1p(dose)", "dose=(missing)", "smokes", "stage", "blood=B", "blood=AB",
        "blood=0", "blood=none", "(intercept)",
    ]  # fmt: skip
    truth = {"age": 0.03, "log1p(dose)": 0.2, "smokes": 0.6, "stage": 0.4, "blood=B": 0.5}
    truth |= {"blood=AB": -0.5, "blood=0": 0.0, "(intercept)": -1.9}
    for term, value in truth.items():
        row = found.loc[term]
        assert abs(row["estimate"] - value) < 4.5 * row["std_error"], term
        assert row["std_error"] < 0.2, term
    assert found.loc["blood=none", "refused"] == ABSENT
    assert math.isnan(found.loc["blood=none", "estimate"])


def test_levels_are_compared_with_the_reference(of_table):
    against_b = of_table.summary(reference={"blood": "B"}).frame.set_index("term")
    said = of_table.summary(reference={"blood": "B"}).notes
    assert "Levels are compared with blood=B." in said
    assert "Levels are compared with blood=A." in of_table.summary().notes
    against_a = of_table.summary().frame.set_index("term")
    assert against_b.loc["blood=A", "estimate"] == pytest.approx(
        -against_a.loc["blood=B", "estimate"]
    )
    one = of_table.contrast({"blood=AB": 1, "blood=B": -1}).frame.iloc[0]
    assert one["estimate"] == pytest.approx(against_b.loc["blood=AB", "estimate"])
    assert one["std_error"] == pytest.approx(against_b.loc["blood=AB", "std_error"])
    assert of_table.conf_int(reference={"blood": "0"})["term"].tolist().count("blood=0") == 0
    with pytest.raises(ParameterError, match="'age', which is no category"):
        of_table.summary(reference={"age": "18"})
    with pytest.raises(ParameterError, match="'C' is no level of 'blood'"):
        of_table.summary(reference={"blood": "C"})


@pytest.mark.parametrize(
    ("of_age", "rows", "words"),
    [
        ({"shape": "smooth"}, {}, "not for the shape of column 'age' .smooth."),
        ({"bins": 5}, {}, "not for the shape of column 'age' .bins."),
        ({"monotone": "up"}, {}, "not for the shape of column 'age' .monotone."),
        ({}, {"pairs": [["age", "blood"]]}, "columns by themselves"),
        ({}, {"rows": "normalise"}, "columns by themselves"),
    ],
)
def test_shapes_pairs_and_normalised_rows_are_refused(of_age, rows, words):
    age = {**SCHEMA["columns"]["age"], **of_age}
    schema = {**SCHEMA, "table": rows, "columns": {**SCHEMA["columns"], "age": age}}
    with pytest.raises(ParameterError, match=words):
        TableModel(schema, DPLogisticRegression(2.0, inference=True)).fit(table(1000))


@pytest.mark.full
def test_records_without_a_level_are_not_forgotten():
    """Where cells are missing, levels of a complete category are told apart from the rest."""
    rng = np.random.default_rng(5)
    n = 20_000
    missing = rng.random(n) < 0.4
    x = rng.uniform(-1.0, 1.0, n) + np.where(missing, 0.8, -0.8)
    level = np.where(missing, "", rng.choice(["a", "b"], n))
    y = 0.3 * x + np.where(level == "a", 0.5, 0.0) + np.where(missing, -0.5, 0.0)
    table = pd.DataFrame({"x": x, "level": level, "y": y + 0.5 * rng.normal(size=n)})
    schema = {
        "target": {"column": "y", "bounds": [-6, 6]},
        "columns": {
            "x": {"kind": "number", "bounds": [-2, 2]},
            "level": {"kind": "category", "values": ["a", "b"], "complete": True},
        },
    }
    model = TableModel(schema, DPRidge(4.0, inference=True, random_state=0)).fit(table)
    found = model.summary().frame.set_index("term").loc["x"]
    # 0.0061 without privacy; 0.0057 if levels counted as collinear although some are absent.
    assert 0.006 < found["std_error"] < 0.012
    assert abs(found["estimate"] - 0.3) < 4.5 * found["std_error"]
    with pytest.raises(ParameterError, match="needs fit_intercept=True"):
        TableModel(schema, DPRidge(4.0, inference=True, fit_intercept=False)).fit(table)


@pytest.mark.full
def test_levels_that_training_cuts_are_refused_for_classes():
    rng = np.random.default_rng(6)
    n = 100_000
    rare = rng.random((n, 2)) < [0.004, 0.3]
    sick = rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - rare @ [1.5, 0.5]))
    table = pd.DataFrame(np.where(rare, "yes", "no"), columns=["rare", "common"])
    table["sick"] = np.where(sick, "yes", "no")
    levels = {"kind": "category", "values": ["no", "yes"]}
    schema = {
        "target": {"column": "sick", "classes": ["no", "yes"]},
        "columns": {"rare": levels, "common": levels},
    }
    estimator = DPLogisticRegression(2.0, inference=True, random_state=0)
    found = TableModel(schema, estimator).fit(table).summary().frame.set_index("term")
    assert found.loc["rare=yes", "refused"] == CAPPED
    assert found.loc["common=yes", "refused"] is None


# --- coverage --------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("kind", ["ridge", "logistic", "robust"])
def test_intervals_cover_as_often_as_they_say(kind):
    """With 95 % of 240 intervals, fewer than 86 % would be seen once in a million times."""
    truth = np.array([0.8, -0.4, 0.0, 0.3])
    n = 10_000

    def make(seed):
        rng = np.random.default_rng([7, seed])
        rows = rng.normal(size=(n, 3)) @ (0.5 * np.eye(3) + 0.5)
        line = rows @ truth[:3] + truth[3]
        if kind == "logistic":
            y = (rng.random(n) < 1.0 / (1.0 + np.exp(-line))).astype(int)
            model = DPLogisticRegression(1.0, classes=[0, 1], inference=True, row_bound=6.0)
            return model.set_params(random_state=seed).fit(rows, y)
        wide = np.exp(0.4 * rows[:, 0]) if kind == "robust" else 1.0
        y = line + wide * rng.normal(size=n)
        model = DPRidge(1.0, y_bounds=(-9, 9), row_bound=6.0, random_state=seed)
        return model.set_params(inference="robust" if kind == "robust" else True).fit(rows, y)

    covered = []
    for seed in range(60):
        found = make(seed).conf_int().dropna()
        own = truth[found.index]
        covered += [*((found["low"] <= own) & (own <= found["high"]))]
    assert len(covered) > 200
    assert 0.86 < np.mean(covered) < 0.995
