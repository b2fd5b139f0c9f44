"""Attacks on floats: they win against naive noise and learn nothing from ours.

The stated rate of false alarms is 1e-6 throughout.
"""

import math

import numpy as np
import pytest
from scipy import stats

from dpscd.kernels.dual import StepConstants, release
from dpscd.privacy.draws import LatticeGaussian
from dpscd.privacy.random import SeededSource

FALSE_ALARM = 1e-6
NOISE = LatticeGaussian(clip=1.0, noise_multiplier=1.0)
CELL = 2.0**-29
SECRETS = (0.0, 1.0 / 3.0)  # the sum without and with a record
COUNT = 400_000


def ours(secret: float, seed: bytes) -> np.ndarray:
    """Release the same sum COUNT times."""
    normals = NOISE.draw(SeededSource(seed), 0, 1, COUNT)[0]
    numbers = StepConstants(1.0, 1.0, 1.0, CELL, NOISE.grid, NOISE.spread)
    shared = np.zeros(COUNT)
    release(np.full(COUNT, math.trunc(secret / CELL), float), normals, numbers, shared)
    return shared


def naive(secret: float, seed: bytes) -> np.ndarray:
    """Add Gaussian noise the way it is usually written."""
    return secret + NOISE.std * NOISE.draw(SeededSource(seed), 0, 1, COUNT)[0]


def trailing_zeros(values: np.ndarray) -> np.ndarray:
    """Return the exponent of the last bit that is set in each number."""
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64)
    last = np.log2((whole & -whole).astype(float)).astype(int)
    return exponent - 53 + last


def guess(values: np.ndarray) -> np.ndarray:
    """Guess the secret of each output near zero from its low-order bits alone.

    Close to zero, noise alone has bits far below 2^-54; noise that met a third lost them.
    """
    return trailing_zeros(values) >= -54


@pytest.mark.parametrize(("mechanism", "won"), [(naive, True), (ours, False)])
def test_low_order_bits_tell_the_secret_only_of_naive_noise(mechanism, won):
    right = []
    for secret in SECRETS:
        values = mechanism(secret, b"bits %r" % secret)
        near = values[(np.abs(values) < 2.0**-4) & (values != 0.0)]
        right.append(np.mean(guess(near) == (secret != 0.0)))
        assert len(near) > 10_000
    advantage = sum(right) - 1.0
    assert advantage > 0.5 if won else advantage == 0.0


def test_low_order_bits_of_ours_are_uniform_in_both_worlds():
    for secret in SECRETS:
        last = (ours(secret, b"uniform %r" % secret) / NOISE.grid).astype(np.int64) & 63
        counts = np.bincount(last, minlength=64)
        assert stats.chisquare(counts).pvalue > FALSE_ALARM
        # The test would notice one value in a thousand moved to its neighbour.
        biased = counts.copy()
        biased[::2] += counts[1::2] // 20
        biased[1::2] -= counts[1::2] // 20
        assert stats.chisquare(biased).pvalue < FALSE_ALARM


def test_the_support_has_no_holes_and_every_cell_its_mass():
    values = np.concatenate([ours(0.0, b"holes %d" % part) for part in range(8)])
    cells = np.round(values / NOISE.grid).astype(np.int64)
    reach = int(2.0 * NOISE.spread)
    inside = cells[np.abs(cells) <= reach]
    counts = np.bincount(inside + reach, minlength=2 * reach + 1)
    assert counts.min() > 0
    edges = (np.arange(-reach, reach + 2) - 0.5) / NOISE.spread
    mass = np.diff(stats.norm.cdf(edges))
    expected = mass / mass.sum() * counts.sum()
    assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def test_a_float32_sum_depends_on_the_order_and_a_lattice_sum_does_not():
    terms = np.random.default_rng(0).normal(size=5000)
    other = terms[::-1]
    assert np.cumsum(terms.astype(np.float32))[-1] != np.cumsum(other.astype(np.float32))[-1]
    lattice = np.trunc(terms / CELL), np.trunc(other / CELL)
    assert np.cumsum(lattice[0])[-1] == np.cumsum(lattice[1])[-1]
