"""Regressions predict within what was declared, unless asked for the bare line."""

import numpy as np
import pandas as pd
import pytest

from commands import call
from dpscd import DPHuberRegressor, DPPoissonRegressor, DPRidge, TableModel, load

X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(2000, 2))
FAR = 40.0 * X


@pytest.mark.parametrize("kind", [DPRidge, DPHuberRegressor])
def test_predictions_stay_within_the_bounds(kind):
    model = kind(2.0, y_bounds=(-0.25, 1), epochs=5, random_state=0).fit(X, X[:, 0])
    clipped = model.predict(FAR)
    assert (clipped.min(), clipped.max()) == (-0.25, 1.0)
    bare = model.set_params(clip_predictions=False).predict(FAR)
    np.testing.assert_allclose(bare, FAR @ model.coef_ + model.intercept_, rtol=1e-9)
    assert bare.min() < -1.0
    np.testing.assert_array_equal(clipped, np.clip(bare, -0.25, 1.0))
    inside = (bare > -0.25) & (bare < 1.0)
    np.testing.assert_array_equal(clipped[inside], bare[inside])


def test_a_fit_does_not_depend_on_it():
    models = [
        DPRidge(2.0, y_bounds=(-1, 1), epochs=5, random_state=0, clip_predictions=choice)
        for choice in (True, False)
    ]
    found = [model.fit(X, X[:, 0]) for model in models]
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)
    assert found[0].privacy_ == found[1].privacy_


def counting(**parameters):
    model = DPPoissonRegressor(2.0, y_bounds=(1, 30), epochs=5, random_state=0, **parameters)
    exposure = np.full(len(X), 3.0) if "exposure_bounds" in parameters else None
    return model.fit(X, np.round(np.exp(2 * X[:, 0] + 2)), exposure=exposure)


def test_counts_stay_within_the_bounds():
    model = counting()
    found = model.predict(FAR)
    assert (found.min(), found.max()) == (1.0, 30.0)
    # Counts over other exposures than 1: rates stay within the bounds.
    np.testing.assert_allclose(model.predict(FAR, exposure=7.0), 7.0 * found)
    bare = model.set_params(clip_predictions=False).predict(FAR)
    assert bare.min() < 1.0
    assert bare.max() > 100.0


def test_bounds_of_counts_hold_for_every_declared_exposure():
    model = counting(exposure_bounds=(2, 8))
    for exposure in (2.0, 3.0, 7.0, 8.0):
        found = model.predict(FAR, exposure=exposure)
        assert (found.min(), found.max()) == (1.0, 30.0)
    # Beyond, as at the nearest declared one, in proportion.
    np.testing.assert_allclose(
        model.predict(FAR, exposure=16.0), 2.0 * model.predict(FAR, exposure=8.0)
    )
    np.testing.assert_allclose(model.predict(FAR), 0.5 * model.predict(FAR, exposure=2.0))
    assert not model.predict(FAR, exposure=0.0).any()
    each = np.resize([2.0, 16.0], len(X))
    np.testing.assert_array_equal(
        model.predict(FAR, exposure=each)[::2], model.predict(FAR, exposure=2.0)[::2]
    )


def test_a_table_is_predicted_within_released_bounds(tmp_path):
    table = pd.DataFrame({"a": X[:, 0], "y": 5.0 * X[:, 0]})
    # Declared bounds let a row be far from all that were trained on.
    columns = {"a": {"kind": "number", "bounds": [-20, 20], "shape": "line"}}
    schema = {"target": {"column": "y", "bounds": "private"}, "columns": columns}
    model = TableModel(schema, DPRidge(5.0, epochs=5, random_state=0)).fit(table)
    low, high = model.bounds_["y"]
    far = pd.DataFrame({"a": [-20.0, 0.0, 20.0]})
    found = model.predict(far)
    assert sorted(found)[0] == low
    assert sorted(found)[2] == high
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load(tmp_path / "model.json").predict(far), found)
    far.to_csv(tmp_path / "far.csv", index=False)
    files = (tmp_path / "model.json", tmp_path / "far.csv", "--out", tmp_path / "out.csv")
    call("predict", *files)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], found)
