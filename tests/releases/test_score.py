"""Noisy sums of scores: sensitivity, law of the noise, guarantee."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from dpscd.privacy.cost import claim
from dpscd.privacy.draws import lattice_step, noisy_sum
from dpscd.privacy.random import Purpose, SeededSource
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.releases.score import plan_score, score_interval, whole_score

FALSE_ALARM = 1e-6
N = 10


def squared_length(whole):
    unit = Fraction(lattice_step(N, 1.0))
    return sum((unit * Fraction(x)) ** 2 for x in whole.tolist())


@pytest.mark.full
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("epsilon", "size"), [(0.01, 1), (0.1, 40), (1.0, 1), (10.0, 2)])
def test_the_stated_epsilon_is_reached_and_hardly_undershot(relation, epsilon, size):
    target = PrivacyTarget(epsilon, 1e-6, relation)
    release = plan_score(target, 1000, size)
    assert (release.size, release.n, release.clip) == (size, 1000, 1.0)
    found = claim([release], epsilon, 1e-6, relation, score_interval(epsilon))
    assert 0.97 * epsilon < found.epsilon <= epsilon


@given(arrays(np.float64, (3, 5), elements=st.floats(width=64)), st.integers(0, 4))
def test_a_record_moves_the_sum_by_at_most_one(each, place):
    whole = whole_score(each, N)
    without = whole_score(np.delete(each, place, axis=1), N)
    assert squared_length(whole - without) <= 1
    other = each.copy()
    other[:, place] = -each[:, place]
    assert squared_length(whole - whole_score(other, N)) <= 4


def test_sums_are_whole_numbers_in_any_order_and_hardly_cut():
    each = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 1000))
    whole = whole_score(each, N)
    np.testing.assert_array_equal(whole, np.trunc(whole))
    np.testing.assert_array_equal(whole, whole_score(each[:, ::-1], N))
    np.testing.assert_allclose(lattice_step(N, 1.0) * whole, each.sum(axis=1), atol=1e-3)


def test_the_noise_is_the_stated_one_in_every_number():
    release = plan_score(PrivacyTarget(1.0, 1e-5), 1000, 2)
    total = whole_score(np.full((2, 1000), 0.5), 1000)
    std, unit = release.event.noise_multiplier, lattice_step(1000, 1.0)
    sources = (SeededSource(str(k).encode()) for k in range(2000))
    found = [noisy_sum(std, unit, total, source, Purpose.SCORE) for source in sources]
    errors = (np.array(found) - unit * total) / std
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(errors))
    for own in errors.T:
        assert low < np.sum(own**2) < high
        assert stats.kstest(own, "norm").pvalue > FALSE_ALARM
    assert abs(np.corrcoef(errors.T)[0, 1]) < 0.12
