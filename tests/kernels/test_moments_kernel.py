"""Moments against exact arithmetic, and brute force on what one record adds."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpscd.kernels.passes import add_moments
from dpscd.kernels.rows import DenseRows
from dpscd.losses import Squared
from dpscd.problem import Problem

D = 4
CELL = 2.0**-29
FINE = 2.0**-45  # so fine that what cutting takes away does not hide what rounding adds

KERNELS = {"compiled": add_moments, "interpreted": getattr(add_moments, "py_func", add_moments)}
extreme = st.sampled_from(
    [
        math.nan, math.inf, -math.inf, 1.7e308, -1e308, 1e200, 5e-324, -5e-324, 2.0**-1022,
        1e-170, 0.0, -0.0, 1.0, -1.0, 1.0 + 2**-52, 1.0 - 2**-53, 0.5, 1e16,
    ]
)  # fmt: skip
number = st.one_of(st.floats(-2.0, 2.0), st.floats(), extreme)
row = st.lists(number, min_size=D, max_size=D)
weight = st.one_of(st.just(1.0), st.floats(0.0, 10.0), extreme)


def rows_of(X, *, layout="dense", dtype=np.float64, row_bound=1.0):
    with np.errstate(all="ignore"):
        X = np.atleast_2d(np.array(X)).astype(dtype)
        X = scipy.sparse.csr_matrix(X) if layout == "csr" else X
        return Problem(Squared(), 1.0, 10, D, row_bound=row_bound).plain_rows(X)


def total_of(rows, weights, *, kernel=add_moments, cell=CELL):
    total = np.zeros((2, D))
    with np.errstate(all="ignore"):
        kernel(rows, np.asarray(weights, dtype=float), cell, total)
    return total


def square_of(total, cell=CELL):
    """Return the exact squared length of what was added."""
    return sum((Fraction(x) * Fraction(cell)) ** 2 for x in total.ravel().tolist())


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_plain_numpy(kernel, layout, dtype):
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(300, D)) * (rng.random((300, D)) < 0.7)).astype(dtype)
    weights = np.where(rng.random(300) < 0.2, 0.0, rng.uniform(0.1, 5.0, 300))
    rows = rows_of(X, layout=layout, dtype=dtype, row_bound=2.0)
    total = total_of(rows, weights, kernel=kernel)
    x = X.astype(float)
    x /= 2.0 * np.maximum(np.linalg.norm(x, axis=1, keepdims=True) / 2.0, 1.0)
    x = x[weights > 0.0]
    exact = np.array([x.sum(axis=0), (x * x).sum(axis=0)]) / math.sqrt(2.0)
    # Contributions are shortened by 2^-20 and each is cut by at most a cell.
    bound = np.array([np.abs(x).sum(axis=0), (x * x).sum(axis=0)]) * 2.0**-20 + 300 * CELL
    assert (np.abs(total * CELL - exact) <= bound).all()


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_one_record_is_cut_toward_zero_entry_by_entry(kernel, layout):
    x = [0.25, -0.5, 0.0, 0.3]
    total = total_of(rows_of([x], layout=layout), [2.5], kernel=kernel)
    scale = (1.0 - 2.0**-20) * math.sqrt(0.5) / CELL
    for j, value in enumerate(x):
        for found, part in ((total[0, j], value), (total[1, j], value * value)):
            exact = Fraction(scale) * Fraction(part)
            assert found == math.trunc(found)
            assert abs(found) <= abs(exact) * (1 + Fraction(1, 2**50))
            assert abs(Fraction(found) - exact) < 1


@pytest.mark.full
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@settings(max_examples=100)
@given(
    X=st.lists(row, min_size=3, max_size=3),
    other=row,
    weights=st.lists(weight, min_size=3, max_size=3),
    bound=st.sampled_from([1.0, 1e-3, 3.7, 1e100]),
    cell=st.sampled_from([CELL, FINE]),
)
@example(X=[[1.0, 0, 0, 0]] * 3, other=[-1.0, 0, 0, 0], weights=[1.0] * 3, bound=1.0, cell=FINE)
@example(X=[[1.7e308] * 4] * 3, other=[5e-324] * 4, weights=[1.0] * 3, bound=1.0, cell=FINE)
def test_no_neighbour_moves_the_moments_by_more_than_one(
    kernel, layout, dtype, X, other, weights, bound, cell
):
    kind = {"layout": layout, "dtype": dtype, "row_bound": bound}
    options = {"kernel": kernel, "cell": cell}
    full = total_of(rows_of(X, **kind), weights, **options)
    assert (full == np.trunc(full)).all()
    # Zero-out: the first record has weight zero. Add-remove: it is not there.
    without = total_of(rows_of(X, **kind), [0.0, *weights[1:]], **options)
    np.testing.assert_array_equal(
        total_of(rows_of(X[1:], **kind), weights[1:], **options), without
    )
    assert square_of(full - without, cell) <= 1
    # Replace-one.
    replaced = total_of(rows_of([other, *X[1:]], **kind), [1.0, *weights[1:]], **options)
    assert square_of(full - replaced, cell) <= 4


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_bound_is_attained_and_rows_a_little_too_long_stay_below_it(kernel):
    for length in (1.0, 1.0 + 2.0**-31, 1.0 + 2.0**-30):
        # As rounding in the factor of a row might leave it.
        rows = DenseRows(np.eye(1, D), np.array([length]), np.array([length]), 0.0)
        square = square_of(total_of(rows, [1.0], kernel=kernel, cell=FINE), FINE)
        assert Fraction(99999, 100000) < square <= 1
    longer = 1.0 + 2.0**-29
    rows = DenseRows(np.eye(1, D), np.array([longer]), np.array([longer]), 0.0)
    assert not total_of(rows, [1.0], kernel=kernel, cell=FINE).any()


@pytest.mark.parametrize("weight", [0.0, -0.0, -1.0, -math.inf, math.nan])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_a_record_without_weight_adds_nothing(kernel, weight):
    assert not total_of(rows_of([[0.5] * D]), [weight], kernel=kernel).any()


@pytest.mark.parametrize("weight", [5e-324, 1.0, 1e308, math.inf])
def test_a_record_with_any_weight_counts_once(weight):
    one = total_of(rows_of([[0.3] * D]), [1.0])
    np.testing.assert_array_equal(total_of(rows_of([[0.3] * D]), [weight]), one)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_a_row_that_holds_no_number_adds_nothing(kernel, layout, bad):
    assert not total_of(rows_of([[0.5, bad, 0.1, 0.0]], layout=layout), [1.0]).any()
    assert total_of(rows_of([[0.5] * D], layout=layout), [1.0], kernel=kernel).all()


@pytest.mark.compiled
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_sums_of_many_records_are_exact_in_any_order(layout):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(20_000, D))
    total = total_of(rows_of(X, layout=layout), np.ones(20_000))
    order = rng.permutation(20_000)
    np.testing.assert_array_equal(
        total_of(rows_of(X[order], layout=layout), np.ones(20_000)), total
    )
    alone = total_of(rows_of(X[:1], layout=layout), [1.0])
    rest = total_of(rows_of(X[1:], layout=layout), np.ones(19_999))
    np.testing.assert_array_equal(rest + alone, total)
    assert np.abs(total).max() > 2.0**40  # beyond what single precision would hold
