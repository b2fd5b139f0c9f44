"""Pages say what rows say, invented ones and those of the documentation."""

import importlib.util
import json
import math
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import stdev

import pandas as pd
import pytest

from dpscd_experiments.comparison import Result
from dpscd_experiments.device.page import device_page
from dpscd_experiments.experiment import load_spec
from dpscd_experiments.experiments import (
    features,
    intervals,
    persons,
    releases,
    search,
    tables,
)
from dpscd_experiments.experiments.intervals_page import numbers, share_of
from dpscd_experiments.opponents.registry import (
    FEATURE_METHODS,
    METHODS,
    PERSON_METHODS,
    TABLE_METHODS,
)
from dpscd_experiments.opponents.setting import Setting
from dpscd_experiments.opponents.softmax import TUNING, ranked
from dpscd_experiments.report import best_rival, mark_of, mean_worth, regret
from dpscd_experiments.store import read_csv
from dpscd_experiments.style import quartiles

ROOT = Path(__file__).parents[2]
RESULTS, ROWS = ROOT / "docs" / "results", ROOT / "experiments" / "rows"
DESIGNS = intervals.designs_in(load_spec("intervals"))
METRICS = {"logistic": ["accuracy", "log_loss"], "squared": ["mse"]}


def result(method, values, *, loss="logistic"):
    setting = Setting(
        problem=f"made-{loss}", dataset="made", loss=loss, grid="small", epsilon=1.0,
        delta=1e-5, seeds=3, tuning_seeds=(1000, 1001), finalists=2, experiment="accuracy",
    )  # fmt: skip
    rows = [
        {"seed": seed, "metric": name, "at": None, "value": value, "epsilon": 1.0}
        for seed, value in enumerate(values)
        for name in METRICS[loss]
    ]
    return Result(setting, method, tuple(rows), 0, ())


@pytest.mark.parametrize(
    ("shift", "mark"), [(-0.03, " ▼"), (-0.02, ""), (0.0, ""), (0.02, ""), (0.03, " ▲")]
)
def test_a_regret_is_marked_beyond_two_standard_errors(shift, mark):
    # The error of the difference of these is 0.01155: two of them are 0.0231.
    mine = tuple(0.8 + shift + step for step in (-0.02, 0.0, 0.02))
    ours, other = result("ours", mine), result("dp-sgd", (0.8, 0.8, 0.8))
    found = regret(ours, other)
    assert found.difference == pytest.approx(shift)
    assert found.error == pytest.approx(stdev(mine) / math.sqrt(3))
    assert mark_of(found) == mark


def test_errors_and_losses_are_better_when_small_and_broken_runs_the_worst():
    ours, better, worse = (
        result(name, (low, low + 1.0, low + 2.0), loss="squared")
        for name, low in (("ours", 10.0), ("dp-sgd", 4.0), ("adassp", 19.0))
    )
    assert regret(ours, better).below
    assert regret(ours, worse).above
    assert best_rival([ours, worse, better], METHODS) is better
    broken = result("dp-sgd", (0.9, math.nan, 0.9))
    for metric in ("accuracy", "log_loss"):
        assert mean_worth(broken, metric) == -math.inf
        assert regret(result("ours", (0.1, 0.1)), broken, metric).above
    assert regret(result("ours", (0.5, math.nan)), result("dp-sgd", (0.1, 0.1))).below
    assert quartiles([1.0, 2.0, 3.0, 4.0, math.nan]) == (2.0, 3.0, 4.0)
    assert quartiles([1.0, math.nan, math.nan])[1] == math.inf


def test_only_private_methods_at_the_same_budget_are_rivals():
    for known, outside in (
        (METHODS, {"ours", "plain", "one-shot", "one-shot-tuned", "snapml"}),
        (TABLE_METHODS, {"ours", "plain", "ebm", "boosting"}),
    ):
        assert {name for name, method in known.items() if not method.rival} == outside
        assert best_rival([result(name, (1.0,)) for name in outside], known) is None


def test_coverage_is_clustered_by_fit():
    # All or nothing: ten intervals of a fit are as good as one.
    whole = share_of([(10.0, 10.0)] * 9 + [(0.0, 10.0)])
    assert whole.value == pytest.approx(0.9)
    assert whole.error == pytest.approx(math.sqrt(0.9 * 0.1 / 9))
    assert share_of([(9.0, 10.0), (0.0, 1.0)]).value == pytest.approx(9.0 / 11.0)
    assert share_of([(0.0, 0.0)]) is None


@cache
def script(name):
    """Return a script of the documentation."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def results_of(name):
    """Return the results in the rows of the documentation, and all rows."""
    settings_in, known = {
        "tables": (tables.settings_in, TABLE_METHODS),
        "persons": (persons.settings_in, PERSON_METHODS),
        "features": (features.settings_in, FEATURE_METHODS),
    }[name]
    rows = read_csv(ROWS / f"{name}.csv")
    for row in rows:
        for empty in [key for key, value in row.items() if value is None and key != "at"]:
            del row[empty]
    found = []
    for setting in settings_in(load_spec(name), ()):
        for method in known:
            own = [
                row
                for row in rows
                if row["method"] == method
                # Table rows of methods without epsilon are of every problem of their data.
                and (row["param.problem"] == setting.problem or name == "tables")
                and row["dataset"] == setting.dataset
                and row["epsilon"] in (setting.epsilon, math.inf)
            ]
            if own:
                many = 24 if method.startswith(TUNING) and name == "features" else 0
                found.append(Result(setting, method, tuple(own), many, ()))
    return found, rows


def numbers_in(name):
    if name == "intervals":
        fits, terms = (read_csv(ROWS / f"{x}.csv") for x in (name, "intervals-tables"))
        drawn = ["coverage", *dict.fromkeys(row["dataset"] for row in terms)]
        return numbers(fits, terms, DESIGNS, [f"intervals-{x}" for x in drawn])
    results, rows = results_of(name)
    if name == "features":
        return features.numbers(results, [row for row in rows if row["method"] == TUNING])
    if name == "persons":
        return persons.numbers(results, ["persons-flights", "persons-laws"])
    return tables.numbers(results, [f"tables-{one.setting.problem}" for one in results])


@pytest.mark.full
@pytest.mark.parametrize("name", ["features", "intervals", "persons", "tables"])
def test_a_page_of_the_documentation_is_made_of_its_rows(name):
    module = script("make_results")
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    whole = module.page(name, f"# Title\n{numbers_in(name)}")
    assert text.startswith(module.HEADS[name])
    assert whole.removeprefix(module.HEADS[name]) in text
    assert f"../figures/{name}/{name}" in whole


@pytest.mark.parametrize("name", ["device", "releases", "search"])
def test_a_page_is_written_whole(name):
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    if name == "device":
        made = device_page(json.loads((ROWS / "device.json").read_text(encoding="utf-8")))
    else:
        rows = pd.read_csv(ROWS / f"{name}.csv")
        made = {"releases": releases, "search": search}[name].page(rows, load_spec(name))
    assert script("make_results").page(name, made) == text


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "page"),
    [("fig2", "reproduction"), ("fig3", "reproduction"), ("tuning", "bounds_tuning"),
     ("leak", "leak"), ("speed", "speed")],
)  # fmt: skip
def test_tables_of_a_page_are_what_rows_say(name, page):
    module = import_module(f"dpscd_experiments.experiments.{name}")
    rows, text = read_csv(ROWS / f"{name}.csv"), (RESULTS / f"{page}.md").read_text("utf-8")
    if name == "speed":
        found = [(one.text, module._result(one, one.values(rows))) for one in module.MEASURES]
        lines = [f"| {' | '.join(words)} |" for words in found]
    else:
        said = module._text(rows, False).partition("| neighbour |")[0]
        lines = [line for line in said.splitlines() if line.startswith("| ")]
    assert len(lines) >= 4
    assert [line for line in lines if line not in text] == []


def test_the_finalists_of_the_documentation_are_the_best_of_tuning():
    results, rows = results_of("features")
    assert results
    for one in results:
        assert len(one.values("accuracy")) == one.setting.seeds
        if one.method.startswith(TUNING):
            own = (one.setting.dataset, one.setting.epsilon)
            best = ranked([x for x in rows if x["method"] == TUNING
                           and (x["dataset"], x["epsilon"]) == own])  # fmt: skip
            assert len(best) == 24
            expected = best[int(one.method[-1]) - 1]
            assert {name: one.config[name] for name in expected} == expected


@pytest.mark.full
def test_no_cap_of_the_documentation_has_more_than_epsilon():
    rows = [x for x in read_csv(ROWS / "persons.csv") if x["metric"] == "group_epsilon"]
    assert len({row["method"] for row in rows}) == 8
    for row in rows:
        assert 0.98 * row["epsilon"] <= row["value"] <= 1.0005 * row["epsilon"]


def test_the_page_of_the_verbs_is_what_they_say():
    module = script("make_cli")
    text = module.BENCH_PAGE.read_text()
    assert text == module.bench_page(), "run: python docs/make_cli.py"
    for verb in ("bench", "reproduce"):
        assert f"## dpscd {verb}\n" in text
