"""Noisy scores: sensitivity, law of the noise, guarantee."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpscd.errors import DataError
from dpscd.privacy import score
from dpscd.privacy.random import Purpose, SeededSource
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.privacy.release import claim
from dpscd.privacy.score import plan_score, release_score

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
def test_the_stated_epsilon_is_reached_and_hardly_undershot(relation, epsilon):
    target = PrivacyTarget(epsilon, 1e-6, relation)
    release = plan_score(target, 1000)
    found = claim([release], epsilon, 1e-6, relation, min(1e-4 * epsilon, 1e-3))
    assert 0.97 * epsilon < found.epsilon <= epsilon


@given(st.lists(st.floats(), min_size=1, max_size=6), st.integers(0, 5))
def test_a_record_moves_the_sum_by_at_most_one(each, place):
    place %= len(each)
    seen = []

    def record(_multiplier, cell, total, _source, purpose):
        assert purpose is Purpose.SCORE
        seen.append(Fraction(cell) * Fraction(total[0]))
        return cell * total

    release = plan_score(PrivacyTarget(1.0, 1e-5), 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score, "noisy_sum", record)
        release_score(release, np.array(each), SeededSource(b"a"))
        release_score(release, np.delete(np.array(each), place), SeededSource(b"b"))
    assert abs(seen[0] - seen[1]) <= 1


def test_the_noise_is_the_stated_one():
    release = plan_score(PrivacyTarget(1.0, 1e-5), 1000)
    each = np.full(1000, 0.5)
    found = [
        release_score(release, each, SeededSource(str(seed).encode())) for seed in range(2000)
    ]
    std = release.event.noise_multiplier / 1000
    assert found[0].error == std
    errors = np.array([one.value - 0.5 for one in found])
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(errors))
    assert low < np.sum(errors**2) / std**2 < high
    assert stats.kstest(errors / std, "norm").pvalue > FALSE_ALARM


def test_scores_lie_between_zero_and_one_and_can_be_written():
    release = plan_score(PrivacyTarget(0.1, 1e-5), 5)
    values = {
        release_score(release, np.ones(5), SeededSource(bytes([seed]))).value
        for seed in range(20)
    }
    assert min(values) == 0.0
    assert max(values) == 1.0
    found = release_score(release, np.ones(5), SeededSource(b"w"))
    assert json.loads(json.dumps(found.to_dict()))["release"]["what"] == "score"


def test_too_many_records_are_refused(monkeypatch):
    monkeypatch.setattr(score, "EXACT_BITS", score.UNIT_BITS + 2)
    release = plan_score(PrivacyTarget(1.0, 1e-5), 5)
    with pytest.raises(DataError, match="too many records"):
        release_score(release, np.ones(5), SeededSource(b"t"))
