"""Under replace-one no pair of shifts is worse than two opposite ones, in the plane too."""

import math

import numpy as np
import pytest

from dpscd.privacy.distribution import _divergences

# Integrals over the plane by the rule of rectangles: beyond 7.5 deviations is 1e-13, and a
# kink across cells of this width costs less than ERROR.
WIDTH, REACH, ERROR = 0.03, 7.5, 1e-4
RATES = [0.01, 0.3, 1.0]
EPSILONS = np.array([-1.0, -0.2, 0.0, 0.3, 1.0, 2.5])


def plane(reach):
    line = np.arange(-reach, reach + WIDTH, WIDTH)
    return np.meshgrid(line, line)


def density(places, shift):
    x, y = places
    return np.exp(-((x - shift[0]) ** 2 + (y - shift[1]) ** 2) / 2.0) / (2.0 * math.pi)


def divergences(rate, one, other):
    """Return the hockey-stick divergences of a step whose record moves the sum by `one`."""
    places = plane(REACH + max(map(math.hypot, *zip(one, other, strict=True))))
    base, first, second = (density(places, shift) for shift in ((0.0, 0.0), one, other))
    upper, lower = ((1.0 - rate) * base + rate * drawn for drawn in (first, second))
    return np.array(
        [np.maximum(upper - math.exp(e) * lower, 0.0).sum() * WIDTH**2 for e in EPSILONS]
    )


def opposite(rate, length):
    """Return what the accountant takes for shifts up to `length`, in units of the noise."""
    return _divergences(EPSILONS, rate, 1.0 / length, "replace")


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("length", [0.3, 1.0, 2.0])
def test_opposite_shifts_are_what_is_accounted(rate, length):
    for angle in (0.0, 0.7, 2.0):
        shift = length * np.array([math.cos(angle), math.sin(angle)])
        found = divergences(rate, shift, -shift)
        np.testing.assert_allclose(found, opposite(rate, length), atol=ERROR)


@pytest.mark.full
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("length", [0.3, 1.0, 2.0])
def test_no_other_shifts_exceed_opposite_ones(rate, length):
    generator = np.random.default_rng(41)
    allowed = opposite(rate, length)
    near = 0
    for _ in range(12):
        angles = generator.uniform(0.0, 2.0 * math.pi, 2)
        sizes = length * generator.uniform(0.0, 1.0, 2) ** 0.25  # mostly near the bound
        one, other = np.transpose([sizes * np.cos(angles), sizes * np.sin(angles)])
        found = divergences(rate, one, other)
        assert (found <= allowed + ERROR).all()
        near += (found[2] > 0.5 * allowed[2]) and found[2] < 0.99 * allowed[2]
    assert near > 0  # not only pairs that are far from it


def test_longer_shifts_would_be_noticed():
    shift = np.array([1.05, 0.0])
    assert (divergences(0.3, shift, -shift) > opposite(0.3, 1.0) + ERROR).any()


def covariances(one, other):
    """Return those of the logarithms of the two densities over the first one, under it."""
    return np.array([one @ one, (one - other) @ (one - other), one @ (one - other)])


def test_covariances_are_largest_for_opposite_shifts_in_any_dimension():
    generator = np.random.default_rng(42)
    for dimension in (1, 2, 3, 20):
        most = covariances(*np.array([[1.0], [-1.0]]))
        for _ in range(200):
            pair = generator.normal(size=(2, dimension))
            pair *= generator.uniform(0.0, 1.0, (2, 1)) / np.linalg.norm(pair, axis=1)[:, None]
            assert (covariances(*pair) <= most + 1e-12).all()
