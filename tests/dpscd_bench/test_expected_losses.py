"""What a plan is expected to cost agrees with what was measured."""

import csv
import math
import os
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from dpscd.forecast import MEASURED, relative_noise
from dpscd.privacy.relation import PrivacyTarget
from dpscd_bench.datasets import load_dataset

ROWS = Path(__file__).parents[2] / "docs" / "results" / "rows" / "accuracy.csv"
PROBLEMS = {
    "adult-svm": "Adult",
    "phishing-logistic": "Phishing",
    "msd-ridge": "MSD",
    "covtype-logistic": "Covertype",
    "w8a-logistic": "w8a",
    "nycflights13-ridge": "nycflights13",
}


@pytest.mark.full
@pytest.mark.skipif("DPSCD_DATA" not in os.environ, reason="needs the data sets (DPSCD_DATA)")
def test_the_measured_losses_are_those_of_the_stored_rows():
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
