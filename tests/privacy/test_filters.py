import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import rdp
from dp_accounting.rdp import compute_epsilon
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dpscd.errors import CardError, ParameterError
from dpscd.privacy import accounting
from dpscd.privacy.accounting import SampledGaussian, epsilon_of, renyi_of
from dpscd.privacy.cost import Cost
from dpscd.privacy.filters import (
    BasicFilter,
    RenyiFilter,
    above,
    below,
    check_target,
    exact,
    filter_from_dict,
    fit_cost,
    new_filter,
)
from dpscd.privacy.relation import Relation
from plans import small_plan

positive = st.floats(1e-30, 100.0, allow_nan=False)


def test_numbers_are_read_as_they_are_written():
    assert sum([exact(0.1)] * 10) == exact(1.0)
    assert exact(1e-5) == Fraction(1, 100_000)
    assert above(exact(0.3) - exact(0.1)) == 0.2
    assert below(exact(0.3) - exact(0.3)) == 0.0
    assert math.copysign(1.0, below(Fraction(0))) == 1.0


@given(st.lists(positive, min_size=1, max_size=30))
def test_totals_are_rounded_to_the_private_side(costs):
    total = sum(exact(x) for x in costs)
    assert exact(below(total)) <= total <= exact(above(total))
    assert above(total) <= math.nextafter(below(total), math.inf) * (1.0 + 1e-15)
    assert above(total) >= math.fsum(costs) * (1.0 - 1e-15)


def test_renyi_divergence_covers_the_other_direction():
    # D_a(Q || P) of one step, by quadrature.
    q, sigma, order = 0.3, 0.8, 6
    y = np.linspace(-12.0, 13.0, 200_001)
    empty = norm.logpdf(y, 0.0, sigma)
    with_record = np.logaddexp(math.log1p(-q) + empty, math.log(q) + norm.logpdf(y, 1.0, sigma))
    integrand = np.exp(order * empty - (order - 1) * with_record)
    other = math.log(np.trapezoid(integrand, y)) / (order - 1)
    (found,) = renyi_of([SampledGaussian(q, sigma, 1)], [order], Relation.ZERO_OUT)
    assert 0.0 < other <= found


def test_what_cannot_be_computed_is_infinite(monkeypatch):
    class Broken:
        rdp = (math.nan,)

        def __init__(self, *_, **__):
            pass

        def compose(self, event, count):
            pass

    monkeypatch.setattr(rdp, "RdpAccountant", Broken)
    accounting._renyi.cache_clear()
    found = renyi_of([SampledGaussian(0.1, 1.0, 1)], [4], Relation.ZERO_OUT)
    accounting._renyi.cache_clear()
    assert found == (math.inf,)


def test_replace_one_has_no_renyi_accounting():
    with pytest.raises(ParameterError, match="no Rényi accounting"):
        renyi_of([SampledGaussian(0.1, 1.0, 1)], [4], Relation.REPLACE_ONE)
    with pytest.raises(ParameterError, match="not valid for relation='replace-one'"):
        new_filter("renyi", 1.0, 1e-5, Relation.REPLACE_ONE)


@pytest.mark.parametrize(
    ("name", "epsilon", "delta", "match"),
    [
        ("basic", 101.0, 1e-5, "at most 100"),
        ("moments", 1.0, 1e-5, "must be 'basic' or 'renyi'"),
        ("renyi", 1e-3, 1e-6, "too small for filter='renyi'"),
    ],
)
def test_budgets_that_cannot_be_kept_are_refused(name, epsilon, delta, match):
    with pytest.raises(ParameterError, match=match):
        new_filter(name, epsilon, delta, Relation.ZERO_OUT)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("1", 1e-5), (True, 1e-5), (1.0, None), (0.0, 0.1), (1.0, 0.0), (1.0, 1.0), (1, 1e-40),
     (math.nan, 0.1)],
)  # fmt: skip
def test_a_target_is_two_numbers_in_range(epsilon, delta):
    with pytest.raises(ParameterError):
        check_target(epsilon, delta)


def test_a_claim_below_what_is_released_is_not_believed():
    plan = small_plan(1.0, 1e-6)
    for rule in (BasicFilter(2.0, 1e-5), RenyiFilter.of(2.0, 1e-5)):
        assert fit_cost(rule, [plan.training.cost], 1.0, 1e-6, Relation.ZERO_OUT)
        with pytest.raises(CardError, match=r"epsilon=0.9 is claimed"):
            fit_cost(rule, [plan.training.cost], 0.9, 1e-6, Relation.ZERO_OUT)
        with pytest.raises(CardError):
            fit_cost(rule, [plan.training.cost], 1.0, 1e-7, Relation.ZERO_OUT)
        with pytest.raises(CardError):
            fit_cost(rule, [plan.training.cost] * 2, 1.0, 1e-6, Relation.ZERO_OUT)


def test_basic_charges_the_claim_of_the_card():
    plan = small_plan(1.0, 1e-6, Relation.REPLACE_ONE)
    rule = BasicFilter(2.0, 1e-5)
    cost = fit_cost(rule, [plan.training.cost], 1.0, 1e-6, Relation.REPLACE_ONE)
    assert cost == {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-5), (1.0, 1e-5), (2.0, 1e-3), (8.0, 1e-6)]
)
@pytest.mark.parametrize("fits", [1, 7])
def test_renyi_totals_are_those_of_dp_accounting(epsilon, delta, fits):
    rule = RenyiFilter.of(epsilon, delta)
    own = small_plan(epsilon / 5.0, delta / 10.0).training.cost
    cost = rule.cost([own], 0.0, 0.0, Relation.ZERO_OUT)
    total, at_delta = rule.spent({key: fits * exact(x) for key, x in cost.items()})
    assert at_delta is None
    inner = (delta - rule.precision_delta) * math.exp(-rule.precision_epsilon / 2.0)
    (rdp,) = renyi_of([own.event] * fits, [rule.order], Relation.ZERO_OUT)
    expected = compute_epsilon([rule.order], [rdp], inner)[0] + rule.precision_epsilon
    assert expected <= total * (1 + 1e-12)
    assert float(total) == pytest.approx(expected, abs=1e-8)
    # Never below what the tightest accountant says of fits fixed in advance.
    event = own.event
    together = SampledGaussian(event.rate, event.noise_multiplier, fits * event.steps)
    assert total >= epsilon_of([together], delta, Relation.ZERO_OUT, 1e-3).epsilon


def test_renyi_charges_finite_precision_by_the_formula_of_its_proof():
    rule = RenyiFilter.of(1.0, 1e-5)
    release = small_plan(0.2, 1e-6).training.cost
    cost = rule.cost([release, release], 0.0, 0.0, Relation.ZERO_OUT)
    weight = 1.0 + math.exp(1.0)
    miss = 1e-6 * rule.precision_delta / weight
    steps, size = release.event.steps, release.size
    r = 2 * release.noise.log_ratio(release.pairs, math.log(miss))
    lots = release.lots(Relation.ZERO_OUT)
    mass = 2 * (miss + release.noise.tail(steps, size) + lots.imprecision(steps, 1000))
    assert cost["precision_epsilon"] == pytest.approx(2.0 * r, rel=1e-9)
    assert cost["precision_delta"] == pytest.approx(weight * mass, rel=1e-9)
    assert cost["precision_epsilon"] >= 2.0 * r
    assert cost["precision_delta"] >= weight * mass
    # The parts together are within the budget.
    big_r, mass = rule.precision_epsilon / 2.0, rule.precision_delta / weight
    inner = (1e-5 - rule.precision_delta) * math.exp(-big_r)
    e = 1.0 - 2.0 * big_r
    assert math.exp(big_r) * inner + (1 + math.exp(big_r + e)) * mass <= 1e-5


def test_renyi_charges_the_tail_of_lazy_noise():
    """At the epsilon of the budget: later fits are chosen from what may be wrong."""
    rule = RenyiFilter.of(40.0, 1e-5)
    large = Cost("shared vector", SampledGaussian(0.1, 4.0, 100), 0.01, 4096, 1000)
    cost = rule.cost([large], 0.0, 0.0, Relation.ZERO_OUT)
    weight = 1.0 + math.exp(40.0)
    miss = 1e-6 * rule.precision_delta / weight
    mass = miss + large.tail(Relation.ZERO_OUT) + 101 * 2048 * 2.0**-128
    assert cost["precision_delta"] == pytest.approx(weight * mass, rel=1e-9, abs=0.0)
    r = large.noise.log_ratio(101 * 2048, math.log(miss), lazy=True)
    assert cost["precision_epsilon"] == pytest.approx(2.0 * r, rel=1e-9)


def test_the_order_is_the_best_for_gaussian_fits():
    rule = RenyiFilter.of(2.0, 1e-5)
    assert rule.order == 10
    assert filter_from_dict("renyi", vars(rule)) == rule


@pytest.mark.parametrize(
    ("name", "values", "error"),
    [
        ("basic", {"epsilon": 1.0}, TypeError),
        ("basic", {"epsilon": 1.0, "delta": "x"}, ValueError),
        ("basic", {"epsilon": -1.0, "delta": 0.1}, ValueError),
        ("other", {}, KeyError),
        ("renyi", {**vars(RenyiFilter.of(1.0, 0.1)), "order": 1}, ValueError),
        ("renyi", {**vars(RenyiFilter.of(1.0, 0.1)), "order": 2.5}, ValueError),
    ],
)
def test_stored_filters_are_checked(name, values, error):
    with pytest.raises(error):
        filter_from_dict(name, values)


def hockey_stick(log_factor, shift):
    """H_a(N(shift, 1) || N(0, 1)) for a = exp(log_factor)."""
    cut = log_factor / shift
    return norm.sf(cut - shift / 2) - np.exp(log_factor) * norm.sf(cut + shift / 2)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_renyi_filter_holds_for_an_adversary_that_chooses_adaptively(share):
    # A first Gaussian release; where it was unlucky for the record, all that is left is
    # spent on a second one, else nothing. Exact delta at epsilon by quadrature.
    epsilon, delta = 1.0, 1e-2
    rule = RenyiFilter.of(epsilon, delta)
    first = math.sqrt(2.0 * share * rule.rdp / rule.order)
    second = math.sqrt(2.0 * (1.0 - share) * rule.rdp / rule.order)
    y = np.linspace(-12.0, 14.0, 20_001)
    loss = first * y - first**2 / 2.0
    worst = 0.0
    for threshold in np.linspace(-2.0, 3.0, 11):
        found = norm.pdf(y, first) * np.where(
            y > threshold,
            # P1 H_{exp(epsilon - loss)}(P2 || Q2), the composition rule of theory.
            hockey_stick(epsilon - loss, second),
            np.maximum(1.0 - np.exp(epsilon - loss), 0.0),
        )
        worst = max(worst, float(np.trapezoid(found, y)))
    assert 0.05 * delta < worst <= delta
