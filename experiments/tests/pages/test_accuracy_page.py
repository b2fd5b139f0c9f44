import math
from statistics import fmean, stdev

import pytest

from dpscd_experiments.experiments.accuracy import Result
from dpscd_experiments.opponents.registry import METHODS
from dpscd_experiments.opponents.setting import Setting
from dpscd_experiments.pages.accuracy_figure import draw, draw_calibration, quartiles
from dpscd_experiments.pages.accuracy_page import page
from dpscd_experiments.pages.regret import best_rival, mean_worth, regret
from dpscd_experiments.pages.style import LOOKS

PROVENANCE = {
    f"prov.{name}": f"{name}-1"
    for name in ("dpscd", "commit", "numpy", "numba", "python", "cpu")
}


def setting(loss="logistic", epsilon=1.0):
    return Setting(
        problem=f"made-{loss}", dataset="made", loss=loss, grid="small", published="fig1b",
        epsilon=epsilon, delta=1e-3, seeds=3, tuning_seeds=(1000, 1001), finalists=2,
    )  # fmt: skip


def result(method, values, *, loss="logistic", epsilon=1.0, tried=0, trouble=(), **config):
    names = {
        "logistic": ("accuracy", "log_loss", "brier", "auc", "calibration_error"),
        "squared": ("mse", "r2"),
    }[loss]
    rows = []
    for seed, value in enumerate(values):
        common = {
            "seed": seed, "param.problem": "p", "param.loss": loss, "param.part": "test",
            **{f"param.{name}": at for name, at in config.items()}, **PROVENANCE,
        }  # fmt: skip
        rows += [
            {**common, "metric": name, "at": None, "value": value + number}
            for number, name in enumerate(names)
        ]
        if loss == "logistic":
            rows += [
                {**common, "metric": "calibration", "at": at, "value": at + 0.1 * seed}
                for at in (0.15, 0.55)
            ]
    return Result(setting(loss, epsilon), method, tuple(rows), tried, tuple(trouble))


def test_the_pages_numbers_are_those_of_the_rows():
    ours = result("ours", (0.8121, 0.8231, 0.8343))
    other = result("dp-sgd", (0.7, 0.71, 0.76), tried=38, clip=0.3, lot_size=50)
    text = page([ours, other], False, {"made-logistic": ["a.png"]})
    assert "| ours, untuned | 0.8231 (0.8176, 0.8287) |" in text
    assert "| DP-SGD, tuned | 0.7100 (0.7050, 0.7350) |" in text
    assert "| ours, untuned | 1.8231 (1.8176, 1.8287) |" in text  # log-loss in these rows
    assert "clip 0.3, lot_size 50 | 38 |" in text
    assert "![made-logistic](a.png)" in text
    assert "commit commit-1" in text
    assert "Quick run" not in text
    assert "Quick run" in page([ours, other], True, {})


def test_the_regret_is_a_difference_of_means_with_its_standard_error():
    mine, theirs = (0.80, 0.82, 0.84), (0.70, 0.75, 0.80)
    found = regret(result("ours", mine), result("dp-sgd", theirs))
    assert found.difference == pytest.approx(fmean(mine) - fmean(theirs))
    expected = math.sqrt(stdev(mine) ** 2 / 3 + stdev(theirs) ** 2 / 3)
    assert found.error == pytest.approx(expected)
    text = page([result("ours", mine), result("dp-sgd", theirs)], False, {})
    assert f"| {found.difference:+.4f} ± {found.error:.4f} ▲ |" in text


@pytest.mark.parametrize(
    ("shift", "mark"), [(-0.03, "▼"), (-0.02, ""), (0.0, ""), (0.02, ""), (0.03, "▲")]
)
def test_the_mark_needs_more_than_two_standard_errors(shift, mark):
    # The error of the difference of these is 0.01155: two of them are 0.0231.
    mine = tuple(0.8 + shift + step for step in (-0.02, 0.0, 0.02))
    theirs = (0.8, 0.8, 0.8)
    found = regret(result("ours", mine), result("dp-sgd", theirs))
    assert (found.below, found.above) == (mark == "▼", mark == "▲")
    text = page([result("ours", mine), result("dp-sgd", theirs)], False, {})
    row = next(line for line in text.splitlines() if line.startswith("| made-logistic | 1 |"))
    assert ("▼" in row, "▲" in row) == (mark == "▼", mark == "▲")


def test_a_smaller_mse_is_better():
    ours = result("ours", (10.0, 11.0, 12.0), loss="squared")
    better = result("dp-sgd", (5.0, 5.0, 5.0), loss="squared")
    worse = result("adassp", (20.0, 20.0, 20.0), loss="squared")
    assert regret(ours, better).below
    assert regret(ours, worse).above
    assert best_rival([ours, worse, better]) is better
    text = page([ours, better, worse], False, {})
    assert "-6.00 ± 0.58 ▼ (DP-SGD, tuned)" in text
    assert "better in 0 of 1 cells" in text
    assert "below by more than two in 1." in text


def test_a_broken_run_is_the_worst():
    broken = result("dp-sgd", (0.9, math.nan, 0.9))
    assert mean_worth(broken) == -math.inf
    assert regret(result("ours", (0.5, 0.5, 0.5)), broken).above
    assert regret(result("ours", (0.5, math.nan, 0.5)), result("dp-sgd", (0.1,) * 3)).below
    assert best_rival([broken, result("opacus", (0.5, 0.5, 0.5))]).method == "opacus"


def test_limits_and_other_deltas_are_no_rivals():
    outside = ("ours", "plain", "one-shot", "one-shot-tuned", "snapml")
    assert {name for name, method in METHODS.items() if not method.rival} == set(outside)
    assert best_rival([result(name, (1.0, 1.0, 1.0)) for name in outside]) is None


def test_what_was_skipped_is_said_once():
    skipped = [
        result("opacus", (), epsilon=epsilon, trouble=["no torch here"])
        for epsilon in (0.5, 1.0)
    ]
    text = page([result("ours", (0.5, 0.6, 0.7)), *skipped], False, {})
    assert text.count("no torch here") == 1
    assert "| Opacus |" not in text
    assert "not released as private" not in text  # notes of methods that were not run


def test_quartiles():
    assert quartiles([3.0]) == (3.0, 3.0, 3.0)
    assert quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 3.0, 4.0)
    low, middle, high = quartiles([1.0, 2.0, 3.0, 4.0, math.nan])
    assert (low, middle, high) == (2.0, 3.0, 4.0)
    assert quartiles([1.0, math.nan, math.nan])[1] == math.inf


def test_the_figure_shows_medians_of_all_methods_and_flags_what_is_out_of_reach():
    results = [
        result(method, tuple(base + step for step in (-0.01, 0.0, 0.01)), epsilon=epsilon)
        for epsilon in (0.1, 1.0)
        for method, base in (("ours", 0.83), ("dp-sgd", 0.82), ("published", 0.81))
    ]
    results += [result("plain", (0.84,)), result("diffprivlib", (0.3, 0.3, 0.3))]
    figure = draw(results, True)
    axes = figure.axes[0]
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    assert list(lines["ours, untuned"]) == pytest.approx([0.83, 0.83])
    assert list(lines["not private"]) == pytest.approx([0.84, 0.84])
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.texts] == ["0.30 \u2193"]
    assert any("quick" in text.get_text() for text in figure.texts)


def test_the_calibration_figure_averages_bins_over_seeds():
    figure = draw_calibration([result("ours", (0.8, 0.8, 0.8))], False)
    line = figure.axes[0].get_lines()[1]
    assert list(line.get_xdata()) == pytest.approx([0.15, 0.55])
    assert list(line.get_ydata()) == pytest.approx([0.25, 0.65])


def test_every_method_has_a_look():
    assert METHODS.keys() <= LOOKS.keys()
