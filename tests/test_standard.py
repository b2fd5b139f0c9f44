"""The map of rows: what it does, that it is undone for the model, and on what it rests."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpscd import standard
from dpscd.standard import LONGEST, Levels, Standard, standard_of

KINDS = {
    "centred": {"centred": True, "turned": False},
    "turned": {"centred": False, "turned": True},
    "scaled": {"centred": False, "turned": False},
}


def table(n=5000, d=6, seed=0):
    """Rows of length at most 1 with a common part and columns of different size."""
    rng = np.random.default_rng(seed)
    X = 0.15 + 0.1 * rng.normal(size=(n, d)) * np.geomspace(0.03, 1.0, d)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)


def map_of(X, kind, error=1e-5):
    return standard_of(X.mean(axis=0), (X * X).mean(axis=0), error, **KINDS[kind])


def random_map(d, seed=0):
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=d)
    return Standard(
        centre=rng.normal(size=d),
        scale=rng.uniform(0.5, 2.0, d),
        direction=direction / np.linalg.norm(direction),
        shrink=0.7,
    )


def applied(one, X):
    rows = (X - one.centre) * one.scale
    return rows - one.shrink * np.outer(rows @ one.direction, one.direction)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 5, standard._BLOCK, 2 * standard._BLOCK + 3])
def test_dense_rows_are_the_formula(n, dtype):
    X = np.random.default_rng(1).normal(size=(n, 7)).astype(dtype)
    factor = np.random.default_rng(2).uniform(0.1, 1.0, n)
    one = random_map(7)
    found = one.dense(X, factor)
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    expected = applied(one, X.astype(float) * factor[:, None])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 150))
def test_a_row_is_the_same_to_the_last_bit_wherever_it_stands(seed, d):
    """Under add-remove all rows behind a missing one move up; none of them may change."""
    rng = np.random.default_rng(seed)
    turn = random_map(d, seed)
    plain = Standard(turn.centre, turn.scale, turn.direction, 0.0)
    # Rows along the direction, all of which is taken away: what is left is rounding.
    whole = Standard(np.zeros(d), np.ones(d), turn.direction, 1.0)
    along = np.outer(rng.normal(size=50), turn.direction)
    for one, X in ((turn, rng.normal(size=(50, d))), (plain, along), (whole, along)):
        factor = rng.uniform(0.1, 1.0, 50)
        all_rows = one.dense(X, factor)
        for chosen in (slice(1, None), slice(7, 8), rng.permutation(50)):
            some = one.dense(np.ascontiguousarray(X[chosen]), factor[chosen])
            np.testing.assert_array_equal(some, all_rows[chosen])
        np.testing.assert_array_equal(one.dense(np.asfortranarray(X), factor), all_rows)


def test_sparse_entries_are_scaled_and_nothing_else():
    one = random_map(4)
    values, indices = np.array([1.0, 2.0, 3.0]), np.array([3, 0, 2], dtype=np.int32)
    found = one.sparse(values, indices)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, values * one.scale[indices], rtol=1e-6)
    # What is out of range is left to the measuring of rows, which leaves the record out.
    assert np.isfinite(one.sparse(values, np.array([9, -9, 2**31]))).all()


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6), outputs=st.integers(1, 4))
def test_the_model_predicts_the_same_for_rows_as_they_were(kind, seed, outputs):
    X = table(n=50, seed=seed)
    one = map_of(X, kind, error=1e-3)
    coef = np.random.default_rng(seed).normal(size=(outputs, X.shape[1]))
    own, shift = one.back(coef)
    assert own.shape == coef.shape
    assert shift.shape == (outputs,)
    for rows, off in ((applied(one, X), 1e-9), (one.dense(X, np.ones(50)), 1e-4)):
        np.testing.assert_allclose(X @ own.T + shift, rows @ coef.T, rtol=off, atol=off)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kind", "off"), [("centred", 0.01), ("turned", 0.1)])
def test_with_good_moments_a_typical_row_has_length_one(kind, off, seed):
    X = table(seed=seed)
    rows = map_of(X, kind).dense(X, np.ones(len(X)))
    # Turning also shortens what varies along the mean, which is not counted.
    length = math.sqrt((rows.astype(float) ** 2).sum(axis=1).mean())
    assert length == pytest.approx(1.0, abs=off)
    assert np.quantile(np.linalg.norm(rows, axis=1), 0.999) < LONGEST


def test_centring_takes_the_mean_away_and_evens_columns_out():
    X = table()
    rows = map_of(X, "centred").dense(X, np.ones(len(X)))
    assert np.abs(rows.mean(axis=0)).max() < 1e-3
    before, after = X.std(axis=0), rows.std(axis=0)
    assert after.max() / after.min() < math.sqrt(before.max() / before.min())
    # The order of columns is kept: small ones are lifted, not beyond large ones.
    assert (np.argsort(after) == np.argsort(before)).all()


def test_turning_leaves_a_small_part_of_the_mean():
    X = table()
    rows = map_of(X, "turned").dense(X, np.ones(len(X))).astype(float)
    common = np.linalg.norm(rows.mean(axis=0))
    rest = math.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())
    assert common / rest == pytest.approx(standard._KEPT, rel=0.1)
    before = np.linalg.norm(X.mean(axis=0)) / math.sqrt(X.var(axis=0).sum())
    assert common / rest < before / 5.0


def test_a_small_mean_is_not_made_longer():
    X = table() - 0.149
    one = map_of(X, "turned")
    assert 0.0 <= one.shrink < 1.0
    found = standard_of(np.full(6, 1e-4), X.var(axis=0), 1e-9, **KINDS["turned"])
    assert found.shrink == pytest.approx(0.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_moments_that_are_all_noise_leave_directions_as_they_were(kind, seed):
    """A map made of noise alone hardly turns rows, and makes none much longer."""
    rng = np.random.default_rng(seed)
    d, error = 50, 0.3
    one = standard_of(*(error * rng.normal(size=(2, d))), error, **KINDS[kind])
    X = rng.normal(size=(200, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rows = one.dense(X, np.ones(200)).astype(float)
    cosines = (rows * X).sum(axis=1) / np.linalg.norm(rows, axis=1)
    # Without centring; the mean that is left after shrinking may be far from zero.
    if kind != "centred":
        assert np.median(cosines) > 0.9
    assert one.scale.max() / one.scale.min() < 2.0
    assert np.isfinite(rows).all()


def test_a_mean_that_is_not_told_from_noise_is_not_taken_away():
    d, error = 20, 0.1
    mean = np.full(d, 0.9 * error)  # shorter than noise alone would be
    one = standard_of(mean, np.full(d, 0.05), error, **KINDS["centred"])
    assert not one.centre.any()
    one = standard_of(mean, np.full(d, 0.05), error, **KINDS["turned"])
    assert not one.direction.any()
    assert one.shrink == 0.0
    trusted = standard_of(10.0 * mean, np.full(d, 0.9), error, **KINDS["centred"])
    np.testing.assert_allclose(trusted.centre / mean, 10.0 * (1.0 - 1.0 / 81.0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 30])
@pytest.mark.parametrize("error", [0.0, 1e-12, 1e-3, 1.0, 1e6])
def test_any_moments_give_a_finite_map(kind, d, error):
    rng = np.random.default_rng(d)
    moments = [
        (np.zeros(d), np.zeros(d)),
        (np.ones(d), -np.ones(d)),
        (1e6 * rng.normal(size=d), 1e6 * rng.normal(size=d)),
        (1e-9 * rng.normal(size=d), 1e-18 * np.ones(d)),
        (np.eye(1, d)[0], np.eye(1, d)[0]),
    ]
    for mean, square in moments:
        one = standard_of(mean, square, error, **KINDS[kind])
        for part in (one.centre, one.scale, one.direction, [one.shrink]):
            assert np.isfinite(part).all()
        assert (one.scale > 0.0).all()
        assert 0.0 <= one.shrink <= 1.0
        assert np.linalg.norm(one.direction) in (0.0, pytest.approx(1.0))
        assert np.isfinite(one.dense(np.ones((2, d)) / d, np.ones(2))).all()


def test_rows_that_hold_no_number_do_so_still_and_without_a_warning():
    X = np.array([[math.nan, 1.0], [math.inf, 1.0], [1e308, 1e308], [0.5, 0.5]])
    factor = np.array([0.0, 0.0, 1.0, 1.0])
    one = Standard(np.zeros(2), np.ones(2), np.array([1.0, 0.0]), 0.5)
    found = one.dense(X, factor)
    assert np.isnan(found[:2]).any(axis=1).all()
    assert not np.isfinite(found[2]).all()
    assert np.isfinite(found[3]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_levels_that_moments_do_not_show_are_left_out(kind):
    error, level = 1e-3, 0.5
    mean = np.array([0.1, 0.0015, 0.0025, 0.0, 0.0, 0.2])
    square = np.array([0.05, 0.0015, 0.001, 0.0025, 0.0, 0.1])
    levels = Levels(np.array([level, level, level, level, 0.0, 0.0]), np.arange(6))
    one = standard_of(mean, square, error, levels=levels, **KINDS[kind])
    # Not the second: neither moment is two errors away from 0. What is no level stays.
    np.testing.assert_array_equal(one.scale > 0.0, [True, False, True, True, True, True])
    assert one.centre[1] == one.direction[1] == 0.0
    kept = one.scale > 0.0
    alone = standard_of(mean[kept], square[kept], error, **KINDS[kind])
    np.testing.assert_array_equal(one.scale[kept], alone.scale)
    np.testing.assert_array_equal(one.centre[kept], alone.centre)
    coef, shift = one.back(np.ones((1, 6)))
    lengths, _ = one.back_lengths()
    assert coef[0, 1] == lengths[1] == 0.0
    assert np.isfinite(shift).all()


def test_moments_that_show_little_leave_nothing_out():
    levels = Levels(np.full(4, 0.5), np.zeros(4, dtype=int))
    for error, left_out in ((0.0024, True), (0.0026, False)):
        one = standard_of(np.zeros(4), np.zeros(4), error, levels=levels, **KINDS["centred"])
        assert (one.scale == 0.0).all() == left_out


def test_rare_levels_that_are_common_together_are_kept():
    error = 1e-3
    mean = np.concatenate([np.full(9, 1.5e-3), np.full(9, 0.5e-3), [1.5e-3]])
    columns = np.repeat([0, 1, 2], [9, 9, 1])
    levels = Levels(np.full(19, 0.5), columns)
    one = standard_of(mean, mean / 2.0, error, levels=levels, **KINDS["centred"])
    np.testing.assert_array_equal(one.scale > 0.0, columns == 0)


def test_the_inner_coefficients_come_back():
    rng = np.random.default_rng(0)
    direction = rng.normal(size=4)
    direction /= np.linalg.norm(direction)
    for shrink in (0.0, 0.6):
        found = Standard(np.zeros(4), rng.uniform(0.5, 3.0, 4), direction, shrink)
        inner = rng.normal(size=4)
        np.testing.assert_allclose(found.inner(found.back(inner[None])[0][0]), inner)
    hidden = Standard(np.zeros(4), np.array([1.0, 0.0, 2.0, 1.0]), np.zeros(4), 0.0)
    assert hidden.inner(np.array([1.0, 5.0, 4.0, 3.0])).tolist() == [1.0, 0.0, 2.0, 3.0]


def test_shares_are_the_mean_squares_of_what_is_trained_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3)) * [0.1, 0.3, 0.02]
    mean, square = X.mean(axis=0), (X**2).mean(axis=0)
    found = standard_of(mean, square, 1e-9, centred=True, turned=False)
    rows = found.dense(X, np.ones(len(X)))
    np.testing.assert_allclose((rows**2).mean(axis=0), found.shares(), rtol=1e-3)
    hidden = Standard(np.zeros(3), np.array([1.0, 0.0, 1.0]), np.zeros(3), 0.0)
    assert hidden.shares().tolist() == [0.5, 0.0, 0.5]
    assert not Standard(np.zeros(3), np.zeros(3), np.zeros(3), 0.0).shares().any()
