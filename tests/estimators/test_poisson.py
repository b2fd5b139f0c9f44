"""The Poisson regression: scikit-learn's at epsilon inf, exposures, and counts with privacy."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import PoissonRegressor

from dpscd import DPPoissonRegressor, ParameterError, TableModel, load
from dpscd.audit import audit

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
    assert load(tmp_path / "model.json").coef_noise_ == pytest.approx(model.coef_noise_)


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
        assert again.coef_noise_ == pytest.approx(model.estimator_.coef_noise_)


@pytest.mark.filterwarnings("error", "ignore:.*no better than guessing")
def test_small_exposures_are_not_told():
    X, y, _ = records(50)
    own = {"y_bounds": (0, 1e10), "exposure_bounds": (1e-305, 1.0), "epochs": 1}
    exposure = np.r_[1e-305, np.ones(49)]
    model = DPPoissonRegressor(standardise=False, **own).fit(X, y, exposure=exposure)
    assert np.isfinite(model.coef_).all()


def test_tables_have_no_exposure_and_canaries_are_no_counts():
    model = TableModel(counted([0, 9], [0, 1]), DPPoissonRegressor(exposure_bounds=(1, 2)))
    with pytest.raises(ParameterError, match="tables have no exposure"):
        model.fit(TABLE)
    with pytest.raises(ParameterError, match="counts cannot be audited"):
        audit(DPPoissonRegressor(), trials=100)


def test_tables_of_counts_have_declared_bounds():
    with pytest.raises(ParameterError, match="must be declared"):
        TableModel(counted("private", [0, 1]), DPPoissonRegressor()).fit(TABLE)
    model = TableModel(counted([0, 5], [0, 1]), DPPoissonRegressor(random_state=0)).fit(TABLE)
    assert (model.predict(TABLE) >= 0.0).all()
