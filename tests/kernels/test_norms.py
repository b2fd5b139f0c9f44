import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given
from hypothesis import strategies as st
from measured_rows import SLACK, entries, exact_square, rows_of

from dpscd.kernels.dual import Records
from dpscd.kernels.pack import pack_rows
from dpscd.kernels.passes import measure_rows
from dpscd.kernels.rows import CsrRows

SHORTEST = 2.0**-300


@pytest.mark.parametrize("constant", [0.0, 0.3], ids=["no tail", "tail"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@given(x=st.lists(entries, min_size=5, max_size=5), bound=st.floats(1e-3, 1e3))
@example(x=[1.7e308] * 5, bound=1.0)
@example(x=[5e-324] * 5, bound=1.0)
@example(x=[0.0] * 5, bound=1.0)
@example(x=[0.0, 0.0, 3.0, 0.0, 0.0], bound=1e-3)
@example(x=[1e-200, 1e-155, 1e-90, 0.0, 0.0], bound=1.0)
def test_norm_bounds_the_exact_length_of_the_scaled_row(sparse, constant, x, bound):
    X = np.array([x])
    with np.errstate(all="ignore"):
        rows = rows_of(
            scipy.sparse.csr_matrix(X) if sparse else X, row_bound=bound, constant=constant
        )
    square = exact_square(rows, 0, x)
    norm = Fraction(rows.norm[0])
    assert (norm * SLACK) ** 2 >= square
    if rows.norm[0] > SHORTEST:
        assert norm**2 <= square * SLACK**2
    scale = math.hypot(bound, constant)
    length = math.hypot(*x)
    if length < bound * (1.0 - 1e-12):
        assert rows.factor[0] == 1.0 / scale
    elif rows.factor[0] > 1e-300:  # smaller factors are not known to full precision
        ball = Fraction(bound) / Fraction(scale)
        assert square - Fraction(rows.tail) ** 2 <= (ball * SLACK) ** 2


singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def single_rows(draw):
    """Rows of single precision: a few chosen entries, the rest random, of any width."""
    width = draw(st.integers(1, 40) | st.sampled_from([90, 256, 257, 1000]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = generator.normal(size=(3, width)) * (generator.random((3, width)) < 0.8)
    X *= 2.0 ** draw(st.integers(-20, 20))
    for entry in draw(st.lists(singles, max_size=4)):
        X[generator.integers(3), generator.integers(width)] = entry
    with np.errstate(over="ignore"):
        return X.astype(np.float32)


def measured(rows):
    return [rows.factor.tobytes(), rows.norm.tobytes()]


def packed(rows):
    count = len(rows.factor)
    pack = pack_rows(rows, Records(np.zeros(count), np.ones(count)))
    return pack.cells[:, : pack.padded + 16].tobytes()


@pytest.mark.parametrize("constant", [0.0, 0.3], ids=["no tail", "tail"])
@given(X=single_rows(), bound=st.floats(1e-3, 1e3))
def test_what_a_row_is_kept_in_does_not_matter_to_the_last_bit(constant, X, bound):
    kept = {"row_bound": bound, "constant": constant}
    one, two = rows_of(X, **kept), rows_of(X.astype(np.float64), **kept)
    assert measured(one) == measured(two)
    assert packed(one) == packed(two)
    few = scipy.sparse.csr_matrix(X)
    one, two = rows_of(few, **kept), rows_of(few.astype(np.float64), **kept)
    assert measured(one) == measured(two)


@given(X=single_rows(), bound=st.floats(1e-3, 1e3))
def test_rows_without_zeros_are_measured_alike_dense_and_sparse(X, bound):
    X[X == 0.0] = 1.0
    dense = rows_of(X, row_bound=bound)
    assert measured(dense) == measured(rows_of(scipy.sparse.csr_matrix(X), row_bound=bound))


@given(X=single_rows(), bound=st.floats(1e-3, 1e3))
def test_a_row_is_measured_as_if_it_were_alone(X, bound):
    together = rows_of(X, row_bound=bound)
    alone = [rows_of(X[i : i + 1], row_bound=bound) for i in range(len(X))]
    assert together.factor.tolist() == [rows.factor[0] for rows in alone]
    assert together.norm.tolist() == [rows.norm[0] for rows in alone]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@given(X=single_rows(), bound=st.floats(1e-3, 1e3))
def test_compiled_and_interpreted_norms_are_equal_to_the_last_bit(sparse, X, bound):
    rows = rows_of(scipy.sparse.csr_matrix(X) if sparse else X, row_bound=bound, constant=0.3)
    again = rows._replace(factor=np.empty(3), norm=np.empty(3))
    interpreted = getattr(measure_rows, "py_func", measure_rows)
    interpreted(again, bound, math.hypot(bound, 0.3))
    assert measured(again) == measured(rows)


def test_norm_bounds_the_length_of_a_very_wide_row():
    # Each small square is lost when it is added to 1; together they are not small.
    x = np.full((1, 2**17), 2.0**-27)
    x[0, 0] = 1.0
    rows = rows_of(x, row_bound=2.0)
    square = Fraction(rows.factor[0]) ** 2 * (1 + (2**17 - 1) * Fraction(1, 2**54))
    assert (Fraction(rows.norm[0]) * SLACK) ** 2 >= square


def test_an_empty_row_without_tail_has_norm_zero_and_with_one_the_tail():
    X = np.zeros((2, 3))
    assert rows_of(X).norm.tolist() == [0.0, 0.0]
    rows = rows_of(X, constant=0.3)
    assert rows.norm.tolist() == [rows.tail, rows.tail]


def test_a_matrix_without_features_is_measured():
    rows = rows_of(np.zeros((2, 0)), constant=0.3)
    assert rows.norm.tolist() == [rows.tail, rows.tail]
    assert rows_of(np.zeros((2, 0))).norm.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_a_row_with_a_value_that_is_no_number_is_marked(bad, dtype, sparse):
    X = np.ones((3, 4), dtype=dtype)
    X[1, 2] = bad
    rows = rows_of(scipy.sparse.csr_matrix(X) if sparse else X)
    assert np.isnan(rows.norm).tolist() == [False, True, False]
    assert rows.factor[1] == 0.0


@pytest.mark.parametrize(
    "indices",
    [[1, 1], [2, 1], [0, 4], [0, 2**31 - 1], [-1, 2]],
    ids=["duplicate", "unsorted", "out of range", "far out of range", "negative"],
)
def test_a_csr_row_with_bad_indices_is_marked(indices):
    values = np.array([0.1, 0.1, 0.1])
    columns = np.array([3, *indices], dtype=np.int32)
    starts = np.array([0, 1, 3], dtype=np.int64)
    rows = CsrRows(values, columns, starts, 4, np.empty(2), np.empty(2), 0.0)
    measure_rows(rows, 1.0, 1.0)
    assert np.isnan(rows.norm).tolist() == [False, True]


@pytest.mark.parametrize("indptr", [[0, 5, 2], [0, -1, 2], [1, 0, 2], [0, 1, 99]])
def test_a_csr_row_with_bad_pointers_is_marked(indptr):
    rows = CsrRows(
        np.ones(2), np.array([0, 1]), np.array(indptr), 2, np.empty(2), np.empty(2), 0.0
    )
    measure_rows(rows, 1.0, 1.0)
    assert np.isnan(rows.norm).any()
    assert ((rows.factor == 0.0) == np.isnan(rows.norm)).all()
