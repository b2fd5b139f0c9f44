import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from measured_rows import SLACK, entries

from dpscd.kernels.dual import Records
from dpscd.kernels.pack import LABEL, LARGEST, NORM, SCALE, WEIGHT, pack_rows
from dpscd.losses import Squared
from dpscd.problem import Problem


def pack_of(X, *, row_bound=1.0, constant=0.0, labels=None, weights=None):
    problem = Problem(Squared(), 1.0, 10, X.shape[1], row_bound=row_bound, constant=constant)
    count = len(X)
    labels = np.zeros(count) if labels is None else labels
    weights = np.ones(count) if weights is None else weights
    rows = problem.rows(X)
    return rows, pack_rows(rows, Records(labels, weights))


def numbers_of(pack, i):
    return pack.cells[i, : pack.width].astype(float)


def state_of(pack, i):
    return pack.state[i, pack.place : pack.place + 4]


@pytest.mark.parametrize("constant", [0.0, 0.3], ids=["no tail", "tail"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("features", [1, 3, 7, 31, 32, 90])
def test_a_packed_row_is_near_the_row(features, dtype, constant):
    generator = np.random.default_rng(5)
    X = generator.normal(size=(12, features)).astype(dtype)
    rows, pack = pack_of(X, constant=constant)
    assert pack.width == features + (constant != 0.0)
    for i in range(len(X)):
        record = np.append(rows.factor[i] * X[i].astype(float), rows.tail)[: pack.width]
        found = state_of(pack, i)[SCALE] * numbers_of(pack, i)
        largest = np.abs(record).max()
        np.testing.assert_allclose(found, record, rtol=0.0, atol=1.001 * 2.0**-16 * largest)
        assert np.abs(numbers_of(pack, i)).max() == LARGEST
        assert not pack.cells[i, pack.width : pack.padded].any()


@pytest.mark.parametrize("constant", [0.0, 0.3], ids=["no tail", "tail"])
@given(x=st.lists(entries, min_size=5, max_size=5), bound=st.floats(1e-3, 1e3))
@example(x=[1.7e308] * 5, bound=1.0)
@example(x=[5e-324] * 5, bound=1.0)
@example(x=[0.0] * 5, bound=1.0)
@example(x=[2.0**-899, 0.0, 0.0, 0.0, 0.0], bound=1.0)
@example(x=[1e-200, 1e-155, 1e-90, 0.0, 0.0], bound=1.0)
def test_norm_bounds_the_exact_length_of_the_packed_row(constant, x, bound):
    with np.errstate(all="ignore"):
        _, pack = pack_of(np.array([x]), row_bound=bound, constant=constant)
    scale, norm, _, _ = map(Fraction, state_of(pack, 0))
    square = scale**2 * sum(int(q) ** 2 for q in numbers_of(pack, 0))
    assert (norm * SLACK) ** 2 >= square
    assert norm**2 <= square * SLACK**2
    assert (scale > 0) == any(numbers_of(pack, 0))


def test_rows_that_are_empty_or_no_numbers_are_silent():
    X = np.ones((6, 4))
    X[0, 1], X[1, 2], X[2, 0] = math.nan, math.inf, -math.inf
    X[3] = 0.0
    X[4] = 2.0**-950
    _, pack = pack_of(X)
    for i in range(5):
        assert not pack.cells[i, : pack.padded].any()
        assert state_of(pack, i)[[SCALE, NORM]].tolist() == [0.0, 0.0]
    assert state_of(pack, 5)[NORM] > 0.0


def test_labels_and_weights_stand_behind_the_row():
    X = np.ones((3, 4))
    labels, weights = np.array([1.0, math.nan, -2.0]), np.array([0.5, 0.0, math.inf])
    _, pack = pack_of(X, labels=labels, weights=weights)
    state = pack.state[:, pack.place :]
    np.testing.assert_array_equal(state[:, LABEL], labels)
    np.testing.assert_array_equal(state[:, WEIGHT], weights)


@pytest.mark.parametrize("features", range(1, 200, 3))
def test_a_pack_is_no_larger_than_the_matrix_in_float32(features):
    X = np.ones((2, features))
    _, pack = pack_of(X, constant=0.3)
    stride = 2 * pack.cells.shape[1]
    # Rows of few features cannot help it: they have their state as well.
    assert stride <= max(4 * features, 2 * (features + 4) + 32)
    assert pack.place * 4 == pack.padded >= pack.width
    if features >= 48:
        assert stride % 64 == 0
        assert pack.cells.ctypes.data % 64 == 0


def test_a_matrix_without_features_or_records_is_packed():
    _, pack = pack_of(np.zeros((2, 0)), constant=0.3)
    assert pack.cells[:, 0].tolist() == [LARGEST, LARGEST]
    _, pack = pack_of(np.zeros((2, 0)))
    assert pack.state[:, pack.place + NORM].tolist() == [0.0, 0.0]
    _, pack = pack_of(np.zeros((0, 3)))
    assert len(pack.cells) == 0
