"""Calibration: the target is reached, closely, and never exceeded."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpscd.errors import CalibrationError
from dpscd.privacy import accounting, calibration
from dpscd.privacy.accounting import Accounted, SampledGaussian, epsilon_of, gaussian_multiplier
from dpscd.privacy.calibration import _round_up, calibrate, interval_for
from dpscd.privacy.relation import PrivacyTarget, Relation


def multiplier_of(relation, epsilon, rate, steps):
    target = PrivacyTarget(epsilon, 1e-5, Relation(relation))
    interval = interval_for(epsilon, 1e-5, target.relation, ((rate, steps),))
    return calibrate(target, rate, steps, interval)


every_relation = pytest.mark.parametrize("relation", list(Relation))


@pytest.mark.parametrize(("rate", "steps"), [(0.004, 25000), (0.2, 30), (1.0, 10)])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
@every_relation
def test_calibration_ends_just_below_the_target(relation, epsilon, rate, steps):
    target = PrivacyTarget(epsilon, 1e-5, relation)
    interval = interval_for(epsilon, 1e-5, relation, ((rate, steps),))
    multiplier = calibrate(target, rate, steps, interval)
    event = SampledGaussian(rate, multiplier, steps)
    found = epsilon_of([event], 1e-5, relation, interval).epsilon
    assert 0.99 * epsilon < found <= epsilon


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@every_relation
def test_calibration_leaves_room_for_what_else_is_released(relation, epsilon):
    target = PrivacyTarget(epsilon, 1e-5, relation)
    interval = interval_for(epsilon, 1e-5, relation, ((0.02, 2000),))
    gaussian = gaussian_multiplier(epsilon, 1e-5, relation)
    alone = calibrate(target, 0.02, 2000, interval)
    once = SampledGaussian(1.0, gaussian / math.sqrt(0.1), 1)
    sampled = SampledGaussian(0.02, 4.0 * alone, 500)
    for others in ((once,), (once, sampled), (once, once, once)):
        multiplier = calibrate(target, 0.02, 2000, interval, others)
        assert multiplier > 1.02 * alone
        event = SampledGaussian(0.02, multiplier, 2000)
        found = epsilon_of([*others, event], 1e-5, relation, interval).epsilon
        assert 0.99 * epsilon < found <= epsilon
        assert epsilon_of([event], 1e-5, relation, interval).epsilon < 0.99 * epsilon


def test_others_that_take_all_leave_nothing_to_calibrate():
    target = PrivacyTarget(1.0, 1e-5)
    others = (SampledGaussian(1.0, 0.9 * gaussian_multiplier(1.0, 1e-5, target.relation), 1),)
    with pytest.raises(CalibrationError, match="reaches epsilon"):
        calibrate(target, 1.0, 1, 1e-3, others)


def test_zero_out_and_add_remove_need_the_same_noise():
    first, second = (
        multiplier_of(relation, 1.0, 0.2, 30) for relation in ("zero-out", "add-remove")
    )
    assert first == second


def test_a_target_that_any_noise_reaches_gets_hardly_any():
    target = PrivacyTarget(20000.0, 1e-5, Relation.REPLACE_ONE)
    assert calibrate(target, 0.5, 1, 50.0) == calibration._SMALLEST


def test_a_target_out_of_reach_is_refused():
    # The grid of the accountant is far coarser than this epsilon.
    target = PrivacyTarget(1e-6, 1e-12, Relation.REPLACE_ONE)
    with pytest.raises(CalibrationError, match=r"up to 1e\+09 reaches epsilon=1e-06"):
        calibrate(target, 1.0, 100, 1e-2)


def test_calibration_finds_its_way_along_a_cliff(monkeypatch):
    # An accountant that jumps misleads the secant; the bracket does not care.
    def cliff(events, *_, **__):
        return Accounted(10.0 if events[0].noise_multiplier < 3.0 else 0.5, "PLD")

    monkeypatch.setattr(calibration, "epsilon_of", cliff)
    monkeypatch.setattr(calibration, "estimate", cliff)
    found = calibrate.__wrapped__(PrivacyTarget(1.0, 1e-5), 0.01, 100, 1e-4)
    assert 3.0 <= found <= 3.001


def test_what_the_search_finds_is_put_to_the_accountant_that_decides(monkeypatch):
    def strict(events, *rest, **words):
        found = epsilon_of(events, *rest, **words)
        return found._replace(epsilon=1.03 * found.epsilon)

    target = PrivacyTarget(1.0, 1e-5)
    plain = calibrate.__wrapped__(target, 0.01, 1000, 1e-3)
    monkeypatch.setattr(calibration, "epsilon_of", strict)
    found = calibrate.__wrapped__(target, 0.01, 1000, 1e-3)
    assert found > plain
    event = SampledGaussian(0.01, found, 1000)
    assert 0.98 < 1.03 * epsilon_of([event], 1e-5, target.relation, 1e-3).epsilon <= 1.0
    # One that is never content ends the search.
    monkeypatch.setattr(calibration, "epsilon_of", lambda *_, **__: Accounted(9.0, "PLD"))
    with pytest.raises(CalibrationError, match="no noise multiplier"):
        calibrate.__wrapped__(target, 0.01, 1000, 1e-3)


@given(multiplier=st.floats(0.01, 1e9))
@example(multiplier=0.01)
@example(multiplier=1e9)
@example(multiplier=math.nextafter(2.0, 3.0))
@example(multiplier=math.nextafter(1.2345, 2.0))
@example(multiplier=9.99999)
@example(multiplier=99999.0)
def test_rounding_up_never_goes_down_nor_far(multiplier):
    rounded = _round_up(multiplier)
    assert multiplier <= rounded <= multiplier * (1.0 + 1.0001e-4)
    assert float(f"{rounded:.4e}") == pytest.approx(rounded, rel=1e-15)


# --- never below, and close ----------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 10, 100_000])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0, 100.0])
@every_relation
def test_full_lots_need_the_exact_noise_of_one_release_or_up_to_half_a_percent_more(
    relation, epsilon, steps
):
    target = PrivacyTarget(epsilon, 1e-5, relation)
    interval = interval_for(epsilon, 1e-5, relation, ((1.0, steps),))
    exact = gaussian_multiplier(epsilon, 1e-5, relation) * math.sqrt(steps)
    found = calibrate(target, 1.0, steps, interval)
    if exact > calibration._SMALLEST:
        assert exact <= found <= 1.005 * exact


# relation, epsilon, rate, steps: from the Gaussian limit to one large loss among tiny ones.
SPREAD = [
    ("zero-out", 1.0, 0.01, 10_000),
    ("zero-out", 1.0, 0.001, 1000),
    ("zero-out", 0.1, 0.001, 100),
    ("zero-out", 2.0, 0.2, 30),
    ("zero-out", 10.0, 0.001, 1000),
    ("zero-out", 30.0, 1e-5, 1000),
    ("replace-one", 0.1, 0.01, 1000),
    ("replace-one", 2.0, 0.001, 1000),
]


@pytest.mark.full
@pytest.mark.parametrize("setting", SPREAD, ids=str)
def test_on_a_grid_four_times_finer_hardly_less_noise_would_do(setting):
    relation, epsilon, rate, steps = setting
    found = multiplier_of(*setting)
    interval = interval_for(epsilon, 1e-5, Relation(relation), ((rate, steps),)) / 4.0

    def reached(multiplier):
        event = SampledGaussian(rate, multiplier, steps)
        return epsilon_of([event], 1e-5, Relation(relation), interval).epsilon

    assert reached(found) <= epsilon * (1.0 + 1e-6)
    assert found == calibration._SMALLEST or reached(found / 1.006) > epsilon


@pytest.fixture
def second(monkeypatch):
    """Return a list to which each question to the second accountant adds something."""
    asked = []
    real = accounting._rdp_epsilon

    def counted(*rest):
        asked.append(rest)
        return real(*rest)

    monkeypatch.setattr(accounting, "_rdp_epsilon", counted)
    return asked


def test_a_second_accountant_that_is_no_better_is_asked_once(second):
    target = PrivacyTarget(1.0, 1e-5)
    interval = interval_for(1.0, 1e-5, target.relation, ((1e-4, 1000),))
    calibrate.__wrapped__(target, 1e-4, 1000, interval)
    assert len(second) == 1


def test_a_second_accountant_that_is_better_is_asked_again(second):
    # On a grid this coarse the first is useless.
    target = PrivacyTarget(1.0, 1e-5)
    found = calibrate.__wrapped__(target, 0.01, 1000, 0.5)
    assert len(second) > 1
    event = SampledGaussian(0.01, found, 1000)
    bound = epsilon_of([event], 1e-5, target.relation, 0.5)
    assert bound.accountant == "RDP"
    assert 0.995 < bound.epsilon <= 1.0


# --- the interval --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "rate", "steps", "interval"),
    [
        (1e-9, 1.0, 1, 1e-10),  # the finest there is
        (1.0, 1.0, 10**6, 0.018),  # one release, however many
        (1.0, 0.01, 10**4, 1.9e-4),
        (1.0, 0.01, 10**6, 2.2e-5),
        (1.0, 0.01, 10**8, 1e-5),  # as fine as it is worth
        (100.0, 1.0, 1, 0.05),
        (0.1, 1e-5, 100, 7e-4),  # a wide range
    ],
)
def test_the_interval_follows_the_target_and_the_steps(epsilon, rate, steps, interval):
    found = interval_for(epsilon, 1e-6, Relation.ZERO_OUT, ((rate, steps),))
    assert interval / 1.5 <= found <= 1.5 * interval


def test_the_interval_counts_all_parts():
    def of(*parts):
        return interval_for(1.0, 1e-6, Relation.ZERO_OUT, parts)

    assert of((0.01, 3000), (0.01, 7000)) == of((0.01, 10_000))
    assert of((1.0, 1)) < of()


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("epsilon", [7e7, 1e9, 1e300])
def test_no_epsilon_is_too_large_for_a_grid(epsilon, relation):
    interval = interval_for(epsilon, 1e-5, relation, ((0.1, 100),))
    target = PrivacyTarget(epsilon, 1e-5, relation)
    assert calibrate.__wrapped__(target, 0.1, 100, interval) == 0.2
