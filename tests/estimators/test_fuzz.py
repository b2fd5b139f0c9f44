"""Random parameters and random tables: documented errors only, and no value in a message."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpscd import DPLinearSVC, DPLogisticRegression, DPRidge, DpscdError

RELAXED = settings(max_examples=150, suppress_health_check=list(HealthCheck))

junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.floats(),
    st.text(max_size=3),
    st.just("auto"),
    st.lists(st.integers(0, 2), max_size=3),
)
ordinary = {
    "epsilon": st.sampled_from([0.5, 1.0, math.inf]),
    "delta": st.sampled_from(["auto", 1e-6, 0.01]),
    "lam": st.sampled_from(["auto", 1e-3, 1.0]),
    "epochs": st.sampled_from([1, 2.5]),
    "lot_size": st.sampled_from(["auto", 1, 12]),
    "travel": st.sampled_from(["auto", 0.1, 2.0]),
    "relation": st.sampled_from(["zero-out", "replace-one", "add-remove"]),
    "row_bound": st.sampled_from([1.0, 1e-3, 1e3]),
    "n": st.sampled_from([None, 12, 50]),
    "fit_intercept": st.booleans(),
    "intercept_scaling": st.sampled_from(["auto", 1.0]),
    "standardise": st.sampled_from(["auto", True, False]),
    "n_jobs": st.sampled_from([None, 1, 2, -1]),
    "random_state": st.sampled_from([None, 0]),
    "y_bounds": st.sampled_from([(0, 1), (-5.0, 7.5), None]),
    "classes": st.sampled_from([[0, 1], [0, 1, 2], ["a", "b"], None]),
    "class_weight": st.sampled_from([None, {0: 2.0}, "balanced"]),
}


@st.composite
def parameters(draw):
    chosen = draw(st.lists(st.sampled_from(sorted(ordinary)), max_size=8, unique=True))
    spoiled = set(draw(st.lists(st.sampled_from(sorted(ordinary)), max_size=2)))
    return {
        name: draw(junk if name in spoiled else ordinary[name])
        for name in {*chosen, *spoiled, "epochs"}
    }


@pytest.mark.full
@RELAXED
@given(given=parameters(), kind=st.sampled_from([DPRidge, DPLogisticRegression, DPLinearSVC]))
@example(given={"epochs": 1, "lam": 2.2250738585072014e-308}, kind=DPLogisticRegression)
def test_parameters(given, kind):
    own = {"y_bounds"} if kind is DPRidge else {"classes", "class_weight"}
    other = {"y_bounds", "classes", "class_weight"} - own
    model = kind(**{name: value for name, value in given.items() if name not in other})
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(12, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            model.fit(X, np.arange(12) % 2)
        except DpscdError as error:
            assert error.__cause__ is None
            return
    assert np.isfinite(model.coef_).all()
    assert model.privacy_.verify() <= model.privacy_.epsilon


SECRET = "Zx7Secret"
cell = st.one_of(
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.none(),
    st.booleans(),
    st.sampled_from(["", "1.5", "n/a", SECRET, SECRET.encode(), "١٢", "0x10", "1_000"]),
    st.complex_numbers(max_magnitude=2.0),
)


@settings(RELAXED, max_examples=50)
@given(
    table=st.lists(st.lists(cell, min_size=0, max_size=3), max_size=6),
    labels=st.lists(cell, max_size=6),
    kind=st.sampled_from(
        [DPRidge(y_bounds=(0, 1)), DPLinearSVC(classes=[0, 1]), DPLinearSVC()]
    ),
)
def test_tables_of_anything(table, labels, kind):
    model = kind.set_params(epochs=1)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            model.fit(table, labels)
        except DpscdError as error:
            assert SECRET not in str(error)
            assert error.__cause__ is None
            assert error.__context__ is None
    assert not any(SECRET in str(warning.message) for warning in seen)
