"""Private bounds: sensitivity by brute force, the law of the noise, and what they are for."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpscd.errors import DataError, ParameterError
from dpscd.model.fit import run
from dpscd.planning.rule import plan_fit
from dpscd.privacy.cost import BOUND_CELLS
from dpscd.privacy.draws import capacity_of, check_capacity
from dpscd.privacy.random import Purpose, SeededSource
from dpscd.privacy.relation import PrivacyTarget
from dpscd.releases import base
from dpscd.releases.base import sum_over
from plans import after, held, make_plan, noise_of, task_facts

N = 4096


def plan(**changes):
    values = {"n": N, "d": 3, "noise_multiplier": 1.0, "bounds_noise": 5.0, "bounded": 2}
    return make_plan(**{**values, **changes})


class Columns:
    """A store of columns alone."""

    persons = None

    def __init__(self, columns):
        self.columns = columns

    def total(self, query):
        check_capacity(query.n, max(map(len, self.columns), default=0))
        return sum_over(query, [self])


def release_bounds(one, columns, source):
    state = one.training.begins(one)
    return after(one.listed("bounds"), state, Columns(columns), source).bounds


def sums(monkeypatch, columns, one):
    """Return the exact sums that would get noise, and the multipliers of the noise."""
    seen = []

    def record(multiplier, cell, total, source, purpose, time):
        del source
        seen.append((multiplier, cell, total.copy(), purpose, time))
        return cell * total

    monkeypatch.setattr(base, "noisy_sum", record)
    release_bounds(one, columns, SeededSource(b"s"))
    return seen


values = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.0, 2.0**47, 2.0**-16, 1e308]))


@pytest.mark.full
@settings(max_examples=200)
@given(st.lists(st.tuples(values, values), min_size=1, max_size=8), st.integers(0, 7))
def test_a_record_moves_a_histogram_by_at_most_one(records, place):
    one = plan()
    place %= len(records)
    with pytest.MonkeyPatch.context() as patch:
        table = np.array(records)
        whole = sums(patch, list(table.T), one)[0]
    with pytest.MonkeyPatch.context() as patch:
        fewer = np.delete(table, place, axis=0)
        without = sums(patch, list(fewer.T), one)[0]
    cell = Fraction(whole[1])
    moved = [
        cell * (Fraction(a) - Fraction(b)) for a, b in zip(whole[2], without[2], strict=True)
    ]
    assert sum(x * x for x in moved) <= 1
    usable = int(np.isfinite(table[place]).sum() + np.isinf(table[place]).sum())
    assert sum(x != 0 for x in moved) == usable


def test_both_histograms_get_the_stated_noise_from_streams_of_their_own(monkeypatch):
    one = plan()
    seen = sums(monkeypatch, [np.ones(10), np.ones(10)], one)
    assert [(x[0], x[3], x[4]) for x in seen] == [
        (5.0, Purpose.BOUNDS, 0),
        (5.0, Purpose.BOUNDS, 1),
    ]
    cost, _ = one.costs
    assert cost.what == "bounds"
    event = cost.event
    assert (event.rate, event.noise_multiplier, event.steps) == (1, 5, 2)
    assert cost.size == len(seen[0][2]) == 2 * BOUND_CELLS
    assert cost.clip == 1.0


def test_the_noise_really_is_there():
    one = plan(bounded=1, bounds_noise=20.0)
    column = np.linspace(0.0, 100.0, N)
    found = {
        release_bounds(one, [column], SeededSource(bytes([seed])))[0] for seed in range(10)
    }
    assert len(found) > 1


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (17.0, 90.0), (-3.0, 5.0), (1e6, 2e6), (-1e-3, -1e-4)]
)
def test_bounds_hold_nearly_all_values_and_not_much_more(low, high):
    generator = np.random.default_rng(0)
    columns = [generator.uniform(low, high, size=N) for _ in range(2)]
    for found in release_bounds(plan(), columns, SeededSource(b"b")):
        inside = (columns[0] >= found[0]) & (columns[0] <= found[1])
        assert inside.mean() > 0.85
        assert found[1] - found[0] < 1.3 * (high - low)


def test_missing_and_endless_values_do_no_harm():
    column = np.concatenate([np.full(100, np.nan), [np.inf, -np.inf], np.linspace(1, 3, N)])
    ((low, high),) = release_bounds(plan(bounded=1), [column], SeededSource(b"m"))
    assert 0.9 < low < 1.5
    assert 2.5 < high < 3.2


def test_without_anything_to_see_the_bounds_are_wide():
    ((low, high),) = release_bounds(plan(bounded=1), [np.full(9, np.nan)], SeededSource(b"w"))
    assert (low, high) == (-(2.0**47), 2.0**47)


def test_a_single_value_has_room_on_both_sides():
    ((low, high),) = release_bounds(plan(bounded=1), [np.full(N, 5.0)], SeededSource(b"o"))
    assert low <= 5.0 < high


def test_tails_that_noise_made_cross_give_all_that_the_limits_hold():
    counts = np.zeros(BOUND_CELLS)
    counts[[20, 90]] = 180.0, 240.0  # each below its threshold, together above
    limits = np.arange(BOUND_CELLS + 1.0)
    bounds = plan(bounded=1, bounds_noise=10.0, n=1).listed("bounds")
    found = bounds._found(counts, limits)
    assert found == (0.0, BOUND_CELLS)


def test_plans_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError, match="does not release bounds"):
        release_bounds(plan(), [np.ones(3)], SeededSource(b"x"))
    for wrong in (0.0, -1.0):
        with pytest.raises(ParameterError, match="noise of 'bounds'"):
            plan(bounds_noise=wrong)
    with pytest.raises(ParameterError, match="no columns for 1"):
        held(np.zeros((1, 1))).bound([(0.0, 1.0)])
    assert held(np.zeros((1, 1))).columns == ()
    few = plan(bounded=1, n=1)
    with pytest.raises(DataError, match="far more records"):
        release_bounds(few, [np.zeros(capacity_of(few.training.n) + 1)], SeededSource(b"x"))


@pytest.mark.compiled
@pytest.mark.full
def test_the_rule_spends_a_small_part_of_the_budget():
    facts = {"d": 20, "constant": 0.25, "standardised": True, "private": tuple("abcde")}
    target = PrivacyTarget(1.0, 1e-5)

    def planned(n, task="classification", **more):
        return plan_fit(task_facts(task, n=n, **{**facts, **more}), target)

    made = planned(30_000)
    assert [x.what for x in made.releases] == ["bounds", "moments", "shared vector"]
    assert made.claim().epsilon <= 1.0
    without = planned(30_000, private=())
    assert 1.0 < made.training.noise_multiplier / without.training.noise_multiplier < 1.1
    # With many records less is enough.
    assert noise_of(planned(10**7), "bounds") > noise_of(made, "bounds")
    pilot = planned(10**6, "regression")
    assert len(pilot.trainings) == 2
    assert [x.what for x in pilot.releases].count("bounds") == 1


@pytest.mark.parametrize("intercept", [False, True])
def test_released_bounds_of_labels_are_what_they_are_scaled_by(intercept):
    facts = {
        "private": ("other", "label"),
        "target": "label",
        "loss": "Huber",
        "threshold": 0.5,
    }
    one = plan(bounds_noise=1.0, intercept=intercept, facts=facts)
    columns = [np.zeros(N), np.linspace(10.0, 30.0, N)]
    state = after(
        one.listed("bounds"), one.training.begins(one), Columns(columns), SeededSource(b"l")
    )
    _, (low, high) = state.bounds
    assert 5.0 < low < 11.0
    assert (state.labels.low, state.labels.high) == (low, high)
    centre, scale = ((low + high) / 2.0, (high - low) / 2.0) if intercept else (0.0, high)
    assert (state.problem.label_centre, state.problem.label_scale) == (centre, scale)
    assert state.declared == state.problem
    assert state.problem.loss.threshold * scale == pytest.approx(0.5)


def test_records_are_read_with_released_bounds_from_then_on():
    calls = []

    class Store(Columns):
        def bound(self, pairs):
            calls.append(pairs)

        def train(self, *_):
            calls.append("train")
            return np.zeros((1, 4))

    store = Store([np.linspace(1.0, 3.0, N)] * 2)
    state, answers = run(plan(), store, lambda part: SeededSource(b"b", part))
    assert calls == [state.bounds, "train"]
    assert len(answers) == 3
