"""One record's exposure changes no other record's triple."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hostile import ANYTHING, ENTRANCE, changes, check_change
from hypothesis import given
from hypothesis import strategies as st
from kinds import frame_of, object_column
from opening import rows_reader, table_part_reader

from dpscd import DPPoissonRegressor, Schema
from dpscd.errors import DataError
from dpscd.records.labels import CountLabels
from dpscd.records.refusals import REFUSALS

READ = rows_reader(CountLabels(0.0, 9.0, 0.5, 4.0), 1)
TARGET = {"column": "y", "bounds": [0, 9], "exposure": "years", "exposure_bounds": [0.5, 4]}
COLUMNS = {"x": {"kind": "boolean"}}
TABLE = Schema.from_dict({"target": TARGET, "columns": COLUMNS})
READ_TABLE = table_part_reader(TABLE, CountLabels(0.0, 9.0, 0.5, 4.0))
numbers = (
    st.floats(-1e300, 1e300) | st.integers(-(2**70), 2**70) | st.sampled_from(["2", "1e-3"])
)


@given(
    exposures=st.lists(numbers, min_size=2, max_size=5),
    other=numbers,
    k=st.integers(0, 4),
    make=st.sampled_from([list, tuple, lambda x: np.array(x, dtype=object)]),
)
def test_an_exposure_is_its_own_records_alone(exposures, other, k, make):
    n = len(exposures)
    k %= n
    X, y = np.ones((n, 1)), np.arange(n)
    changed = [other if i == k else x for i, x in enumerate(exposures)]
    one, two = (READ(X, y, None, make(x)) for x in (exposures, changed))
    kept = np.arange(n) != k
    for first, second in zip(one[:3], two[:3], strict=True):
        np.testing.assert_array_equal(np.asarray(first)[kept], np.asarray(second)[kept])
    for i in range(n):
        alone = READ(X[i : i + 1], y[i : i + 1], None, make(exposures[i : i + 1]))
        assert (alone.labels[0], alone.weights[0]) == (one.labels[i], one.weights[i])


@ENTRANCE
@given(change=changes(ANYTHING, 3, ()))
def test_an_exposure_of_a_table_is_its_own_records_alone(change):
    check_change(
        READ_TABLE, frame_of(object_column, ("x", "y", "years")), change, refuses=False
    )


@given(
    value=st.none() | st.floats() | st.sampled_from(["", "?", "much"]), count=st.floats(0, 9)
)
def test_an_exposure_of_a_table_is_moved_to_its_bounds_or_silent(value, count):
    cells = {"x": [True, True], "y": [count, 1], "years": [value, 2.25]}
    found = READ_TABLE(pd.DataFrame(cells, dtype=object))
    known = isinstance(value, float) and np.isfinite(value)
    share = min(max(value, 0.5), 4.0) / 2.25 if known else 1.0
    np.testing.assert_allclose(found.weights, [share if known else 0.0, 1.0])
    np.testing.assert_allclose(found.labels, [count / share, 1.0])


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_exposures_outside_are_moved_to_the_bounds(value):
    found = READ([[1.0]], [3], None, [value])
    share = min(max(value, 0.5), 4.0) / 2.25
    assert found.weights[0] == pytest.approx(share)
    assert found.labels[0] == pytest.approx(3.0 / share)


@pytest.mark.parametrize(
    "exposure", [[1.0, np.nan], [1.0, np.inf], ["much", 1.0], [None, 1.0], [1.0]]
)
def test_what_is_no_exposure_is_refused_with_a_fixed_text(exposure):
    with pytest.raises(DataError) as error:
        READ(np.ones((2, 1)), [0, 1], None, exposure)
    assert str(error.value) in REFUSALS


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(200, 1))
    return DPPoissonRegressor(np.inf, y_bounds=(0, 9)).fit(X, rng.poisson(3.0, size=200))


@pytest.mark.full
def test_predictions_too(model):
    X = np.ones((3, 1))
    rate = model.predict(X[:1])[0]
    exposures = [np.float32(0.1), 2, 3.0]
    expected = [rate * float(np.float32(0.1)), rate * 2.0, rate * 3.0]
    for last in (3.0, "3", "3.0", np.float16(3), Decimal(3), [3]):
        found = model.predict(X, exposure=[*exposures[:2], last])
        np.testing.assert_array_equal(found, expected)
    for two in (2, 2.0, np.array(2.0), [[2], [2], [2]], np.full((3, 1), 2)):
        np.testing.assert_array_equal(model.predict(X, two), [rate * 2.0] * 3)


@pytest.mark.parametrize(
    "exposure", [[1.0, 2.0, "secret"], [1.0], [[1.0, 2.0, 3.0]], "3", None]
)
def test_predictions_refuse_with_a_fixed_text(model, exposure):
    with pytest.raises(DataError) as error:
        model.predict(np.ones((3, 1)), exposure)
    assert str(error.value) in REFUSALS
