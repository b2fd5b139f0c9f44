"""The page of tables says what the rows say, invented ones and those of the docs."""

import math
from pathlib import Path
from statistics import fmean, stdev

import pytest

from dpscd_experiments.experiments.accuracy import Result, settings_in
from dpscd_experiments.experiments.specs import load_spec
from dpscd_experiments.opponents.setting import Setting
from dpscd_experiments.opponents.table_registry import TABLE_METHODS
from dpscd_experiments.pages.accuracy_figure import draw
from dpscd_experiments.pages.regret import best_rival, mean_worth, regret
from dpscd_experiments.pages.reproduction import read_csv
from dpscd_experiments.pages.tables_page import numbers, page

DOCS = Path(__file__).parents[3] / "docs" / "results"
ROWS = Path(__file__).parents[2] / "rows"
PROVENANCE = {
    f"prov.{name}": f"{name}-1"
    for name in ("dpscd", "commit", "numpy", "numba", "python", "cpu")
}
NAMES = {
    "logistic": (
        "accuracy", "auc", "log_loss", "calibration_error", "mean_chance", "cpu_seconds",
    ),
    "squared": ("r2", "mse", "cpu_seconds"),
}  # fmt: skip


def result(method, values, *, loss="logistic", epsilon=1.0, trouble=(), tried=0, **config):
    setting = Setting(
        problem=f"made-{loss}", dataset="made", loss=loss, grid="small", epsilon=epsilon,
        delta=1e-5, seeds=3, tuning_seeds=(1000, 1001), finalists=2, experiment="tables",
    )  # fmt: skip
    rows = [
        {
            "seed": seed, "metric": name, "at": None, "value": value + number,
            **{f"param.{key}": one for key, one in config.items()}, **PROVENANCE,
        }
        for seed, value in enumerate(values)
        for number, name in enumerate(NAMES[loss])
    ]  # fmt: skip
    return Result(setting, method, tuple(rows), tried, tuple(trouble))


def test_the_pages_numbers_are_those_of_the_rows():
    ours = result("ours", (0.8121, 0.8231, 0.8343), shape="smooth")
    sgd = result("dp-sgd", (0.7, 0.71, 0.76), tried=18, clip=0.3, shape="smooth")
    text = page([ours, sgd], False, {"made-logistic": ["a.png"]}, {"made": "by halves"})
    assert "| ours, untuned | 0.8231 (0.8176, 0.8287) |" in text
    assert "| ours, untuned | 1.8231 (1.8176, 1.8287) |" in text  # AUC in these rows
    assert "| ours, untuned | 5.8 (5.8, 5.8) |" in text  # seconds
    assert "| DP-SGD, tuned | 1 | clip 0.3, shape smooth | 18 |" in text
    assert "* made: by halves." in text
    assert "![made-logistic](a.png)" in text
    assert "commit commit-1" in text
    assert "Quick run" not in text
    assert "Quick run" in page([ours, sgd], True, {}, {})


def test_what_is_not_private_is_listed_once_and_drawn_once():
    plain = [result("plain", (0.9,), epsilon=e, tried=4, lam=1e-6) for e in (0.5, 1.0)]
    for one in plain:
        for row in one.rows:
            row["epsilon"] = math.inf
    ours = [result("ours", (0.8, 0.82), epsilon=e) for e in (0.5, 1.0)]
    text = page([*ours, *plain], False, {}, {})
    assert (
        text.count("| made-logistic | our features, not private | any | lam 1e-06 | 4 |") == 1
    )
    axes = draw([*ours, *plain], False, TABLE_METHODS, "auc").axes[0]
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
    assert lines["our features, not private"] == [1.9, 1.9]
    assert lines["ours, untuned"] == pytest.approx([1.81, 1.81])
    assert axes.get_title().endswith("quartiles of 2 seeds")
    assert axes.get_ylabel() == "test AUC"


def test_ours_is_compared_by_auc_and_log_loss_with_standard_errors():
    mine, theirs = (0.80, 0.82, 0.84), (0.70, 0.75, 0.80)
    ours, other = result("ours", mine), result("dp-ebm", theirs)
    error = math.sqrt(stdev(mine) ** 2 / 3 + stdev(theirs) ** 2 / 3)
    apart = fmean(mine) - fmean(theirs)
    assert regret(ours, other, "auc").difference == pytest.approx(apart)
    assert regret(ours, other, "log_loss").difference == pytest.approx(-apart)
    text = page([ours, other], False, {}, {})
    assert f"| made-logistic (3) | 1 | AUC | +{apart:.4f} ± {error:.4f} ▲ |" in text
    assert f"| made-logistic (3) | 1 | log-loss | -{apart:.4f} ± {error:.4f} ▼ |" in text
    assert "Against DP-EBM: above by more than two standard errors in 1 of 2 cells" in text
    assert "below by more than two in 1." in text


def test_the_best_rival_may_differ_from_metric_to_metric():
    results = [result("ours", (0.5, 0.6)), result("dp-ebm", (0.4, 0.4))]
    results += [result("mst", (0.9, 0.9)), result("boosting", (2.0,)), result("plain", (0.1,))]
    assert best_rival(results, TABLE_METHODS, "auc").method == "mst"
    assert best_rival(results, TABLE_METHODS, "log_loss").method == "dp-ebm"
    text = page(results, False, {}, {})
    assert "(MST, then boosting) |" in text


def test_regressions_are_compared_by_r2_and_have_no_probabilities():
    ours = result("ours", (0.8, 0.8), loss="squared")
    others = [
        result(name, (0.7, 0.71), loss="squared")
        for name in ("boosted-adassp", "adassp", "plain")
    ]
    text = page([ours, *others], False, {}, {})
    assert "| made-squared (2) | 1 | R2 | - | +0.0950" in text
    assert "log-loss |" not in text.split("## Probabilities")[0]
    chances = text.split("## Probabilities")[1].split("## made-squared")[0]
    assert chances.count("\n|") == 2  # a head and nothing below


def test_chances_are_over_those_without_privacy():
    ours, plain = result("ours", (0.5, 0.6)), result("plain", (0.5,))
    text = page([ours, plain], False, {}, {})
    assert (
        f"| made-logistic | 1 | ours, untuned | {4.55 / 4.5:.3f} | {2.55 / 2.5:.3f} |" in text
    )


def test_a_broken_run_is_the_worst_in_every_metric():
    broken = result("dp-ebm", (0.5, math.nan))
    for metric in ("auc", "log_loss"):
        assert mean_worth(broken, metric) == -math.inf
        assert regret(result("ours", (0.1, 0.1)), broken, metric).above


def test_what_was_skipped_is_said_once():
    skipped = [
        result("mst", (), epsilon=epsilon, trouble=["no dpmm here"]) for epsilon in (0.5, 1.0)
    ]
    text = page([result("ours", (0.5, 0.6, 0.7)), *skipped], False, {}, {})
    assert text.count("no dpmm here") == 1
    assert "| MST, then boosting |" not in text


def test_only_private_methods_at_the_same_budget_are_rivals():
    outside = {name for name, method in TABLE_METHODS.items() if not method.rival}
    assert outside == {"ours", "plain", "ebm", "boosting"}


def stored_results():
    """Return the results in the rows of the docs."""
    rows = read_csv(ROWS / "tables.csv")
    found = []
    for setting in settings_in(load_spec("tables"), False):
        for method in TABLE_METHODS:
            own = [
                row
                for row in rows
                if (row["dataset"], row["method"]) == (setting.dataset, method)
                and row["epsilon"] in (setting.epsilon, math.inf)
            ]
            if own:
                found.append(Result(setting, method, tuple(own), 0, ()))
    return found


def test_the_page_of_the_docs_is_made_of_its_rows():
    results = stored_results()
    files = {
        setting.problem: [f"../figures/tables/tables-{setting.problem}.png"]
        for setting in settings_in(load_spec("tables"), False)
    }
    text = (DOCS / "tables.md").read_text(encoding="utf-8")
    assert numbers(results, files) in text
    for (file,) in files.values():
        assert (file in text) == (DOCS / file).exists()
