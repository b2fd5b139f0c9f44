import pytest
from typer.testing import CliRunner

from dpscd.cli.app import app
from dpscd_experiments.experiments.specs import load_spec
from dpscd_experiments.interval_tables import load_question
from dpscd_experiments.pages.reproduction import read_csv
from dpscd_experiments.store import Store


def tiny(_name):
    spec = load_spec("intervals")
    base = {**spec["base"], "n": 5000, "d": 2}
    names = ("base", "curved", "persons")
    designs = {name: {**spec["designs"][name]} for name in names}
    quick = {"seeds": 2, "tables": ["adult"], "table_epsilons": [3.0]}
    return {**spec, "base": base, "designs": designs, "quick": quick}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr("dpscd_experiments.pages.intervals.load_spec", tiny)


def bench(*words):
    return CliRunner().invoke(app, ["bench", "intervals", "--jobs", "1", *map(str, words)])


@pytest.mark.full
def test_a_quick_run_writes_its_files_and_goes_on_where_it_was(tmp_path):
    done = bench("--quick", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    names = {file.name for file in tmp_path.iterdir()}
    figures = {
        f"intervals-{name}.{end}" for name in ("coverage", "adult") for end in ("png", "svg")
    }
    ends = {"intervals.jsonl", "intervals.csv", "intervals-tables.csv", "intervals.md"}
    assert names == ends | figures
    rows = read_csv(tmp_path / "intervals.csv")
    assert len(rows) == 2 * (2 + 2 + 1)
    assert {row["dataset"] for row in rows} == {"base", "curved", "persons"}
    text = (tmp_path / "intervals.md").read_text()
    assert "Quick run" in text
    assert "| base | 2 |" in text
    assert "| by | not private | epsilon 3 |" in text
    before = Store(tmp_path / "intervals.jsonl").read()
    assert bench("--quick", "--out", tmp_path, "--family", "ridge").exit_code == 0
    assert Store(tmp_path / "intervals.jsonl").read() == before
    assert (tmp_path / "intervals.md").read_text() == text


@pytest.mark.full
def test_pieces_and_what_is_run_again(tmp_path):
    common = ("--quick", "--out", tmp_path, "--design", "base", "--family", "ridge")
    assert bench(*common, "--seeds", 1).exit_code == 0
    store = Store(tmp_path / "intervals.jsonl")
    assert len(store.status()) == 1
    assert bench(*common).exit_code == 0
    before = store.read()
    assert len(store.status()) == 2
    assert bench(*common, "--again", "ridge").exit_code == 0

    def numbers(rows):
        return sorted([str(x[name]) for name in ("cell", "metric", "value")] for x in rows)

    assert numbers(before) == numbers(store.read())
    assert not (tmp_path / "intervals-tables.csv").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--design", "magic"), "design='magic'"), (("--again", "x"), "again='x'"),
     (("--family", "svm"), "family='svm'")],
)  # fmt: skip
def test_unknown_names_are_refused_before_anything_runs(tmp_path, words, message):
    done = bench("--out", tmp_path / "new", *words)
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "new").exists()


def test_missing_flights_are_said_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("DPSCD_DATA", raising=False)
    load_question.cache_clear()
    done = bench("--out", tmp_path / "new")
    assert done.exit_code == 2
    assert "DPSCD_DATA" in done.output
    assert not (tmp_path / "new").exists()
