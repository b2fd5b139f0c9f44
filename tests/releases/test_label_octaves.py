"""The spread of labels by octaves, where a mean distance would drown in noise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpscd.losses import Poisson, Squared
from dpscd.privacy.random import SeededSource
from dpscd.problem import Problem
from dpscd.releases.base import State
from dpscd.releases.moments import LabelSpread, OctaveQuery
from plans import after, make_facts
from plans import held as held_rows

N = 4000
FACTS = make_facts(n=N, d=1)
number = st.one_of(
    st.floats(-1.0, 1.0),
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.0**-1030, 2.0**-9]),
)


def held(labels, weights=None):
    labels = np.array(labels, dtype=np.float64)
    weights = None if weights is None else np.array(weights, dtype=np.float64)
    return held_rows(np.zeros((len(labels), 1)), labels, weights)


def problem_of(loss=None, scale=1.0):
    return Problem(loss or Squared(), 0.01, N, 1, label_scale=scale)


def total(labels, centre, weights=None):
    query = OctaveQuery(N, problem_of(), centre)
    return float(held(labels, weights).total(query)[0]) * query.step


@given(st.lists(number, min_size=1, max_size=6), number, st.floats(-1.0, 1.0))
def test_no_record_moves_the_sum_by_more_than_one(labels, other, centre):
    whole, gone = total(labels, centre), total(labels[1:], centre)
    alone = total(labels[:1], centre)
    assert 0.0 <= whole - gone == alone <= 1.0
    assert total([*labels[1:], labels[0]], centre) == whole
    assert abs(total([other, *labels[1:]], centre) - whole) <= 1.0
    assert total(labels, centre, [0.0] + [1.0] * (len(labels) - 1)) == gone


def test_octaves_are_powers_of_two_of_half_the_distance():
    for k in range(9):
        assert total([2.0 * 2.0**-k], 0.0) == pytest.approx(1.0 - max(k, 1) / 8.0, abs=1e-5)
    assert total([1.0], -1.0) == pytest.approx(1.0, abs=1e-5)
    assert total([0.75], 0.0) == pytest.approx(1.0 - 1.5 / 8.0, abs=1e-5)  # half-way
    assert total([0.0], 0.0) == total([2.0**-20], 0.0) == 0.0


def spread_of(labels, noise, seed=b"s", problem=None):
    problem = problem or problem_of()
    state = State(None, problem, problem)
    found = after(LabelSpread(FACTS, noise), state, held(labels), SeededSource(seed))
    return found.problem.label_scale


@pytest.mark.parametrize(("size", "within"), [(0.3, 0.1), (0.1, 0.1), (0.03, 0.35)])
def test_a_narrow_spread_is_seen_where_its_mean_distance_would_not_be(size, within):
    labels = np.clip(size * np.random.default_rng(0).normal(size=N), -1.0, 1.0)
    noise = 0.03 * N  # of a mean distance the error would be 0.06
    found = [spread_of(labels, noise, b"%d" % k) for k in range(200)]
    assert np.median(found) == pytest.approx(np.abs(labels).mean(), rel=within)
    # 8 octaves times the noise, as a power of two.
    assert np.std(np.log2(found)) == pytest.approx(8.0 * 0.03, rel=0.25)


def test_mean_octaves_beyond_the_ends_are_the_ends():
    release = LabelSpread(FACTS, 0.03 * N)
    assert release.at_octave(7.0) == 1.0
    assert release.at_octave(-7.0) == release.at_octave(0.0) == pytest.approx(2.0**-7 / 0.668)
    middle = [release.at_octave(x) for x in np.linspace(0.0, 1.0, 200)]
    assert middle == sorted(middle)


def test_where_noise_is_small_the_mean_distance_is_released():
    labels = np.where(np.arange(N) % 2, 0.5, -0.1)  # octaves would say less
    assert spread_of(labels, 0.001 * N) == pytest.approx(0.3, abs=0.01)
    assert spread_of(labels, 0.004 * N) != pytest.approx(0.3, abs=0.02)


def test_counts_keep_their_mean_distance():
    counts = problem_of(Poisson(1.0, 1.0))
    labels = np.where(np.arange(N) % 2, 0.9, 0.1)
    found = [spread_of(labels, 0.01 * N, b"%d" % k, counts) for k in range(100)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.02)
