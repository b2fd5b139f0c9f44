"""Accounting."""

import math
from types import SimpleNamespace

import mpmath
import pytest
from dp_accounting.rdp import RdpAccountant
from library import NEIGHBOURS, composed, distributions_of

from dpscd.privacy import accounting, distribution
from dpscd.privacy.accounting import (
    SampledGaussian,
    epsilon_of,
    gaussian_multiplier,
    renyi_of,
)
from dpscd.privacy.relation import Relation

every_relation = pytest.mark.parametrize("relation", list(Relation))


EVENTS = [(0.01, 1.5, 500), (0.2, 4.0, 20)]


@every_relation
def test_epsilon_is_what_dp_accounting_says(relation):
    found = epsilon_of([SampledGaussian(*event) for event in EVENTS], 1e-6, relation, 1e-3)
    # A little of delta pays for the rounding of the accountant itself, and up to 3e-4 of it
    # for the ends of distributions; but for that the accountants agree to 1e-8.
    left = 1e-6 - 520 * 2.0**-50
    library = distributions_of(relation, EVENTS)
    least, most = (
        library.get_epsilon(share * left) for share in (1.0, 1.0 - 3.0 * distribution.TAIL)
    )
    assert found.accountant == "PLD"
    assert least * (1.0 - 1e-8) <= found.epsilon <= most * (1.0 + 1e-8)


def test_the_smaller_of_two_valid_bounds_is_taken():
    # A grid this coarse makes the PLD accountant useless.
    event = (0.01, 5.0, 1000)
    found = epsilon_of([SampledGaussian(*event)], 1e-6, Relation.ZERO_OUT, 0.5)
    orders = accounting._ORDERS
    rdp = composed(RdpAccountant(orders, NEIGHBOURS[Relation.ZERO_OUT]), [event])
    pld = distributions_of(Relation.ZERO_OUT, [event], 0.5)
    assert found.accountant == "RDP"
    # Rounding of the divergences is paid for.
    least = rdp.get_epsilon(1e-6)
    assert least * (1.0 + 1e-9) <= found.epsilon <= least * (1.0 + 1e-8)
    assert found.epsilon < pld.get_epsilon(1e-6)


def test_a_delta_below_the_rounding_of_the_accountant_is_left_to_rdp():
    event = SampledGaussian(1.0, 1000.0, 10**6)
    delta = 10**6 * 2.0**-51
    assert epsilon_of([event], delta, Relation.ZERO_OUT, 1e-4).accountant == "RDP"
    assert epsilon_of([event], delta, Relation.REPLACE_ONE, 1e-4).epsilon == math.inf


def test_replace_one_never_uses_rdp():
    found = epsilon_of([SampledGaussian(0.01, 5.0, 1000)], 1e-6, Relation.REPLACE_ONE, 0.5)
    assert found.accountant == "PLD"
    assert Relation.REPLACE_ONE.accountants == ("PLD",)


def test_no_event_costs_nothing():
    assert epsilon_of([], 1e-6, Relation.ZERO_OUT, 1e-3).epsilon == pytest.approx(0.0)


# --- the Gaussian limit --------------------------------------------------------------


def gaussian_delta(epsilon, multiplier, sensitivity=1):
    """Return delta(epsilon) of one Gaussian release (Balle and Wang, 2018)."""
    with mpmath.workdps(max(50, mpmath.mp.dps)):
        mu = mpmath.mpf(sensitivity) / mpmath.mpf(multiplier)
        e = mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
@every_relation
def test_one_gaussian_release_has_the_exact_multiplier(relation, epsilon, delta):
    sensitivity = 2 if relation is Relation.REPLACE_ONE else 1
    multiplier = gaussian_multiplier(epsilon, delta, relation)
    assert gaussian_delta(epsilon, multiplier * 1.0001, sensitivity) < delta
    assert gaussian_delta(epsilon, multiplier / 1.0001, sensitivity) > delta


@pytest.mark.parametrize("steps", [1, 25])
@every_relation
def test_full_lots_are_one_gaussian_release(relation, steps):
    event = SampledGaussian(1.0, 4.0 * math.sqrt(steps), steps)
    found = epsilon_of([event], 1e-5, relation, 1e-4).epsilon
    sensitivity = 2 if relation is Relation.REPLACE_ONE else 1
    assert gaussian_delta(found, 4.0, sensitivity) <= 1e-5
    assert gaussian_delta(0.995 * found, 4.0, sensitivity) > 1e-5


def test_one_step_is_the_exact_divergence_of_its_dominating_pair():
    # max over both directions of the hockey-stick divergence of
    # (1 - q) N(0, s^2) + q N(1, s^2) against N(0, s^2), by quadrature.
    q, s, epsilon = 0.1, 0.8, 0.7

    def plain(x):
        return mpmath.npdf(x, 0, s)

    def mixed(x):
        return (1 - q) * plain(x) + q * mpmath.npdf(x, 1, s)

    def divergence(p, r):
        points = [-12, -4, -2, 0, 0.5, 1, 1.5, 2, 3, 4, 6, 12]
        return mpmath.quad(lambda x: max(p(x) - mpmath.exp(epsilon) * r(x), 0), points)

    delta = float(max(divergence(mixed, plain), divergence(plain, mixed)))
    found = epsilon_of([SampledGaussian(q, s, 1)], delta, Relation.ZERO_OUT, 1e-4)
    assert found.epsilon == pytest.approx(epsilon, rel=1e-2)


@every_relation
def test_events_in_another_order_cost_the_same(relation):
    events = [SampledGaussian(*event) for event in EVENTS]
    first, second = (
        epsilon_of(order, 1e-6, relation, 1e-3).epsilon for order in (events, events[::-1])
    )
    assert first == pytest.approx(second, rel=1e-6)
    # What is kept between calls does not change: the same question has the same answer.
    assert epsilon_of(events, 1e-6, relation, 1e-3).epsilon == first


@pytest.mark.full
@pytest.mark.parametrize("delta", [1e-300, 1e-30, 1e-5, 0.999])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-20, 1e-9, 1e-3, 1.0, 100.0, 1e4])
def test_the_multiplier_of_a_release_is_exact_for_whatever_target(epsilon, delta):
    multiplier = gaussian_multiplier(epsilon, delta, Relation.ZERO_OUT)
    with mpmath.workdps(700):
        assert gaussian_delta(epsilon, multiplier * (1.0 + 1e-8)) < delta
        assert gaussian_delta(epsilon, multiplier * (1.0 - 1e-8)) > delta


def test_an_epsilon_too_small_for_squares_is_that_of_delta_alone():
    for relation, sensitivity in ((Relation.ZERO_OUT, 1.0), (Relation.REPLACE_ONE, 2.0)):
        found = gaussian_multiplier(5e-324, 1e-5, relation)
        # At epsilon 0 delta is the total variation of two shifted Gaussians.
        assert math.erf(sensitivity / found / math.sqrt(8.0)) == pytest.approx(1e-5, rel=1e-4)


def test_enough_spares_the_second_accountant(monkeypatch):
    def none(*_):
        raise AssertionError

    monkeypatch.setattr(accounting, "_rdp_epsilon", none)
    event = SampledGaussian(0.01, 5.0, 1000)
    bound = epsilon_of([event], 1e-6, Relation.ZERO_OUT, 1e-4, enough=1.0)
    assert bound.accountant == "PLD"
    with pytest.raises(AssertionError):
        epsilon_of([event], 1e-6, Relation.ZERO_OUT, 1e-4, enough=0.9 * bound.epsilon)


# --- two accounting, the larger counts ----------------------------------------------------


def claimed(relation=Relation.REPLACE_ONE):
    return epsilon_of([SampledGaussian(0.01, 1.0, 1000)], 1e-6, relation, 1e-3)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_mistake_of_our_arrays_cannot_lower_what_is_claimed(monkeypatch, factor):
    honest, real = claimed().epsilon, accounting._by_arrays
    monkeypatch.setattr(accounting, "_by_arrays", lambda *given: factor * real(*given))
    found = claimed().epsilon
    assert found == pytest.approx(max(1.0, factor) * honest, rel=1e-3)
    assert found >= 0.999 * honest


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_mistake_of_the_library_cannot_lower_what_is_claimed(monkeypatch, factor):
    honest, real = claimed().epsilon, accounting._by_library

    def wrong(*given):
        right = real(*given).get_epsilon_for_delta
        return SimpleNamespace(get_epsilon_for_delta=lambda delta: factor * right(delta))

    monkeypatch.setattr(accounting, "_by_library", wrong)
    assert claimed().epsilon == pytest.approx(max(1.0, factor) * honest, rel=1e-3)


TOGETHER = [(0.01, 1.5, 500), (1.0, 8.0, 3), (0.2, 4.0, 20), (1.0, 10.0, 1)]


@every_relation
def test_what_the_library_is_asked_is_what_is_released(relation):
    events = [SampledGaussian(*event) for event in TOGETHER]
    merged = tuple(map(accounting._merged, events))
    ours = accounting._by_library(merged, relation, 1e-3, 1e-10).get_epsilon_for_delta(1e-6)
    theirs = distributions_of(relation, TOGETHER).get_epsilon(1e-6)
    assert ours == pytest.approx(theirs, rel=1e-3)


def test_the_library_pays_for_rounding_too(monkeypatch):
    asked = []
    noted = SimpleNamespace(get_epsilon_for_delta=lambda delta: asked.append(delta) or 9.0)
    monkeypatch.setattr(accounting, "_by_library", lambda *_: noted)
    events = [SampledGaussian(0.01, 1.0, 1000), SampledGaussian(1.0, 9.0, 24)]
    found = epsilon_of(events, 1e-6, Relation.REPLACE_ONE, 1e-3)
    assert found.epsilon == 9.0
    assert asked == [1e-6 - 1024 * 2.0**-50]


@pytest.mark.parametrize("answer", [ValueError, OverflowError, math.nan])
def test_what_the_library_cannot_compute_has_no_bound(monkeypatch, answer):
    def broken(_):
        if answer in (ValueError, OverflowError):
            raise answer
        return answer

    library = SimpleNamespace(get_epsilon_for_delta=broken)
    monkeypatch.setattr(accounting, "_by_library", lambda *_: library)
    assert claimed().epsilon == math.inf


@pytest.mark.parametrize(
    ("event", "delta"),
    [((0.9963815272762823, 506038457.37, 1), 1.0e-13), ((0.1, 1.778e7, 10**6), 1e-8)],
)
def test_rounding_does_not_make_a_small_loss_none(event, delta):
    found = epsilon_of([SampledGaussian(*event)], delta, Relation.ADD_REMOVE, 1e-9)
    rate, multiplier, steps = event
    strength = rate * math.sqrt(steps) / multiplier
    # Many small steps look like one Gaussian release of this strength.
    exact = mpmath.findroot(
        lambda e: mpmath.log(accounting.gaussian_delta(float(e), strength) / delta),
        (1e-3 * strength, 6.0 * strength),
        solver="anderson",
        verify=False,
    )
    assert found.epsilon > 0.9 * float(exact) > 0.0


@pytest.mark.parametrize("relation", list(Relation))
def test_a_grid_without_any_detail_gives_no_bound(relation):
    event = SampledGaussian(0.01, 1.0, 1000)
    found = epsilon_of([event], 1e-6, relation, 1000.0)
    assert found.accountant == ("none" if relation is Relation.REPLACE_ONE else "RDP")


LOW_RATES = [(1e-5, 0.4, 1), (1e-5, 0.4, 1000), (1e-4, 0.6, 10_000), (1e-3, 0.8, 100_000)]


@pytest.mark.full
@every_relation
@pytest.mark.parametrize("event", LOW_RATES, ids=repr)
def test_the_end_of_the_grid_of_the_library_is_paid_and_costs_little(relation, event):
    tail = 1e-5 * distribution.TAIL
    found = accounting._by_library((SampledGaussian(*event),), relation, 1e-3, tail)
    assert 1e-3 * tail < found.get_delta_for_epsilon(1e3) < tail
    whole = distributions_of(relation, [event]).get_epsilon(1e-5)
    # Below by what rounding adds to masses that are not computed any more.
    assert (1.0 - 1e-5) * whole <= found.get_epsilon_for_delta(1e-5) <= (1.0 + 3e-4) * whole


def test_low_losses_beyond_the_grid_of_the_library_cost_little_at_a_large_delta():
    event = (1e-5, 0.4, 100_000)
    found = epsilon_of([SampledGaussian(*event)], 0.01, Relation.REPLACE_ONE, 1e-3).epsilon
    whole = distributions_of(Relation.REPLACE_ONE, [event]).get_epsilon(0.01)
    assert whole <= found <= 1.001 * whole


@every_relation
def test_releases_of_all_records_are_merged_exactly(relation):
    many = epsilon_of([SampledGaussian(1.0, 40.0, 400)], 1e-6, relation, 1e-4).epsilon
    once = epsilon_of([SampledGaussian(1.0, 2.0, 1)], 1e-6, relation, 1e-4).epsilon
    assert many == pytest.approx(once, rel=1e-6)


def test_what_would_take_the_library_too_long_has_no_bound(monkeypatch):
    monkeypatch.setattr(accounting, "_MOST_CELLS", 10)
    monkeypatch.setattr(accounting, "_by_library", lambda *_: pytest.fail("was asked"))
    assert claimed().epsilon == math.inf
    assert claimed(Relation.ZERO_OUT).accountant == "RDP"


def test_many_steps_are_composed_in_two_goes(monkeypatch):
    event = SampledGaussian(0.01, 20.0, 2500)
    given = ((event,), Relation.ZERO_OUT, 0.01, 1e-10)
    whole = accounting._by_library(*given).get_epsilon_for_delta(1e-6)
    for at_once in (1000, 1250):  # with and without a rest
        monkeypatch.setattr(accounting, "_AT_ONCE", at_once)
        accounting._by_library.cache_clear()
        found = accounting._by_library(*given).get_epsilon_for_delta(1e-6)
        assert found == pytest.approx(whole, rel=1e-6)


def test_what_the_library_would_compute_is_counted_where_it_ends():
    # The tail that may be cut is larger than the rate, but the library's grid ends at 1e-4.
    event = SampledGaussian(1e-6, 0.2, 1)
    cells = accounting._cells((event,), 1e-6, Relation.ZERO_OUT, 1e-6)
    assert cells > 10 * accounting._MOST_CELLS


def exact_renyi(rate, multiplier, order):
    """Return the divergence of one sampled Gaussian step (Mironov et al., 2019, eq. 30)."""
    with mpmath.workdps(50):
        q = mpmath.mpf(rate)
        total = sum(
            mpmath.binomial(order, k)
            * (1 - q) ** (order - k)
            * q**k
            * mpmath.exp(mpmath.mpf(k * k - k) / (2 * mpmath.mpf(multiplier) ** 2))
            for k in range(order + 1)
        )
        return mpmath.log(total) / (order - 1)


@pytest.mark.parametrize("relation", [Relation.ZERO_OUT, Relation.ADD_REMOVE])
@pytest.mark.parametrize("rate", [0.004, 0.01, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("multiplier", [0.7, 2.5, 5.0, 300.0])
def test_renyi_bounds_the_exact_divergence_closely(relation, rate, multiplier):
    orders = [2, 3, 8, 18, 64, 125]
    event = SampledGaussian(rate, multiplier, 100)
    for order, bound in zip(orders, renyi_of([event], orders, relation), strict=True):
        exact = 100 * exact_renyi(rate, multiplier, order)
        assert exact <= bound <= exact * (1 + mpmath.mpf("1e-9")) + mpmath.mpf("1e-9")
