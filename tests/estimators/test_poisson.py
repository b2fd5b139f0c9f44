"""The Poisson regression: scikit-learn's at epsilon inf, exposures, and counts with privacy."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import PoissonRegressor

from commands import answer, call
from dpscd import (
    DPModelSearch,
    DPPoissonRegressor,
    DPRidge,
    ParameterError,
    Schema,
    SchemaError,
    TableModel,
    load,
    look,
    private_score,
    to_sklearn,
)
from dpscd.audit import FitCase, audit

INF = math.inf
LAM = 1e-2


def records(n=600, seed=0, intercept=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, size=(n, 3))
    exposure = rng.uniform(0.5, 4.0, size=n)
    return X, rng.poisson(exposure * np.exp(X @ [2.0, -1.0, 0.5] + intercept)), exposure


def test_without_privacy_it_is_scikit_learns():
    X, y, _ = records()
    ours = DPPoissonRegressor(INF, lam=LAM, fit_intercept=False, y_bounds=(0, 60)).fit(X, y)
    theirs = PoissonRegressor(alpha=LAM, fit_intercept=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)
    assert ours.intercept_ == 0.0


def test_exposures_are_weights_of_rates():
    X, y, exposure = records()
    ours = DPPoissonRegressor(
        INF, lam=LAM, fit_intercept=False, y_bounds=(0, 60), exposure_bounds=(0.5, 4.0)
    ).fit(X, y, exposure=exposure)
    theirs = PoissonRegressor(
        alpha=LAM * len(X) / exposure.sum(), fit_intercept=False, tol=1e-10
    )
    theirs.fit(X, y / exposure, sample_weight=exposure)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)
    np.testing.assert_allclose(
        ours.predict(X, exposure), exposure * theirs.predict(X), rtol=1e-2
    )


def test_the_unit_of_exposures_is_free():
    X, y, exposure = records(intercept=1.0)
    own = {"epsilon": INF, "lam": LAM, "y_bounds": (0, 60), "random_state": 0}
    hours = DPPoissonRegressor(**own, exposure_bounds=(0.5, 4)).fit(X, y, exposure=exposure)
    minutes = DPPoissonRegressor(**own, exposure_bounds=(30, 240))
    minutes.fit(X, y, exposure=60 * exposure)
    np.testing.assert_allclose(minutes.coef_, hours.coef_, rtol=1e-6)
    assert minutes.intercept_ == pytest.approx(hours.intercept_ - math.log(60.0))


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0])
def test_private_counts_are_far_better_than_their_mean(epsilon):
    X, y, exposure = records(20_000, intercept=1.0)
    model = DPPoissonRegressor(
        epsilon, y_bounds=(0, 60), exposure_bounds=(0.5, 4.0), random_state=0
    ).fit(X, y, exposure=exposure)
    np.testing.assert_allclose(model.coef_, [2.0, -1.0, 0.5], atol=0.3)
    assert model.intercept_ == pytest.approx(1.0, abs=0.2)


@pytest.mark.full
@pytest.mark.parametrize("changes", [{}, {"lam": 0.01}, {"standardise": False}])
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_expected_counts_of_rare_events_add_up(epsilon, changes):
    X, y, exposure = records(40_000, intercept=-3.0)
    model = DPPoissonRegressor(
        epsilon, y_bounds=(0, 10), exposure_bounds=(0.5, 4.0), random_state=0, **changes
    ).fit(X, y, exposure=exposure)
    assert model.predict(X, exposure).sum() == pytest.approx(y.sum(), rel=0.06)


@pytest.mark.full
def test_more_epsilon_does_not_keep_duals_from_arriving():
    X, y, _ = records(20_000, intercept=-1.7)
    found = [
        DPPoissonRegressor(epsilon, y_bounds=(0, 10), random_state=0).fit(X, y).coef_[0]
        for epsilon in (1.0, 10.0)
    ]
    assert found[1] > 0.9 * found[0] > 1.0


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        *(("y_bounds", x) for x in [(-1, 3), (3, 3), None, (0, INF)]),
        *(("exposure_bounds", x) for x in [(0, 1), (2, 1), "ab", (1, INF), 3]),
    ],
)
def test_counts_need_bounds_from_0_on_and_exposures_positive_ones(name, bounds):
    with pytest.raises(ParameterError, match=f"{name}="):
        DPPoissonRegressor(**{"y_bounds": (0, 1), name: bounds}).fit([[0.0], [1.0]], [0, 1])


def test_exposures_and_their_bounds_go_together():
    X, y, exposure = records(50)
    with pytest.raises(ParameterError, match="goes with exposure"):
        DPPoissonRegressor(y_bounds=(0, 9)).fit(X, y, exposure=exposure)
    with pytest.raises(ParameterError, match="goes with exposure"):
        DPPoissonRegressor(y_bounds=(0, 9), exposure_bounds=(1, 2)).fit(X, y)


@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
def test_every_kind_of_plan_is_kept_in_files(standardise, intercept, tmp_path):
    X, y, _ = records(300)
    model = DPPoissonRegressor(
        y_bounds=(0, 60), epochs=2, standardise=standardise, fit_intercept=intercept
    ).fit(X, y)
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").coef_sd_ == pytest.approx(model.coef_sd_, nan_ok=True)


@pytest.mark.parametrize("n", [20, 300])
def test_a_planned_lam_does_not_follow_the_bounds_of_counts(n):
    X, y, _ = records(n)

    def strength(high, **given):
        model = DPPoissonRegressor(y_bounds=(0, high), epochs=2, standardise=False, **given)
        return model.fit(X, y).fit_.state.model.runs[0].strength

    assert strength(400) == pytest.approx(strength(4))
    # In the user's units.
    assert 400 * strength(400, lam=0.1) == pytest.approx(4 * strength(4, lam=0.1))


TABLE = pd.DataFrame({"x": np.linspace(0, 1, 300), "y": np.arange(300) % 3})


def counted(bounds, of_x):
    return {
        "target": {"column": "y", "bounds": bounds},
        "columns": {"x": {"kind": "number", "bounds": of_x}},
    }


def test_a_table_with_private_bounds_is_kept_in_files(tmp_path):
    schema = counted([0, 30], "private")
    for standardise in (True, False):
        model = TableModel(schema, DPPoissonRegressor(standardise=standardise)).fit(TABLE)
        model.save(tmp_path / "model.json")
        again = load(tmp_path / "model.json").estimator_
        assert again.coef_sd_ == pytest.approx(model.estimator_.coef_sd_, nan_ok=True)


@pytest.mark.filterwarnings("error", "ignore:.*no better than guessing")
def test_small_exposures_are_not_told():
    X, y, _ = records(50)
    own = {"y_bounds": (0, 1e10), "exposure_bounds": (1e-305, 1.0), "epochs": 1}
    exposure = np.r_[1e-305, np.ones(49)]
    model = DPPoissonRegressor(standardise=False, **own).fit(X, y, exposure=exposure)
    assert np.isfinite(model.coef_).all()


def test_exposure_bounds_are_for_arrays_and_canaries_are_no_counts():
    model = TableModel(counted([0, 9], [0, 1]), DPPoissonRegressor(exposure_bounds=(1, 2)))
    with pytest.raises(ParameterError, match="a table's schema has exposure under"):
        model.fit(TABLE)
    with pytest.raises(ParameterError, match="counts cannot be audited"):
        audit(FitCase(DPPoissonRegressor()), trials=100)


def test_tables_of_counts_have_declared_bounds():
    with pytest.raises(ParameterError, match="must be declared"):
        TableModel(counted("private", [0, 1]), DPPoissonRegressor()).fit(TABLE)
    model = TableModel(counted([0, 5], [0, 1]), DPPoissonRegressor(random_state=0)).fit(TABLE)
    assert (model.predict(TABLE) >= 0.0).all()


EXPOSED = {
    "target": {
        "column": "visits", "bounds": [0, 30], "exposure": "years", "exposure_bounds": [0.5, 4],
    },
    "columns": {"age": {"kind": "number", "bounds": [0, 10], "shape": "line"}},
}  # fmt: skip


def visits(n):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.uniform(0, 10, n), "years": rng.uniform(0.5, 4, n)})
    return table.assign(visits=rng.poisson(table["years"] * np.exp(0.2 * table["age"] - 1)))


def test_a_table_has_a_column_of_exposures(tmp_path):
    table = visits(2000)
    own = {"lam": LAM, "random_state": 0}
    model = TableModel(EXPOSED, DPPoissonRegressor(INF, **own)).fit(table)
    rows = table[["age"]].to_numpy() / 5 - 1
    bare = DPPoissonRegressor(INF, y_bounds=(0, 30), exposure_bounds=(0.5, 4), **own)
    bare.fit(rows, table["visits"], exposure=table["years"])
    expected = bare.predict(rows, table["years"])
    np.testing.assert_allclose(model.predict(table), expected, rtol=1e-4)
    assert model.score(table) > 0.4
    model.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.schema_.target.exposure_bounds == (0.5, 4.0)
    middle = again.predict(table.assign(years=2.25))
    np.testing.assert_array_equal(again.predict(table.assign(years=None)), middle)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    # Whose exposure is missing contributes nothing, and is not scored.
    spoilt = pd.concat([table, table[:99].assign(years=None, visits=30)])
    assert model.score(spoilt) == model.score(table)
    without = TableModel(EXPOSED, DPPoissonRegressor(INF, **own)).fit(spoilt)
    np.testing.assert_allclose(without.predict(table), expected, rtol=1e-2)
    with pytest.raises(SchemaError, match="no column 'years'"):
        model.predict(table.drop(columns="years"))
    with pytest.raises(ParameterError, match="counts over exposures are not what a pipeline"):
        to_sklearn(model)
    with pytest.raises(ParameterError, match="has an exposure, which is for counts"):
        TableModel(EXPOSED, DPRidge()).fit(table)
    with pytest.raises(ParameterError, match="private scores of counts over exposures"):
        private_score(model, table, epsilon=1.0)
    searched = [TableModel(EXPOSED, DPPoissonRegressor(lam=lam)) for lam in (0.1, 1.0)]
    with pytest.raises(ParameterError, match="has exposure_bounds, which a search cannot"):
        DPModelSearch(searched, epsilon=1.0).fit(table)


def test_files_and_the_command_line_know_exposures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits(3000).to_csv("t.csv", index=False)
    Path("s.toml").write_text(
        '[target]\ncolumn = "visits"\nbounds = [0, 30]\nexposure = "years"\n'
        'exposure_bounds = [0.5, 4]\n[columns.age]\nkind = "number"\nbounds = [0, 10]\n'
    )
    fit = (
        "fit",
        "t.csv",
        "--schema",
        "s.toml",
        "--model",
        "poisson",
        "--epsilon",
        5,
        "--seed",
        1,
    )
    call(*fit, "--out", "m.json")
    call("predict", "m.json", "t.csv", "--out", "p.csv")
    found = pd.read_csv("p.csv")["prediction"].sum()
    assert found == pytest.approx(visits(3000)["visits"].sum(), rel=0.1)
    assert answer("evaluate", "m.json", "t.csv")["records"] == 3000
    assert [own.column for own in look("t.csv", "s.toml").columns][-1] == "years"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"exposure": None}, "exposure and exposure_bounds go together"),
        ({"exposure_bounds": None}, "exposure and exposure_bounds go together"),
        ({"exposure": 7}, "exposure must be the name of one column"),
        ({"exposure": " "}, "exposure must be the name of one column"),
        ({"exposure": "age"}, "column 'age' is the exposure: it cannot be used otherwise"),
        ({"exposure": "visits"}, "column 'visits' is the exposure"),
        ({"exposure_bounds": [0, 4]}, "two positive numbers"),
        ({"exposure_bounds": [4, 1]}, "two positive numbers"),
        ({"bounds": "private"}, "exposure is for counts, with declared bounds"),
        ({"transform": "log1p"}, "exposure is for counts, with declared bounds"),
        ({"bounds": None, "classes": ["a", "b"]}, "exposure is for counts, with declared"),
    ],
)
def test_exposures_that_cannot_be_are_refused(changes, says):
    target = {key: own for key, own in (EXPOSED["target"] | changes).items() if own is not None}
    with pytest.raises(SchemaError, match=says):
        Schema.from_dict({**EXPOSED, "target": target})
