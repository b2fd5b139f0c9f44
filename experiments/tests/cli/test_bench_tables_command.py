import sys

import pytest
from invented import invented
from typer.testing import CliRunner

from dpscd.cli.app import app
from dpscd_experiments.experiments.accuracy import settings_in
from dpscd_experiments.experiments.specs import load_spec
from dpscd_experiments.opponents import tabled
from dpscd_experiments.opponents.table_registry import TABLE_METHODS
from dpscd_experiments.pages.reproduction import read_csv
from dpscd_experiments.pages.style import LOOKS
from dpscd_experiments.store import Store
from dpscd_experiments.tables import TABLES

STAGE = {
    "epochs": [1], "lot_size": [50], "clip": [1.0], "learning_rate": [1.0], "lam": [1e-3],
    "averaging": [0.5],
}  # fmt: skip


def tiny(_name):
    spec = load_spec("tables")
    problems = {name: spec["problems"][name] for name in ("bank", "nycflights13")}
    return {
        **spec,
        "epsilons": [1.0, 8.0],
        "seeds": 2,
        "problems": problems,
        "dp_sgd": {"small": [STAGE], "large": [STAGE]},
        "boosted_adassp": {"rounds": [2], "clip": [1.0]},
        "plain": {"lams": [1e-3]},
        "quick": {"only": ["bank"], "epsilons": [1.0], "seeds": 1},
    }


@pytest.fixture(autouse=True)
def small(monkeypatch):
    caches = (tabled.features_of, tabled._table)
    for cached in caches:
        cached.cache_clear()
    for module in ("opponents.tabled", "pages.tables"):
        monkeypatch.setattr(f"dpscd_experiments.{module}.load_table", invented)
    monkeypatch.setattr("dpscd_experiments.pages.tables.load_spec", tiny)
    for module in ("interpret", "interpret.privacy", "interpret.glassbox"):
        monkeypatch.setitem(sys.modules, module, None)
    for variable in ("DPSCD_DIFFPRIVLIB_PYTHON", "DPSCD_DPMM_PYTHON"):
        monkeypatch.delenv(variable, raising=False)
    yield
    for cached in caches:
        cached.cache_clear()


def bench(*words):
    return CliRunner().invoke(app, ["bench", "tables", "--jobs", "1", *map(str, words)])


@pytest.mark.full
def test_a_run_writes_its_files_and_goes_on_where_it_was(tmp_path):
    done = bench("--out", tmp_path)
    assert done.exit_code == 0, done.output
    names = {file.name for file in tmp_path.iterdir()}
    figures = {
        f"tables-{name}.{ending}"
        for name in ("bank", "nycflights13")
        for ending in ("png", "svg")
    }
    assert names == figures | {"tables.jsonl", "tables.csv", "tables.md"}
    rows = read_csv(tmp_path / "tables.csv")
    assert {row["param.part"] for row in rows} == {"test"}
    outside = {"diffprivlib", "mst", "dp-ebm", "ebm"}
    assert {row["method"] for row in rows} == set(TABLE_METHODS) - outside
    text = (tmp_path / "tables.md").read_text()
    assert "DPSCD_DPMM_PYTHON must name" in text
    assert "* bank: invented rows." in text
    assert "| Boosted AdaSSP, tuned |" in text
    before = Store(tmp_path / "tables.jsonl").read()
    assert bench("--out", tmp_path, "--method", "dp-sgd").exit_code == 0
    assert Store(tmp_path / "tables.jsonl").read() == before
    assert (tmp_path / "tables.md").read_text() == text


@pytest.mark.full
def test_a_run_in_pieces_ends_as_one(tmp_path):
    common = ("--out", tmp_path, "--method", "boosting", "--method", "adassp")
    pieces = [("--table", "bank"), ("--epsilon", 1), ("--seeds", 1), ("--epsilon", 8.0)]
    counts = []
    for piece in pieces:
        assert bench(*common, *piece).exit_code == 0
        counts.append(len(Store(tmp_path / "tables.jsonl").status()))
    # One cell of boosting a table; AdaSSP is for flights alone, with two seeds an epsilon.
    assert counts == [1, 4, 5, 6]
    assert bench(*common).exit_code == 0
    assert len(Store(tmp_path / "tables.jsonl").status()) == 6
    text = (tmp_path / "tables.md").read_text()
    assert bench(*common, "--again", "adassp").exit_code == 0
    assert (tmp_path / "tables.md").read_text().split("## nycflights13")[0] == (
        text.split("## nycflights13")[0]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--method", "magic"), "method='magic'"), (("--again", "x"), "method='x'"),
     (("--table", "iris"), "problem='iris'"), (("--epsilon", "3"), "epsilon=3.0")],
)  # fmt: skip
def test_unknown_names_are_refused_before_anything_runs(tmp_path, words, message):
    done = bench("--out", tmp_path / "new", *words)
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "new").exists()


def test_only_skipped_methods_leave_no_page(tmp_path):
    done = bench("--out", tmp_path, "--method", "mst")
    assert done.exit_code == 2
    assert "DPSCD_DPMM_PYTHON" in done.output


def test_the_file_has_the_promised_tables():
    settings = settings_in(load_spec("tables"), False)
    assert {setting.problem for setting in settings} == set(TABLES)
    assert {setting.epsilon for setting in settings} == {0.1, 0.5, 1.0, 2.0}
    assert {setting.delta for setting in settings} == {1e-5}
    assert {setting.experiment for setting in settings} == {"tables"}
    seeds = {setting.problem: setting.seeds for setting in settings}
    assert seeds == {"adult": 10, "bank": 10, "nycflights13": 10, "covtype": 3}
    assert {setting.experiment for setting in settings_in(load_spec("accuracy"), True)} == {
        "accuracy"
    }


def test_every_method_has_a_look():
    assert TABLE_METHODS.keys() <= LOOKS.keys()
