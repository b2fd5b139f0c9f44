"""An audit of private searches through their front door; sharper: benchmarks/search_audit."""

import dataclasses
import runpy
import warnings
from pathlib import Path

import pytest

from dpscd.releases.base import SumRelease
from dpscd.releases.score import Score

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "search_audit.py"
SEARCHES = 120


@pytest.fixture(scope="module")
def bounds():
    warnings.simplefilter("ignore")
    return runpy.run_path(str(SCRIPT))["bounds"]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("trained", [True, False])
def test_no_audit_is_above_the_claim(bounds, trained):
    found, claim = bounds(SEARCHES, trained=trained)
    assert claim <= 4.0
    assert max(found.epsilon_clopper_pearson, found.epsilon_gaussian) <= claim


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_scores_with_a_fifth_of_the_noise_are_noticed(bounds, monkeypatch):
    def quiet(score, *asked):
        less = dataclasses.replace(score, noise_multiplier=0.2 * score.noise_multiplier)
        return SumRelease.answered(less, *asked)

    monkeypatch.setattr(Score, "answered", quiet)
    found, claim = bounds(SEARCHES, trained=False)
    assert found.epsilon_gaussian > claim
