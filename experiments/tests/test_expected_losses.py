"""What a plan is expected to cost agrees with what was measured on given data."""

import csv
import os
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from dpscd.forecast import expect
from dpscd.planning import Facts, default_constant, plan_fit
from dpscd.privacy.relation import PrivacyTarget
from dpscd_experiments.datasets import load_dataset

ROWS = Path(__file__).parents[1] / "rows" / "accuracy.csv"


def band(data, epsilon, delta):
    n, d = data.X.shape
    facts = Facts(
        n=n,
        d=d,
        outputs=1,
        task=data.task,
        row_bound=1.0,
        constant=default_constant(1.0, standardised=True) if data.fit_intercept else 0.0,
        standardised=True,
    )
    plan = plan_fit(facts, PrivacyTarget(epsilon, delta))
    return expect(plan, regression=data.task == "regression").lost


@pytest.mark.full
@pytest.mark.skipif("DPSCD_DATA" not in os.environ, reason="needs the data sets (DPSCD_DATA)")
def test_what_was_lost_on_the_accuracy_page_lies_inside_the_bands():
    scores, names = defaultdict(list), {}
    with ROWS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            wanted = "mse" if row["param.loss"] == "squared" else "accuracy"
            if row["metric"] == wanted and row["param.part"] == "test":
                key = (row["param.problem"], row["method"], row["epsilon"], row["delta"])
                scores[key].append(float(row["value"]))
                names[row["param.problem"]] = row["dataset"]
    inside = []
    for problem, name in names.items():
        plain = [fmean(v) for k, v in scores.items() if k[:2] == (problem, "plain")]
        own = {k: fmean(v) for k, v in scores.items() if k[:2] == (problem, "ours")}
        if not plain or not own:
            continue
        data = load_dataset(name)
        for (_, _, epsilon, delta), score in own.items():
            lost = plain[0] - score
            if data.task == "regression":
                lost = -lost / plain[0]
            low, high = band(data, float(epsilon), float(delta))
            inside.append(low <= lost <= high)
    assert len(inside) >= 28
    assert fmean(inside) >= 0.9
