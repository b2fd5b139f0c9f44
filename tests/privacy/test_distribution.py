"""Privacy loss distributions: against the library's, brute force and long doubles."""

import math

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss
from library import distributions_of
from scipy import fft

from dpscd.privacy import distribution
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.distribution import Losses, one_step, range_of
from dpscd.privacy.relation import Relation

LIBRARY = {
    "remove": AdjacencyType.REMOVE,
    "add": AdjacencyType.ADD,
    "replace": AdjacencyType.REPLACE,
}
HARDLY = 1e-21  # a tail as short as the library's

every_way = pytest.mark.parametrize("way", list(LIBRARY))
every_relation = pytest.mark.parametrize("relation", list(Relation))
STEPS = [(1e-5, 0.3), (1e-3, 1.0), (0.3, 4.0), (0.999, 0.5), (1.0, 0.7), (0.5, 0.04)]
every_step = pytest.mark.parametrize(("rate", "std"), STEPS)


# --- one step -------------------------------------------------------------------------------


@every_way
@every_step
def test_divergences_are_those_of_the_library(way, rate, std):
    loss = GaussianPrivacyLoss(std, sampling_prob=rate, adjacency_type=LIBRARY[way])
    ends = loss.connect_dots_bounds()
    epsilons = np.linspace(ends.epsilon_lower, ends.epsilon_upper, 1001)[1:-1]
    for inside in (math.log1p(-rate), -math.log1p(-rate)) if rate < 1.0 else ():
        epsilons = np.append(epsilons, [math.nextafter(inside, 0.0), inside, 2.0 * inside])
    # Grids contain 0.
    epsilons = np.append(epsilons, 0.0)
    found = distribution._divergences(epsilons, rate, std, way)
    expected = loss.get_delta_for_epsilon(epsilons)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.full
@every_way
@every_step
def test_the_range_leaves_out_no_more_than_the_tail(way, rate, std):
    loss = GaussianPrivacyLoss(std, sampling_prob=rate, adjacency_type=LIBRARY[way])
    for tail in (1e-3, 1e-12):
        low, high = range_of(rate, std, way, tail)
        points = np.linspace(-13.0 * std - 1.0, 13.0 * std, 20_001)
        masses = np.diff(loss.mu_upper_cdf(points))
        losses = np.array([loss.privacy_loss(x) for x in points])
        slack = 1e-9 * (1.0 + abs(high))
        assert masses[losses[1:] > high + slack].sum() <= tail
        assert masses[losses[:-1] < low - slack].sum() <= tail


@pytest.mark.full
@every_way
@every_step
def test_masses_add_up_to_one(way, rate, std):
    # Also on fine grids, where the masses are differences of numbers that nearly agree.
    for interval in (1e-2, 1e-4):
        losses = one_step(rate, std, interval, way, 1e-15)
        total = losses.masses.sum() + losses.infinite
        assert total == pytest.approx(1.0, abs=1e-14)
        assert losses.masses.min() > -1e-15 / interval


# --- composition ----------------------------------------------------------------------------


@every_relation
@pytest.mark.parametrize(
    "events",
    [
        [(1e-4, 0.5, 100)],
        [(0.01, 4.0, 1000)],
        [(0.01, 1.5, 500), (0.2, 4.0, 20)],
        [(0.3, 2.0, 1)],
    ],
    ids=str,
)
def test_the_whole_is_what_the_accountant_of_the_library_says(relation, events):
    accountant, found = distributions_of(relation, events), []
    for way in relation.directions:
        together = Losses(1e-3, 0, np.ones(1), 0.0)
        for rate, multiplier, steps in events:
            step = one_step(rate, multiplier, 1e-3, way, HARDLY)
            together = together.then(step.times(steps, 1e-15) if steps > 1 else step)
        found.append(together.epsilon(1e-6))
    # Transforms round each of the two deltas by up to 1.5 steps 2^-53, which processors do
    # differently; beyond that the two agree to eight digits.
    rounded = 3.0 * sum(steps for _, _, steps in events) * 2.0**-53
    low, high = (accountant.get_epsilon(1e-6 + sign * rounded) for sign in (1, -1))
    assert (1.0 - 1e-8) * low <= max(found) <= (1.0 + 1e-8) * high


@every_way
@pytest.mark.parametrize("steps", [2, 3, 7, 16])
def test_times_is_then_again_and_again(way, steps):
    once = one_step(0.2, 1.1, 0.01, way, HARDLY)
    plain = once
    for _ in range(steps - 1):
        masses = np.convolve(plain.masses, once.masses)
        infinite = 1.0 - (1.0 - plain.infinite) * (1.0 - once.infinite)
        plain = Losses(0.01, plain.lowest + once.lowest, masses, infinite)
    tail = 1e-10
    found = once.times(steps, tail)
    begin = found.lowest - plain.lowest
    expected = plain.masses[begin : begin + found.masses.size]
    assert found.masses == pytest.approx(expected, abs=1e-9)
    # What is outside the window is no more than the tail, and counts as infinite.
    left_out = plain.masses.sum() - expected.sum()
    assert -1e-14 <= left_out <= tail
    assert found.infinite >= plain.infinite + left_out - 1e-14
    for delta in (1e-2, 1e-5):
        exact = plain.epsilon(delta)
        assert exact * (1.0 - 1e-9) <= found.epsilon(delta) <= exact * (1.0 + 1e-3)


# rate, std, interval, steps: also where masses far out are nothing but rounding.
COMPOSED = [
    (1e-4, 1.3868, 6.9e-5, 10_000),
    (1e-4, 1.3868, 1e-5, 10_000),
    (1e-5, 0.5, 1e-4, 1000),
    (1e-3, 1.0, 1e-5, 100),
    (0.01, 20.0, 1e-6, 100_000),
    (0.1, 300.0, 1e-5, 10**6),
    (0.5, 0.3, 1e-2, 3),
]


@pytest.mark.full
@every_way
@pytest.mark.parametrize("tail", [1e-9, 1e-12, 1e-14])
@pytest.mark.parametrize("setting", COMPOSED, ids=str)
def test_the_window_of_a_composition_holds_its_mass(monkeypatch, way, tail, setting):
    rate, std, interval, steps = setting
    once = one_step(rate, std, interval, way, tail / steps)
    found = once.times(steps, tail)
    assert found.masses.sum() + found.infinite >= 1.0 - steps * 2.0**-51
    # A window that is wider on both sides finds nothing there, and the same epsilon.
    real = distribution._window

    def wider(*rest):
        low, high = real(*rest)
        more = (high - low) // 2 + 50
        return low - more, high + more

    monkeypatch.setattr(distribution, "_window", wider)
    whole = once.times(steps, tail)
    more = (whole.masses.size - found.masses.size) // 2
    noise = steps * 2.0**-50
    assert abs(whole.masses[:more].sum()) <= tail + noise
    assert abs(whole.masses[-more:].sum()) <= tail + noise
    for delta in (1e-2, 1e4 * tail + 10.0 * noise):
        assert found.epsilon(delta) >= whole.epsilon(delta + tail + noise) * (1.0 - 1e-9)
        assert whole.epsilon(delta) >= found.epsilon(delta + tail + noise) * (1.0 - 1e-9)


def test_mass_that_a_window_loses_counts_as_infinite(monkeypatch):
    once = one_step(0.1, 1.0, 1e-2, "remove", 1e-15)
    monkeypatch.setattr(distribution, "_window", lambda *_: (0, 0))
    found = once.times(100, 1e-12)
    assert found.masses.sum() + found.infinite == pytest.approx(1.0)
    assert found.epsilon(1e-5) == math.inf


@every_way
@pytest.mark.parametrize("tail", [1e-2, 1e-4, 1e-7])
def test_cutting_the_range_never_helps(way, tail):
    # Only the losses beyond the range are cut; or, with one composition, those of the sum.
    for rate, std in ((0.3, 2.0), (0.01, 0.7)):
        whole = one_step(rate, std, 1e-3, way, HARDLY)
        cut = one_step(rate, std, 1e-3, way, tail)
        assert cut.masses.size < whole.masses.size
        for delta in (2.0 * tail, 1e-2 * tail):
            assert cut.epsilon(delta) >= whole.epsilon(delta) * (1.0 - 1e-9)
        together = whole.times(50, 1e-15)
        shorter = whole.times(50, tail)
        assert shorter.masses.size < together.masses.size
        assert shorter.infinite >= tail
        assert shorter.epsilon(2.0 * tail) >= together.epsilon(2.0 * tail) * (1.0 - 1e-9)


@pytest.mark.parametrize(
    ("rate", "std", "interval", "steps"),
    [
        (0.01, 0.5, 1e-2, 100),
        (1e-5, 0.53, 4e-5, 100_000),
        (0.01, 20.0, 1e-5, 100_000),
        (1.0, 1000.0, 2e-4, 10**6),
    ],
)
@every_way
def test_rounding_costs_far_less_delta_than_is_paid_for_it(way, rate, std, interval, steps):
    once = one_step(rate, std, interval, way, 1e-12 / steps)
    found = once.times(steps, 1e-12)
    # The same in long doubles: a window of the same length, and of the same transform.
    masses = once.masses.astype(np.longdouble)
    low = found.lowest - steps * once.lowest
    size = fft.next_fast_len(max(found.masses.size, masses.size), real=True)
    waves = distribution._power(fft.rfft(masses, size), steps)
    assert waves.dtype == np.clongdouble
    exact = np.roll(fft.irfft(waves, size), -(low % size))[: found.masses.size]
    losses = (np.arange(exact.size) + found.lowest) * np.longdouble(interval)
    for epsilon in (0.0, found.epsilon(1e-3), found.epsilon(1e-8)):
        above = losses > epsilon
        shares = -np.expm1(epsilon - losses[above])
        off = abs(float(shares @ (found.masses[above] - exact[above])))
        assert off < 3.0 * steps * 2.0**-53  # 8 are paid


def test_many_steps_at_a_small_delta_stay_above_the_exact_epsilon():
    # Without the payment this says 29.94 where the exact value is 30.000.
    exact, steps, delta = 30.0, 10**6, 1e-10
    mu = 1.0 / gaussian_multiplier(exact, delta, Relation.ZERO_OUT)
    tail = distribution.TAIL * delta
    once = one_step(1.0, 1000.0 / mu, 1e-3, "remove", tail / steps)
    assert once.times(steps, tail).epsilon(delta - steps * 2.0**-50) >= exact


# --- epsilon --------------------------------------------------------------------------------


def divergence(losses, epsilon):
    values = (np.arange(losses.masses.size) + losses.lowest) * losses.interval
    above = values > epsilon
    return losses.infinite - float(np.expm1(epsilon - values[above]) @ losses.masses[above])


@pytest.mark.parametrize("lowest", [-7, 0, 3])
@pytest.mark.parametrize("delta", [0.9, 0.3, 1e-2, 1e-3])
def test_epsilon_is_the_least_that_reaches_delta(lowest, delta):
    masses = np.array([0.1, 0.0, 0.3, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.0, 0.0499, 0.0])
    losses = Losses(0.25, lowest, masses, 1e-4)
    epsilon = losses.epsilon(delta)
    assert divergence(losses, epsilon) <= delta * (1.0 + 1e-12)
    assert epsilon == 0.0 or divergence(losses, epsilon - 1e-9) > delta


def test_ends_of_epsilon():
    masses = np.array([0.5, 0.25, 0.25])
    assert Losses(0.1, 0, masses, 1e-3).epsilon(1e-4) == math.inf
    # No loss is above 0.
    assert Losses(0.1, -9, masses, 0.0).epsilon(1e-4) == 0.0
    assert Losses(0.1, -2, masses, 0.0).epsilon(1e-4) == 0.0
    # All that is above 0 is less than delta.
    assert Losses(0.1, 5, 1e-6 * masses, 0.0).epsilon(1e-4) == 0.0
    # Losses whose exponential is no number.
    assert Losses(500.0, 0, masses, 0.0).epsilon(1e-4) == pytest.approx(1000.0, abs=1e-3)


def test_a_grid_that_would_be_too_long_bounds_by_infinity(monkeypatch):
    assert one_step(0.5, 0.2, 1e-9, "remove", 1e-12).epsilon(1e-5) == math.inf
    once = one_step(0.01, 1.0, 1e-3, "remove", 1e-12)
    assert once.times(1000, 1e-9).epsilon(1e-5) < math.inf
    monkeypatch.setattr(distribution, "_MOST", 3000)
    unknown = once.times(1000, 1e-9)
    assert unknown.epsilon(1e-5) == math.inf
    assert unknown.times(2, 1e-9).epsilon(0.5) == math.inf
    assert unknown.then(once).epsilon(0.5) == math.inf


def test_a_sum_that_would_be_too_long_is_not_computed(monkeypatch):
    one = distribution.one_step(0.1, 1.0, 1e-3, "remove", 1e-9)
    monkeypatch.setattr(distribution, "_MOST", one.masses.size)
    assert one.then(one).infinite == 1.0
