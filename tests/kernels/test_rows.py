from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from measured_rows import exact_square, rows_of
from numba import njit

from dpscd.kernels.rows import CsrRows, DenseRows, add, add_truncated, dot


def matrix(dtype):
    generator = np.random.default_rng(5)
    X = generator.normal(size=(12, 7)) * (generator.random((12, 7)) < 0.6)
    X[3] = 0.0
    return X.astype(dtype)


def interpreted_operations(rows, i, scale, vector):
    product = dot(rows, i, vector)
    plain = vector.copy()
    add(rows, i, scale, plain)
    cut = np.zeros(vector.shape[0])
    add_truncated(rows, i, scale, cut)
    return product, plain, cut


compiled_operations = njit(error_model="numpy")(interpreted_operations)


@pytest.mark.full
@pytest.mark.parametrize("constant", [0.0, 0.3], ids=["no tail", "tail"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_csr_and_python_agree(dtype, constant):
    X = matrix(dtype)
    dense = rows_of(X, constant=constant)
    csr = rows_of(scipy.sparse.csr_matrix(X), constant=constant)
    assert isinstance(dense, DenseRows)
    assert isinstance(csr, CsrRows)
    np.testing.assert_allclose(csr.norm, dense.norm, rtol=1e-15)
    np.testing.assert_allclose(csr.factor, dense.factor, rtol=1e-15)
    vector = np.random.default_rng(6).normal(size=7 + bool(constant))
    for i in range(len(X)):
        record = np.append(dense.factor[i] * X[i].astype(float), dense.tail)[: len(vector)]
        # 4321.5: far enough from whole numbers that no rounding changes what is cut.
        for operations in (compiled_operations, interpreted_operations):
            for rows in (dense, csr):
                product, plain, cut = operations(rows, i, 4321.5, vector)
                assert product == pytest.approx(record @ vector, abs=1e-14)
                np.testing.assert_allclose(plain, vector + 4321.5 * record, rtol=1e-13)
                np.testing.assert_array_equal(cut, np.trunc(4321.5 * record))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_truncated_sums_are_whole_and_do_not_depend_on_order(sparse):
    generator = np.random.default_rng(8)
    X = generator.normal(size=(200, 7))
    rows = rows_of(scipy.sparse.csr_matrix(X) if sparse else X, constant=0.3)
    scales = generator.normal(size=200) * 2.0**34
    sums = []
    for _ in range(4):
        total = np.zeros(8)
        for i in generator.permutation(200):
            add_truncated(rows, i, scales[i], total)
        sums.append(total)
        assert (total == np.trunc(total)).all()
        assert np.abs(total).max() > 2.0**30
    for other in sums[1:]:
        np.testing.assert_array_equal(other, sums[0])


@given(x=st.lists(st.floats(-2.0, 2.0), min_size=4, max_size=4), scale=st.floats(-1e9, 1e9))
def test_a_truncated_row_is_no_longer_than_the_scaled_one(x, scale):
    rows = rows_of(np.array([x]), constant=0.3)
    cut = np.zeros(5)
    add_truncated(rows, 0, scale, cut)
    length = sum(Fraction(v) ** 2 for v in cut)
    allowed = Fraction(scale) ** 2 * exact_square(rows, 0, x)
    assert length <= allowed * (1 + Fraction(1, 2**50))


def test_wrapping_does_not_copy_and_seals_the_values():
    X = matrix(np.float64)
    rows = rows_of(X)
    assert np.shares_memory(rows.values, X)
    assert not rows.values.flags.writeable
    assert X.flags.writeable
