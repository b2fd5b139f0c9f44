import pytest
from fashion_files import write_fashion
from typer.testing import CliRunner

from dpscd.cli.app import app
from dpscd_experiments import features
from dpscd_experiments.experiments.specs import load_spec
from dpscd_experiments.pages.reproduction import read_csv
from dpscd_experiments.store import Store


def tiny(_name):
    grid = {
        "momentum": 0.9, "clip": 0.1, "epochs_and_lots": [[3, 200]], "averaging": [0.0, 0.4],
        "steps": {"pixels": [1, 30]},
    }  # fmt: skip
    quick = {
        "datasets": ["pixels"], "epsilons": [3.0], "seeds": 2, "records": 480, "dp_sgd": grid,
    }  # fmt: skip
    return {**load_spec("features"), "quick": quick}


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_fashion(folder)
    monkeypatch.setenv("DPSCD_DATA", str(folder))
    monkeypatch.setattr("dpscd_experiments.pages.features.load_spec", tiny)
    features._load.cache_clear()
    yield
    features._load.cache_clear()


def bench(*words):
    return CliRunner().invoke(app, ["bench", "features", "--jobs", "1", *map(str, words)])


def test_a_quick_run_writes_its_files_and_goes_on_where_it_was(tmp_path):
    done = bench("--quick", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    names = {file.name for file in tmp_path.iterdir()}
    ends = ("jsonl", "csv", "md", "png", "svg")
    assert names == {f"features.{end}" for end in ends}
    rows = read_csv(tmp_path / "features.csv")
    assert {row["method"] for row in rows} == {
        "ours", "dp-sgd", "dp-sgd-1", "dp-sgd-2", "dp-sgd-3"
    }  # fmt: skip
    tried = [row for row in rows if row["metric"].startswith("validation-")]
    assert len(tried) == 4
    # The best three of tuning, in their order.
    scores = sorted((row["value"] for row in tried), reverse=True)
    own = [row for row in rows if row["metric"] == "accuracy" and row["method"] == "dp-sgd-1"]
    assert len(own) == 2
    best = [row for row in tried if row["value"] == scores[0]]
    assert own[0]["param.step"] in {row["at"] for row in best}
    text = (tmp_path / "features.md").read_text()
    assert "Quick run" in text
    assert "| pixels (784) | 3 | " in text
    before = Store(tmp_path / "features.jsonl").read()
    assert bench("--quick", "--out", tmp_path, "--epsilon", 3).exit_code == 0
    assert Store(tmp_path / "features.jsonl").read() == before
    assert (tmp_path / "features.md").read_text() == text


@pytest.mark.full
def test_pieces_and_what_is_run_again(tmp_path):
    common = ("--quick", "--out", tmp_path, "--method", "dp-sgd-2", "--data", "pixels")
    assert bench(*common, "--seeds", 1).exit_code == 0
    before = Store(tmp_path / "features.jsonl").read()
    assert {row["method"] for row in before} == {"dp-sgd", "dp-sgd-2"}
    assert bench(*common, "--seeds", 1, "--again", "dp-sgd").exit_code == 0
    after = Store(tmp_path / "features.jsonl").read()

    def numbers(rows):
        same = ("cell", "metric", "at", "value")
        return sorted(
            str([x[name] for name in same]) for x in rows if x["metric"] != "cpu_seconds"
        )

    assert numbers(before) == numbers(after)


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--method", "dp-sgd"), "method='dp-sgd'"), (("--again", "x"), "again='x'"),
     (("--data", "edges"), "data='edges'"), (("--epsilon", 7), "epsilon=7")],
)  # fmt: skip
def test_unknown_names_are_refused_before_anything_runs(tmp_path, words, message):
    done = bench("--out", tmp_path / "new", *words)
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "new").exists()


def test_missing_pictures_are_said_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("DPSCD_DATA")
    done = bench("--out", tmp_path / "new")
    assert done.exit_code == 2
    assert "DPSCD_DATA" in done.output
    assert not (tmp_path / "new").exists()


def test_without_results_there_are_no_files(tmp_path, monkeypatch):
    def broken(_cell):
        raise RuntimeError("no luck")

    monkeypatch.setattr("dpscd_experiments.opponents.softmax.play_ours", broken)
    done = bench("--quick", "--out", tmp_path, "--method", "ours")
    assert done.exit_code == 2
    assert "no luck" in done.output
    assert not (tmp_path / "features.md").exists()
