import contextlib
import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpscd.errors import CalibrationError, CardError, ParameterError
from dpscd.privacy.accounting import SampledGaussian, gaussian_multiplier
from dpscd.privacy.calibration import interval_for
from dpscd.privacy.draws import (
    LatticeGaussian,
    PoissonLots,
    capacity_of,
    lattice_step,
    power_of_two_below,
)
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.releases.moments import Moments
from plans import make_plan


def plan(**changes):
    return make_plan(**{"n": 1000, "d": 4, **changes})


def training(**changes):
    return plan(**changes).training


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *(("lam", bad) for bad in (0.0, -1.0, math.inf, math.nan)),
        *(("clip", bad) for bad in (0.0, -1.0, math.inf, math.nan, 1e-100, 1e100)),
        *(("separability", bad) for bad in (0.0, -1.0, math.inf, math.nan)),
        *(("most_separability", bad) for bad in (-1.0, math.inf, math.nan)),
        *(("rate", bad) for bad in (0.0, -0.1, 1.1, math.nan)),
        *(("steps", bad) for bad in (0, -1)),
        *(("n", bad) for bad in (0, -1)),
        *(("d", bad) for bad in (0, -1)),
        *(("averaging", bad) for bad in (-0.1, 1.1, math.nan)),
    ],
)
def test_numbers_out_of_range_are_refused(name, bad):
    with pytest.raises(ParameterError, match="number of features" if name == "d" else name):
        plan(**{name: bad})


@pytest.mark.parametrize(
    ("name", "bad"), [("inference", "sure"), ("loss", "overload"), ("loss", "sys")]
)
def test_facts_that_are_not_known_are_refused(name, bad):
    with pytest.raises(ParameterError, match=f"{name}='{bad}' is not known"):
        plan(facts={name: bad})


@pytest.mark.parametrize(
    ("averaging", "steps", "first"),
    [(0.0, 100, 99), (0.5, 100, 50), (1.0, 100, 0), (0.5, 1, 0), (0.001, 100, 99), (1.0, 1, 0)],
)
def test_at_least_one_step_is_averaged(averaging, steps, first):
    assert training(averaging=averaging, steps=steps).average_from == first


@pytest.mark.parametrize("relation", Relation)
def test_lots_of_records_that_move_are_drawn_without_rounding(relation):
    # Whoever stands behind a removed record moves up: rounded skips are not memoryless, so
    # the law of its bit would not be what it was.
    one = training(noise_multiplier=3.0, relation=relation)
    assert one.lots.exact == (relation is Relation.ADD_REMOVE)
    assert one.cost.lots(relation) == one.lots


def test_what_is_drawn_is_what_is_accounted():
    one = training(noise_multiplier=3.0)
    assert one.event == SampledGaussian(0.1, 3.0, 100)
    assert one.lots == PoissonLots(one.event.rate)
    assert one.noise == LatticeGaussian(0.01, one.event.noise_multiplier)
    cost = one.cost
    assert (cost.event, cost.clip, cost.size, cost.n) == (one.event, 0.01, 5, 1000)
    assert (cost.noise, cost.lots(one.relation)) == (one.noise, one.lots)
    numbers = one.constants(7.0)
    assert numbers.strength == 7.0
    assert numbers.separability == 100.0
    # Who does not follow the path damps as much as the plan allows.
    for most, damping in ((50.0, 100.0), (300.0, 300.0)):
        risen = training(noise_multiplier=3.0, most_separability=most).constants(7.0)
        assert risen.separability == damping
    assert (numbers.clip, numbers.cell) == (one.clip, one.cell)
    assert (numbers.grid, numbers.spread) == (one.noise.grid, one.noise.spread)


def test_a_plan_that_is_not_calibrated_has_no_event():
    with pytest.raises(CardError, match="noise_multiplier"):
        training().event  # noqa: B018 - refuses what is no multiplier


@given(n=st.integers(1, 10**12), clip=st.floats(1e-90, 1e90))
def test_sums_of_any_lot_stay_exact(n, clip):
    one = training(n=n, clip=clip)
    assert capacity_of(one.n) >= 2 * n
    assert math.frexp(one.cell)[0] == 0.5
    # A member adds at most clip / cell to a coordinate; all of them less than 2^53.
    assert capacity_of(one.n) * (clip / one.cell) < 2.0**53
    if n <= 2**22:
        assert one.cell == power_of_two_below(clip) * 2.0**-29


@given(
    epsilon=st.floats(0.05, 20.0),
    delta=st.sampled_from([1e-3, 1e-5, 1e-9]),
    rate=st.sampled_from([0.002, 0.02, 0.3, 1.0]),
    epochs=st.integers(5, 100),
    more=st.fixed_dictionaries(
        {
            "relation": st.sampled_from(list(Relation)),
            "d": st.integers(1, 1000),
            "outputs": st.sampled_from([1, 10]),
            "clip": st.floats(1e-6, 1e6),
        }
    ),
)
@settings(max_examples=12)
def test_a_calibrated_plan_keeps_its_promise(epsilon, delta, rate, epochs, more):
    steps = math.ceil(epochs / rate)
    one = plan(epsilon=epsilon, delta=delta, rate=rate, steps=steps, **more).calibrated()
    found = one.claim()
    assert 0.98 * epsilon < found.epsilon <= epsilon
    assert 0.0 < found.precision_epsilon < 0.01 * epsilon
    assert 0.0 < found.precision_delta < 0.01 * delta


def test_noise_that_is_too_small_for_the_drawn_normals_is_raised():
    # Hardly any noise would do for this epsilon, but exact normals would leave the range
    # of the drawn ones: the multiplier is raised until that is paid for.
    one = plan(epsilon=300.0, delta=1e-12, rate=1.0, steps=1, d=10**4).calibrated()
    assert one.claim().epsilon <= 300.0
    assert one.training.noise.tail(1, 10**4) < 1e-12
    assert one.training.noise_multiplier > 0.2


def test_what_finite_precision_alone_exceeds_is_refused():
    for changes in ({"epsilon": 1e-9, "d": 10**6}, {"delta": 1e-60}):
        with pytest.raises(CalibrationError, match="finite precision alone costs more"):
            plan(**changes).calibrated()


@pytest.mark.parametrize("epsilon", [750.0, 1e4])
def test_a_huge_epsilon_is_planned_or_refused_with_a_reason(epsilon):
    with contextlib.suppress(CalibrationError, ParameterError):
        assert plan(epsilon=epsilon, rate=1.0, steps=1).calibrated().claim().epsilon <= epsilon


@pytest.mark.parametrize(
    ("changes", "packed"),
    [
        ({"noise_multiplier": 1.0}, True),
        ({"noise_multiplier": 2.0**-14 * math.sqrt(100 * 10) * 1.001}, True),
        ({"noise_multiplier": 2.0**-14 * math.sqrt(100 * 10) * 0.999}, False),
        # Few steps of few records, but a grid of hardly any cells, or of too many.
        ({"noise_multiplier": 1e-7, "rate": 1e-9, "steps": 1}, False),
        ({"noise_multiplier": 2.0**26}, False),
    ],
)
def test_rows_are_rounded_only_where_the_noise_hides_it(changes, packed):
    assert training(**changes).fixed_point == packed


@pytest.mark.parametrize("clip", [1e-99, 0.3, 1e99])
@pytest.mark.parametrize("n", [1, 1000, 2**22 + 1, 10**9])
def test_sums_of_whole_numbers_stay_below_64_bits(n, clip):
    made = training(n=n, clip=clip, noise_multiplier=1.0)
    numbers = made.constants(1.0, fixed_point=True)
    assert math.frexp(numbers.cell)[0] == 0.5
    assert capacity_of(made.n) >= 2 * n
    assert capacity_of(made.n) * clip / numbers.cell < 2.0**63
    # One record in whole numbers of 32 bits: its largest entry is 32767.
    assert clip / numbers.cell / 32767.0 < 2.0**31
    if made.fixed_point:
        assert 2.0**9 <= numbers.grid / numbers.cell <= 2.0**52


FIRST = {"moments_noise": 12.0, "label_noise": 20.0}


def test_what_is_released_before_training_is_listed():
    names = ["moments", "label mean", "label spread", "shared vector"]
    one = plan(noise_multiplier=3.0, **FIRST)
    assert [release.what for release in one.releases] == names
    assert one.costs == tuple(release.cost for release in one.releases)
    moments, mean, spread, last = one.costs
    assert last == one.training.cost
    assert (moments.size, mean.size, spread.size) == (2 * one.facts.d, 1, 1)
    for cost, noise in ((moments, 12.0), (mean, 20.0), (spread, 20.0)):
        assert cost.event == SampledGaussian(1.0, noise, 1)
        assert (cost.clip, cost.n) == (1.0, one.facts.n)
    # Without an intercept the labels' centre is zero, which costs nothing.
    bare = plan(noise_multiplier=3.0, intercept=False, **FIRST)
    assert [release.what for release in bare.releases] == [names[0], names[2], names[3]]
    assert plan(noise_multiplier=3.0).releases == (training(noise_multiplier=3.0),)


@pytest.mark.parametrize("name", ["moments_noise", "label_noise"])
@pytest.mark.parametrize("bad", [-1.0, -1e-300, math.inf, math.nan])
def test_noise_of_first_releases_must_be_a_number(name, bad):
    with pytest.raises(ParameterError, match=r"the noise of .* must be positive"):
        plan(**{name: bad})


def test_releases_have_the_facts_and_the_target_of_their_plan():
    """Whether noise may be lazy, and what that costs, goes by the epsilon of the plan."""
    one = with_pilot()
    targets = [{"epsilon": 2.0}, {"delta": 1e-6}, {"relation": Relation.REPLACE_ONE}]
    for other in ({"n": 7}, {"d": 7}, {"outputs": 3}, {"intercept": False}, *targets):
        pilot = plan(steps=30, noise_multiplier=9.0, pilot={}, **FIRST, **other).trainings[0]
        releases = (*one.releases[:3], pilot, *one.releases[4:])
        with pytest.raises(ParameterError, match="its facts and its target"):
            dataclasses.replace(one, releases=releases)
    with pytest.raises(ParameterError, match="its facts and its target"):
        dataclasses.replace(one, facts=plan(n=7).facts)
    with pytest.raises(ParameterError, match="its facts and its target"):
        dataclasses.replace(one, target=PrivacyTarget(2.0, 1e-5))


@pytest.mark.full
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_plan_calibrated_with_first_releases_keeps_its_promise(relation, epsilon, intercept):
    gaussian = gaussian_multiplier(epsilon, 1e-5, relation)
    one = plan(
        epsilon=epsilon,
        relation=relation,
        intercept=intercept,
        moments_noise=gaussian / math.sqrt(0.1),
        label_noise=gaussian / math.sqrt(0.04),
    )
    whole = one.calibrated()
    assert 0.98 * epsilon < whole.claim().epsilon <= epsilon
    # A plan that forgets them has less noise, and claims what it does not keep.
    forgetful = dataclasses.replace(one, releases=one.trainings).calibrated()
    less = forgetful.training.noise_multiplier
    assert less < 0.98 * whole.training.noise_multiplier
    honest = one._with_noise(less)
    assert honest.claim().epsilon > 1.01 * epsilon
    silent = dataclasses.replace(whole, releases=whole.trainings)
    assert silent.claim().epsilon < 0.99 * whole.claim().epsilon


def test_first_releases_under_replace_one_count_twice():
    gaussian = gaussian_multiplier(1.0, 1e-5, Relation.ZERO_OUT)

    def claimed(relation, noise):
        values = {"rate": 1.0, "steps": 1, "noise_multiplier": 1e6, "relation": relation}
        return plan(first=[(Moments, noise)], **values).claim().epsilon

    assert claimed(Relation.ZERO_OUT, gaussian) == pytest.approx(1.0, abs=0.01)
    assert claimed(Relation.REPLACE_ONE, gaussian) > 1.8
    assert claimed(Relation.REPLACE_ONE, 2.0 * gaussian) == pytest.approx(1.0, abs=0.01)


def test_first_releases_that_take_all_are_refused():
    gaussian = gaussian_multiplier(1.0, 1e-5, Relation.ZERO_OUT)
    with pytest.raises(CalibrationError):
        plan(moments_noise=0.8 * gaussian).calibrated()


def test_the_discretisation_is_the_one_by_which_a_ledger_recomputes():
    one = plan(steps=1, rate=1.0, noise_multiplier=30.0, **FIRST)
    parts = tuple((cost.event.rate, cost.event.steps) for cost in one.costs)
    assert parts == 4 * ((1.0, 1),)
    assert one.claim().interval == interval_for(1.0, 1e-5, Relation.ZERO_OUT, parts)


@pytest.mark.parametrize("n", [1, 1000, 2**22, 2**40])
def test_sums_of_contributions_of_length_one_are_exact_too(n):
    one = training(n=n)
    assert capacity_of(one.n) / lattice_step(n, 1.0) < 2.0**53
    assert one.cell == lattice_step(n, one.clip)


def with_pilot(**changes):
    pilot = {"steps": 30, "noise_multiplier": 9.0, "lam": 0.02}
    return plan(noise_multiplier=5.0, **FIRST, pilot=pilot, **changes)


def test_a_pilot_is_listed_with_the_spread_that_follows_it():
    one = with_pilot()
    *first, pilot, spread, main = one.costs
    assert first == list(plan(noise_multiplier=5.0, **FIRST).costs[:-1])
    assert pilot == one.trainings[0].cost
    assert pilot.event == SampledGaussian(0.1, 9.0, 30)
    assert spread == first[-1] == one.listed("label spread").cost
    assert main == one.training.cost
    assert one.trainings[1] is one.training
    assert one.listed("rescaling") is None


def test_a_pilot_is_paid_for():
    one = with_pilot()
    without = plan(noise_multiplier=5.0, **FIRST)
    assert one.claim().epsilon > 1.01 * without.claim().epsilon
    whole = one.calibrated()
    assert 0.98 < whole.claim().epsilon <= 1.0
    more = whole.training.noise_multiplier
    assert more > 1.01 * without.calibrated().training.noise_multiplier
    assert whole.trainings[0] == one.trainings[0]


def test_a_plan_without_releases_has_no_training():
    with pytest.raises(ParameterError, match="no training"):
        dataclasses.replace(plan(), releases=()).training  # noqa: B018 - refused


@pytest.mark.parametrize(
    ("changes", "lazy"),
    [
        ({}, True),
        ({"d": 4094}, False),
        ({"d": 1365, "outputs": 3}, True),
        ({"epsilon": 32.5}, False),
        ({"steps": 2**20 + 1}, False),
        ({"noise_multiplier": 1e8}, False),
        ({"noise_multiplier": 1e-7}, False),
    ],
)
def test_lazy_noise_follows_from_public_numbers(changes, lazy):
    assert training(**{"d": 4095, "noise_multiplier": 2.0, **changes}).lazy == lazy


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 1000, 2**20])
def test_sums_for_an_average_are_rounded_by_less_than_their_noise(steps):
    made = training(steps=steps, averaging=1.0, noise_multiplier=2.0)
    deviation = math.sqrt(steps * (steps**2 - 1.0) / 12.0)
    assert deviation <= 2.0**made.average_bits <= max(1.0, 2.0 * deviation)
    assert made.noise.grid == made.cell * 2.0**made.grid_bits


def test_a_plan_that_may_be_lazy_pays_for_it():
    one = plan(d=10**6, n=200_000, steps=10**5, rate=1e-3).calibrated()
    assert one.training.lazy
    assert one.claim().epsilon <= 1.0
    assert one.claim().precision_epsilon < 5e-3
