"""What dp-accounting is asked, and what becomes of its answers."""

from importlib.metadata import version

import mpmath
import pytest

from dpscd.privacy import accountants
from dpscd.privacy.accountants import library_version, renyi_of
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.relation import Relation


def test_the_version_is_that_of_the_installed_library():
    assert library_version() == version("dp-accounting")


def test_many_steps_are_composed_in_two_goes(monkeypatch):
    event = SampledGaussian(0.01, 20.0, 2500)
    given = ((event,), Relation.ZERO_OUT, 0.01, 1e-10)
    whole = accountants._by_library(*given).get_epsilon_for_delta(1e-6)
    for at_once in (1000, 1250):  # with and without a rest
        monkeypatch.setattr(accountants, "_AT_ONCE", at_once)
        accountants._by_library.cache_clear()
        found = accountants._by_library(*given).get_epsilon_for_delta(1e-6)
        assert found == pytest.approx(whole, rel=1e-6)


def test_what_the_library_would_compute_is_counted_where_it_ends():
    # The tail that may be cut is larger than the rate, but the library's grid ends at 1e-4.
    event = SampledGaussian(1e-6, 0.2, 1)
    cells = accountants._cells((event,), 1e-6, Relation.ZERO_OUT, 1e-6)
    assert cells > 10 * accountants._MOST_CELLS


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


def test_renyi_adds_up_over_events():
    event = SampledGaussian(0.1, 2.0, 10)
    (one,) = renyi_of([event], [8], Relation.ZERO_OUT)
    (two,) = renyi_of([event, event], [8], Relation.ZERO_OUT)
    assert two == pytest.approx(2.0 * one, rel=1e-12)
