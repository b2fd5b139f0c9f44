"""What a plan is expected to cost agrees with what was measured."""

import os
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median

import pytest

from dpscd.forecast import Finer, expect, relative_noise
from dpscd.planning import Facts, default_constant, plan_fit
from dpscd.preprocessing.knots import MOST_INTERVALS
from dpscd.preprocessing.resolution import intervals_for
from dpscd.privacy.relation import PrivacyTarget
from dpscd_experiments.datasets import load_dataset
from dpscd_experiments.store import read_csv

ROWS = Path(__file__).parents[1] / "rows"


def lost(task, before, after):
    return after / before - 1.0 if task == "regression" else before - after


def expected(n, d, epsilon, task, *, delta=1e-5, intercept=True, finer=None):
    constant = default_constant(1.0, standardised=True) if intercept else 0.0
    facts = Facts(
        n=n, d=d, outputs=1, task=task, row_bound=1.0, constant=constant, standardised=True
    )
    plan = plan_fit(facts, PrivacyTarget(epsilon, delta))
    return expect(plan, regression=task == "regression", finer=finer)


@pytest.mark.full
@pytest.mark.parametrize(("task", "width"), [("classification", 0.02), ("regression", 0.1)])
def test_what_was_measured_on_generated_data_lies_inside(task, width):
    """Nine times of ten, in bands that are narrow enough to decide by."""
    found = defaultdict(list)
    for row in read_csv(ROWS / "forecast.csv"):
        if row["task"] == task:
            key = row["n"], row["d"], row["epsilon"], row["kind"]
            found[key].append(lost(task, row["without"], row["after"]))
    bands = {key: expected(*key[:3], task).lost for key in found}
    assert len(bands) >= 28
    assert fmean(bands[key][0] <= fmean(found[key]) <= bands[key][1] for key in found) >= 0.9
    assert median(high - low for low, high in bands.values()) <= width


@pytest.mark.full
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_what_finer_shapes_were_measured_to_gain_lies_inside(task):
    """Of fits without noise, so that the bands of noise have no part in it.

    The rows were made at commit 37a9a42: benchmarks/forecast.py coarser.
    """
    found = defaultdict(dict)
    for row in read_csv(ROWS / "coarser.csv"):
        if row["task"] == task:
            found[row["kind"], row["n"]][row["intervals"]] = row["d"], row["score"]
    inside = []
    for (_, n), scores in found.items():
        most = max(scores)
        d, best = scores.pop(most)
        for count, (own, score) in scores.items():
            finer = Finer(d - own, 1.0 / max(count, 1) - 1.0 / most)
            low, high = expected(n, own, 100.0, task, finer=finer).below_inf
            inside.append(low <= lost(task, best, score) <= high)
    assert len(inside) >= 72
    assert fmean(inside) >= 0.95


def test_what_tables_lost_lies_inside_both_bands():
    """Private fits with their features, against fits without noise with the finest."""
    rows = defaultdict(list)
    for row in read_csv(ROWS / "tables.csv"):
        if row["param.part"] == "test" and row["metric"] in ("accuracy", "mse"):
            rows[row["dataset"], row["method"], row["epsilon"]].append(row["value"])
    sizes = {"adult": (32_561, 12), "bank": (32_950, 19), "nycflights13": (261_876, 10)}
    for name, (n, columns) in sizes.items():
        task = "regression" if name == "nycflights13" else "classification"
        before = fmean(rows[name, "plain", float("inf")])
        for epsilon in (0.1, 0.5, 1.0, 2.0):
            after = fmean(rows[name, "ours", epsilon])
            finer = Finer(0, 1.0 / intervals_for(epsilon, n, columns) - 1.0 / MOST_INTERVALS)
            low, high = expected(n, 150, epsilon, task, finer=finer).below_inf
            assert low <= lost(task, before, after) <= high, (name, epsilon)


def test_no_setting_behind_the_results_is_warned_of():
    rows = read_csv(ROWS / "forecast.csv")
    settings = {(row["n"], row["d"] + 1, row["epsilon"]) for row in rows}
    assert len(settings) > 20
    assert max(relative_noise(n, m, PrivacyTarget(e, 1e-5)) for n, m, e in settings) < 0.08


@pytest.mark.full
@pytest.mark.skipif("DPSCD_DATA" not in os.environ, reason="needs the data sets (DPSCD_DATA)")
def test_what_was_lost_on_the_accuracy_page_lies_inside_the_bands():
    scores = defaultdict(lambda: defaultdict(list))
    for row in read_csv(ROWS / "accuracy.csv"):
        wanted = "mse" if row["param.loss"] == "squared" else "accuracy"
        if row["metric"] == wanted and row["param.part"] == "test":
            own = scores[row["dataset"], row["param.problem"]]
            own[row["method"], row["epsilon"], row["delta"]].append(row["value"])
    inside = []
    for (name, _), own in scores.items():
        data = load_dataset(name)
        (plain,) = (fmean(found) for key, found in own.items() if key[0] == "plain")
        for (method, epsilon, delta), found in own.items():
            if method == "ours":
                public = {"delta": delta, "intercept": data.fit_intercept}
                low, high = expected(*data.X.shape, epsilon, data.task, **public).lost
                inside.append(low <= lost(data.task, plain, fmean(found)) <= high)
    assert len(inside) >= 28
    assert fmean(inside) >= 0.9
