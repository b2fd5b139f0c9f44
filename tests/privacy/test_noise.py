import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpscd.errors import ParameterError
from dpscd.kernels.draws import LARGEST_NORMAL, NORMAL_ERROR
from dpscd.kernels.dual import StepConstants, release
from dpscd.privacy.draws import LatticeGaussian, power_of_two_below
from dpscd.privacy.random import SeededSource
from drawn import ALARM

sizes = st.floats(1e-90, 1e90)


@given(x=st.floats(1e-300, 1e300))
def test_power_of_two_below(x):
    power = power_of_two_below(x)
    assert math.frexp(power)[0] == 0.5
    assert power <= x < 2.0 * power


@given(clip=sizes, multiplier=st.floats(0.01, 1e9))
def test_the_grid_is_a_power_of_two_and_the_spread_its_share(clip, multiplier):
    noise = LatticeGaussian(clip, multiplier)
    assert math.frexp(noise.grid)[0] == 0.5
    assert 1024.0 <= noise.spread < 2048.0
    assert noise.spread * noise.grid == noise.std == clip * multiplier


def released(noise, steps, size):
    """Return the moves of a shared vector when lots are empty."""
    numbers = StepConstants(1.0, 1.0, noise.clip, noise.clip, noise.grid, noise.spread)
    moves = np.zeros((steps, size))
    normals = noise.draw(SeededSource(b"noise"), 0, steps, size)
    for normal, move in zip(normals, moves, strict=True):
        release(np.zeros(size), normal, numbers, move)
    return moves


def is_normal(sample, std):
    """Whether variance and law fit, at ALARM together."""
    count = len(sample)
    law = stats.chi2(count)
    squares = ((sample / std) ** 2).sum()
    tail = min(law.cdf(squares), law.sf(squares))
    distance = stats.ks_1samp(sample, stats.norm(scale=std).cdf, method="asymp").statistic
    bound = math.sqrt(math.log(4.0 / ALARM) / (2.0 * count))
    return tail >= ALARM / 4.0 and distance <= bound


def test_the_noise_that_is_added_is_the_noise_that_is_stated():
    noise = LatticeGaussian(0.013, 2.7)
    sample = released(noise, 100, 501).ravel()
    assert (sample / noise.grid == np.round(sample / noise.grid)).all()
    assert is_normal(sample, noise.std)
    assert not is_normal(sample, 0.5 * noise.std)
    assert not is_normal(sample, math.sqrt(2.0) * noise.std)
    assert not is_normal(sample, noise.std / math.sqrt(2.0))
    assert not is_normal(sample, 1.02 * noise.std)


def test_coordinates_and_steps_are_independent():
    noise = LatticeGaussian(1.0, 1.0)
    sample = noise.draw(SeededSource(b"cross"), 0, 20_000, 6)
    pairs = np.column_stack([sample[:-1], sample[1:]])
    products = np.corrcoef(pairs.T)[np.triu_indices(12, 1)] * math.sqrt(len(pairs))
    # 66 correlations, each about standard normal.
    assert np.abs(products).max() < stats.norm.isf(ALARM / (2 * 66))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_chunks_do_not_matter(size):
    noise = LatticeGaussian(1.0, 1.0)
    whole = noise.draw(SeededSource(b"chunks"), 0, 9, size)
    source = SeededSource(b"chunks")
    parts = [noise.draw(source, 0, 4, size), noise.draw(source, 4, 5, size)]
    assert whole.shape == (9, size)
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_log_ratio_covers_the_ratio_of_cell_masses():
    # One cell moved by the error of a normal: the logarithm of its mass changes by less
    # than the eta inside log_ratio, up to the largest normal that is drawn.
    noise = LatticeGaussian(1.0, 1.0)
    eta = noise.log_ratio(1, 0.0)  # the second term vanishes: 2 eta^2 is left
    eta = math.sqrt(eta / 2.0)
    with mpmath.workdps(80):
        cell = mpmath.mpf(1) / 2048
        error = mpmath.mpf(NORMAL_ERROR)
        for z in (0.0, 0.5, 1.0, 4.0, 13.0):
            exact = mpmath.ncdf(-z) - mpmath.ncdf(-z - cell)
            moved = mpmath.ncdf(-z + error) - mpmath.ncdf(-z - cell - error)
            assert abs(mpmath.log(moved / exact)) <= eta


@pytest.mark.parametrize("reach", [1.0, 2.0])
@pytest.mark.parametrize("size", [1, 10, 1000])
@pytest.mark.parametrize("multiplier", [0.3, 1.0, 5.0])
def test_tail_bounds_the_chance_to_leave_what_is_drawn(multiplier, size, reach):
    # However a record splits its move over the coordinates: all on one, or evenly.
    noise = LatticeGaussian(1.0, multiplier)
    with mpmath.workdps(60):
        for spread_over in {1, size}:
            shift = reach / (multiplier * mpmath.sqrt(spread_over))
            out = mpmath.ncdf(-LARGEST_NORMAL + shift) + mpmath.ncdf(-LARGEST_NORMAL - shift)
            rest = (size - spread_over) * 2 * mpmath.ncdf(-LARGEST_NORMAL)
            assert spread_over * out + rest <= noise.tail(1, size, reach)


def test_tail_is_that_of_pairs_moved_by_the_reach():
    for reach in (1.0, 2.0):
        expected = 4 * 7 * 25 * math.exp(-0.5 * (13.37 - reach / 0.5) ** 2)
        found = LatticeGaussian(3.0, 0.5).tail(7, 50, reach)
        assert found == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_lazy_noise_has_more_variance_than_is_accounted():
    """By that of a Gaussian on the grid whose sums do not depend on their centre."""
    for noise in (LatticeGaussian(0.01, 1.3), LatticeGaussian(7.0, 40.0)):
        assert noise.lattice_variance == noise.spread**2 + 16.0


def test_lazy_noise_pays_for_its_law():
    """By the eta of docs/proofs/shared_vector.md, "The price"."""
    noise, pairs, log_miss = LatticeGaussian(1.0, 2.0), 10**6, -28.0
    eta = 2.2 * (NORMAL_ERROR + 2.0**-46) * 2.0**11 + 2.0**-34
    expected = 2.0 * pairs * eta**2 + 2.0 * eta * math.sqrt(-2.0 * pairs * log_miss)
    found = noise.log_ratio(pairs, log_miss, lazy=True)
    assert found == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_tail_pays_for_pairs_longer_than_any_that_is_drawn():
    # A pair of exact normals whose uniform is below 2^-129 has no counterpart; that costs
    # 2^-130 a pair even if both of its numbers are small.
    noise = LatticeGaussian(1.0, 1000.0)
    assert noise.tail(1, 1000) >= 500 * 2.0**-130


@pytest.mark.parametrize("multiplier", [math.nan, math.inf, 0.0])
def test_noise_that_is_no_number_has_no_grid(multiplier):
    with pytest.raises(ParameterError, match="positive, finite"):
        LatticeGaussian(1.0, multiplier).grid  # noqa: B018
