import math
from dataclasses import asdict

import pytest

from dpscd.errors import CardError
from dpscd.model.plain import typed
from dpscd.privacy.accounting import SampledGaussian, epsilon_of
from dpscd.privacy.cost import Cost, claim, inner_target
from dpscd.privacy.draws import PoissonLots
from dpscd.privacy.relation import Relation

EVENT = SampledGaussian(0.1, 4.0, 100)
GOOD = Cost("shared vector", EVENT, 0.01, 5, 1000)


@pytest.mark.parametrize(
    ("kind", "field", "bad"),
    [
        *((Cost, "clip", bad) for bad in (0.0, -1.0, math.inf, math.nan)),
        *((Cost, "size", bad) for bad in (0, -1, 1.5)),
        *((Cost, "n", bad) for bad in (0, -1, 1.5)),
        *((SampledGaussian, "rate", bad) for bad in (0.0, -0.1, 1.1, math.nan, math.inf)),
        *((SampledGaussian, "noise_multiplier", x) for x in (0.0, -1.0, math.nan, math.inf)),
        *((SampledGaussian, "steps", bad) for bad in (0, -1, 1.0, math.nan)),
    ],
)
def test_values_out_of_range_are_refused(kind, field, bad):
    good = {Cost: vars(GOOD), SampledGaussian: vars(EVENT)}[kind]
    with pytest.raises(CardError, match=f"{field}="):
        kind(**{**good, field: bad})


PLAIN, OWN = asdict(GOOD), asdict(EVENT)


@pytest.mark.parametrize(
    "values", [None, [], "x", {}, {**PLAIN, "more": 1}, {"what": "x"}], ids=repr
)
def test_malformed_releases_are_refused(values):
    with pytest.raises(CardError, match="malformed"):
        typed(Cost, values)


@pytest.mark.parametrize(
    "event",
    [
        None, 7, "text", [], [1, 2], {}, {**OWN, "more": 1}, {**OWN, "rate": "0.5"},
        {**OWN, "rate": None}, {**OWN, "noise_multiplier": [2.0]}, {**OWN, "steps": "3"},
        {**OWN, "rate": 2.0}, {"rate": 1.0},
        *({key: x for key, x in OWN.items() if key != gone} for gone in OWN),
    ],
    ids=repr,
)  # fmt: skip
def test_a_malformed_event_inside_is_refused(event):
    with pytest.raises(CardError):
        typed(Cost, {**PLAIN, "event": event})


def test_what_is_written_is_read_again():
    assert typed(Cost, PLAIN) == GOOD


def test_finite_precision_takes_a_small_part_of_the_target():
    epsilon, delta = inner_target([GOOD], 1.0, 1e-5, Relation.ZERO_OUT)
    assert 1.0 - 1e-6 < epsilon < 1.0
    assert 1e-5 * (1.0 - 1e-5) < delta < 1e-5


def test_the_inner_target_gives_back_the_outer_one():
    # (e + 2 r, e^r (d + e^e miss) + miss + tail), with r, miss and tail as documented.
    epsilon, delta = 1.0, 1e-5
    e, d = inner_target([GOOD], epsilon, delta, Relation.ZERO_OUT)
    miss = delta * 1e-6 * math.exp(-epsilon)
    r = GOOD.noise.log_ratio(GOOD.pairs, math.log(miss))
    tail = GOOD.noise.tail(100, 5) + PoissonLots(0.1).imprecision(100, 1000)
    assert e + 2.0 * r == pytest.approx(epsilon, rel=1e-15)
    assert math.exp(r) * (d + math.exp(e) * miss) + miss + tail <= delta


def test_a_replaced_record_leaves_what_is_drawn_more_often():
    """It moves a sum from one end to the other, twice as far as a silent one."""
    weak = Cost("x", SampledGaussian(0.1, 0.5, 100), 0.01, 5, 1000)
    for relation, reach in (("zero-out", 1), ("add-remove", 1), ("replace-one", 2)):
        rest = weak.lots(Relation.parse(relation)).imprecision(100, 1000)
        expected = weak.noise.tail(100, 5, reach) + rest
        assert weak.tail(Relation.parse(relation)) == expected
    one, other = (
        inner_target([weak], 1.0, 1e-12, x) for x in (Relation.ZERO_OUT, Relation.REPLACE_ONE)
    )
    assert one[0] == other[0]
    assert other[1] < one[1] - 5e-17


def test_a_claim_adds_finite_precision_to_the_accounted_epsilon():
    found = claim([GOOD], 1.0, 1e-5, Relation.ZERO_OUT, 1e-4)
    left, inner = inner_target([GOOD], 1.0, 1e-5, Relation.ZERO_OUT)
    accounted = epsilon_of([EVENT], inner, Relation.ZERO_OUT, 1e-4)
    assert found.epsilon == accounted.epsilon + (1.0 - left)
    assert found.epsilon > epsilon_of([EVENT], 1e-5, Relation.ZERO_OUT, 1e-4).epsilon
    assert (found.accountant, found.interval) == (accounted.accountant, 1e-4)
    assert found.precision_epsilon == 1.0 - left
    assert found.precision_delta == 1e-5 - inner


def test_a_claim_composes_all_releases():
    one = claim([GOOD], 1.0, 1e-5, Relation.ZERO_OUT, 1e-3)
    two = claim([GOOD, GOOD], 1.0, 1e-5, Relation.ZERO_OUT, 1e-3)
    assert two.epsilon > 1.3 * one.epsilon


def test_a_delta_below_the_cost_of_precision_claims_nothing():
    weak = Cost("x", SampledGaussian(0.1, 0.01, 100), 0.01, 5, 1000)
    found = claim([weak], 1.0, 1e-5, Relation.ZERO_OUT, 1e-4)
    assert found.epsilon == math.inf
    assert found.accountant == "none"
    assert claim([GOOD], 1.0, 1e-60, Relation.ZERO_OUT, 1e-4).epsilon == math.inf


@pytest.mark.parametrize("epsilon", [700.0, 745.0, 800.0, 1e6])
def test_a_huge_epsilon_is_claimed_without_a_crash(epsilon):
    found = claim([GOOD], epsilon, 1e-5, Relation.ZERO_OUT, 1e-3)
    assert found.epsilon >= 0.0


LARGE = Cost("shared vector", EVENT, 0.01, 4096, 1000)


def test_many_numbers_pay_for_lazy_noise():
    assert LARGE.may_be_lazy
    assert not Cost("shared vector", EVENT, 0.01, 4095, 1000).may_be_lazy
    assert LARGE.pairs == 101 * 2048
    assert LARGE.log_ratio(-28.0) > LARGE.noise.log_ratio(LARGE.pairs, -28.0)
    # Every pair that is not drawn as it should be counts e^epsilon times.
    assert LARGE.lazy_tail == LARGE.pairs * 2.0**-128
    epsilon, asked = 30.0, 1e-18
    _, delta = inner_target([LARGE], epsilon, asked, Relation.ZERO_OUT)
    miss = 1e-6 * asked
    r = LARGE.log_ratio(math.log(miss) - epsilon)
    late = miss + math.exp(epsilon) * LARGE.lazy_tail
    assert late > 1e-3 * asked
    expected = (asked - late - LARGE.tail(Relation.ZERO_OUT)) * math.exp(-r) - late
    assert delta == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_beyond_a_large_epsilon_nothing_is_lazy():
    assert inner_target([LARGE], 90.0, 1e-5, Relation.ZERO_OUT)[1] > 0.0
    assert GOOD.lazy_tail == 0.0


@pytest.mark.parametrize("what", [None, 7, b"moments"])
def test_a_cost_has_a_name(what):
    with pytest.raises(CardError, match="the name of a release"):
        Cost(what, EVENT, 0.01, 5, 1000)
