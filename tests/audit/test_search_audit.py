"""An audit of private searches through their front door; sharper: benchmarks/search_audit."""

import dataclasses
import runpy
import warnings
from pathlib import Path

import pytest

from dpscd.estimators import model_search

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
    real = model_search.noisy_score

    def quiet(release, total, source):
        event = release.event
        less = dataclasses.replace(event, noise_multiplier=0.2 * event.noise_multiplier)
        return real(dataclasses.replace(release, event=less), total, source)

    monkeypatch.setattr(model_search, "noisy_score", quiet)
    found, claim = bounds(SEARCHES, trained=False)
    assert found.epsilon_gaussian > claim
