"""The page of features says what the rows say, invented ones and those of the docs."""

import math
from pathlib import Path

import numpy as np
import pytest

from dpscd_experiments.experiments.accuracy import Result
from dpscd_experiments.experiments.features import LOSS, feature_settings, problem_of
from dpscd_experiments.experiments.specs import load_spec
from dpscd_experiments.features import FEATURES
from dpscd_experiments.opponents.feature_registry import FEATURE_METHODS, FINALISTS
from dpscd_experiments.opponents.setting import Setting
from dpscd_experiments.opponents.softmax import SCORE, TUNING, _scores, ranked
from dpscd_experiments.pages.features_figure import draw
from dpscd_experiments.pages.features_page import PUBLISHED, TITLES, numbers, page
from dpscd_experiments.pages.reproduction import read_csv

DOCS = Path(__file__).parents[3] / "docs" / "results"
ROWS = Path(__file__).parents[2] / "rows"
SPEC = load_spec("features")
PROVENANCE = {
    f"prov.{name}": f"{name}-1"
    for name in ("dpscd", "commit", "numpy", "numba", "python", "cpu")
}


def result(method, values, *, dataset="pixels", epsilon=1.0):
    setting = Setting(
        problem=problem_of(dataset), dataset=dataset, loss=LOSS, grid="", epsilon=epsilon,
        delta=1e-5, seeds=3, tuning_seeds=(1000,), finalists=3, experiment="features",
    )  # fmt: skip
    rows = [
        {"seed": seed, "metric": name, "at": None, "value": number, **PROVENANCE,
         "param.step": 4.0, "epsilon": epsilon}
        for seed, value in enumerate(values)
        for name, number in (("accuracy", value), ("log_loss", 0.5), ("cpu_seconds", 2.0))
    ]  # fmt: skip
    return Result(setting, method, tuple(rows), 0 if method == "ours" else 24, ())


def tried(value, step, averaging, epsilon=1.0):
    common = {"dataset": "pixels", "epsilon": epsilon, "param.epochs": 20}
    common |= {"param.lot_size": 4096}
    return {**common, "metric": f"{SCORE}{averaging:g}", "at": step, "value": value}


TRIED = [tried(0.8, 4, 0.0), tried(0.9, 8, 0.0), tried(math.nan, 8, 0.4), tried(0.85, 4, 0.4)]


def test_settings_are_ranked_and_broken_ones_left_out():
    best = ranked([*TRIED, {**TRIED[0], "metric": "tried"}])
    assert [(one["step"], one["averaging"]) for one in best] == [(8, 0), (4, 0.4), (4, 0)]
    assert best[0] == {"epochs": 20, "lot_size": 4096, "averaging": 0.0, "step": 8.0}


def test_without_a_setting_that_works_there_are_no_results():
    setting = result("dp-sgd-1", (0.8,)).setting
    method = FEATURE_METHODS["dp-sgd-1"]
    tuning = method.cells(setting, SPEC, {})
    assert len(tuning) == 2
    broken = {cell.key: [TRIED[2]] for cell in tuning}
    assert [cell.key for cell in method.cells(setting, SPEC, broken)] == list(broken)
    found = {**broken, tuning[0].key: TRIED}
    assert len(method.cells(setting, SPEC, found)) == 2 + 3


def test_a_broken_model_scores_nothing():
    found = _scores(None, np.full((2, 10), np.nan))
    assert math.isnan(found["accuracy"])
    assert math.isnan(found["log_loss"])


def test_the_page_says_who_is_better_and_by_how_much():
    results = [
        result("ours", (0.84, 0.85, 0.86)),
        result("dp-sgd-1", (0.80, 0.81, 0.82)),
        result("dp-sgd-3", (0.82, 0.82, 0.82)),
        result("ours", (0.90, 0.90, 0.90), epsilon=3.0),
        result("ours", (0.80, 0.80, 0.80), dataset="scattering"),
        result("dp-sgd-1", (0.90, 0.90, 0.90), dataset="scattering"),
    ]
    seconds = {**TRIED[0], "metric": "cpu_seconds", "value": 61.2}
    text = page(results, [*TRIED, seconds], False, ["a.png"])
    assert (
        "| pixels (784) | 1 | 0.8500 ± 0.0058 | 0.8200 ± 0.0000 (3) | +0.0300 ± 0.0058 ▲ |"
        in text
    )
    assert "| pixels (784) | 3 | 0.9000 ± 0.0000 | - | - |" in text
    assert "-0.1000 ± 0.0000 ▼" in text
    assert "| ours, untuned | 0.8500 (0.8450, 0.8550) | 0.9000 (0.9000, 0.9000) |" in text
    assert "| pixels | 1 | 20 | 4096 | 0 | 0.8000 | **0.9000** |" in text
    assert "| pixels | 1 | 20 | 4096 | 0.4 | 0.8500 | broken |" in text
    assert "pixels at epsilon 1: 61" in text
    assert "| fashion-pixels | DP-SGD, best in tuning | 1 | step 4 | 24 |" in text
    assert "| linear, Tramèr and Boneh 2021 | 3 | 0.897 |" in text
    assert "![a](a.png)" in text
    assert "commit commit-1" in text
    assert "Quick run" not in text
    assert "Quick run" in page(results, [], True, [])
    figure = draw(results, True)
    assert len(draw(results[:1], False).axes) == 1
    assert [axes.get_title() for axes in figure.axes] == list(TITLES.values())


def test_the_file_has_the_promised_settings():
    settings = feature_settings(SPEC, False)
    assert {one.dataset for one in settings} == set(FEATURES) == set(TITLES)
    assert {one.epsilon for one in settings} == {0.5, 1.0, 2.0, 3.0, 8.0}
    assert {(one.delta, one.seeds) for one in settings} == {(1e-5, 5)}
    grid = SPEC["dp_sgd"]
    for name in FEATURES:
        many = len(grid["epochs_and_lots"]) * len(grid["averaging"]) * len(grid["steps"][name])
        assert many == 24
    assert sum(method.rival for method in FEATURE_METHODS.values()) == FINALISTS == 3
    assert {one.dataset for one in PUBLISHED} == set(FEATURES)


def stored_results():
    """Return the results in the rows of the docs, and the rows of tuning."""
    rows = read_csv(ROWS / "features.csv")
    found = []
    for setting in feature_settings(SPEC, False):
        for method, known in FEATURE_METHODS.items():
            own = [
                row
                for row in rows
                if (row["param.problem"], row["method"]) == (setting.problem, method)
                and row["epsilon"] == setting.epsilon
            ]
            for row in own:
                for name in [name for name in row if row[name] is None and name != "at"]:
                    del row[name]
            if own:
                found.append(Result(setting, method, tuple(own), 24 * known.rival, ()))
    return found, [row for row in rows if row["method"] == TUNING]


@pytest.fixture(scope="module")
def docs():
    return stored_results()


def test_the_page_of_the_docs_is_made_of_its_rows(docs):
    results, tuning = docs
    file = "../figures/features/features.png"
    text = (DOCS / "features.md").read_text(encoding="utf-8")
    assert numbers(results, tuning, [file]) in text
    assert (DOCS / file).exists()


def test_the_finalists_of_the_docs_are_the_best_of_tuning(docs):
    results, tuning = docs
    assert results
    for one in results:
        assert len(one.values("accuracy")) == one.setting.seeds
        if one.method.startswith(TUNING):
            own = [
                row
                for row in tuning
                if (row["dataset"], row["epsilon"])
                == (one.setting.dataset, one.setting.epsilon)
            ]
            best = ranked(own)
            assert len(best) == 24
            expected = best[int(one.method[-1]) - 1]
            assert {name: one.config[name] for name in expected} == expected
