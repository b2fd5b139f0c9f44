"""The table of bounds in numbers, and what tuning costs."""

import math
import tomllib
from pathlib import Path

import pytest

from dpscd_experiments.experiments import bounds, tuning
from dpscd_experiments.pages import bounds_figure, tuning_figure
from dpscd_experiments.runner import Store, run

pytestmark = pytest.mark.full

FOLDER = Path(__file__).parents[1] / "src" / "dpscd_experiments" / "specs"


def spec(target):
    return tomllib.loads((FOLDER / f"{target}.toml").read_text(encoding="utf-8"))


def rows_of(cells, folder):
    store = Store(folder / "rows.jsonl")
    summary = run(cells, store, progress=False)
    assert (summary.failed, summary.skipped) == (0, 0)
    return store.read()


@pytest.fixture(scope="module")
def bound_rows(tmp_path_factory):
    return rows_of(bounds.cells(spec("bounds"), quick=True), tmp_path_factory.mktemp("bounds"))


def numbers(rows, metric, **columns):
    chosen = [r for r in rows if r["metric"] == metric]
    for name, value in columns.items():
        chosen = [r for r in chosen if r.get(name, r.get(f"param.{name}")) == value]
    return [r["value"] for r in chosen]


def test_the_rows_are_the_formulas(bound_rows):
    at = {"dataset": "msd", "epsilon": 1.0}
    n, d = 347786, 90
    (first,) = numbers(bound_rows, "bound", method="Zhang et al. 2017", **at)
    assert first == pytest.approx(d / n**2)
    (dual,) = numbers(bound_rows, "bound", method=bounds.DUAL, lot_size=1000, **at)
    assert dual == pytest.approx(1e9 * math.log(n / 1000) / n**4)
    (tenth,) = numbers(
        bound_rows, "bound", method="Zhang et al. 2017", dataset="msd", epsilon=0.1
    )
    assert tenth == pytest.approx(100.0 * first)


def test_theorem_2_applies_nowhere(bound_rows):
    assert set(numbers(bound_rows, "applies")) == {0.0}
    assert max(numbers(bound_rows, "theorem2", dataset="adult")) < 0.0


@pytest.mark.parametrize("dataset", ["msd", "phishing", "adult"])
def test_the_crossover_is_where_the_rows_meet(bound_rows, dataset):
    crossover = numbers(bound_rows, "crossover", dataset=dataset)[0]
    (n,) = {r["param.n"] for r in bound_rows if r["dataset"] == dataset}
    (d,) = {r["param.d"] for r in bound_rows if r["dataset"] == dataset}
    assert crossover**3 * math.log(n / crossover) == pytest.approx(d * n**2, rel=1e-6)


def test_the_grid_is_scaled_from_the_sample():
    rows = [
        {
            "metric": "seconds_each",
            "method": "dp-scd",
            "seed": 0,
            "param.lot_size": L,
            "value": 2.0,
        }
        for L in (5, 2000)
    ]
    assert tuning.grid_seconds(rows, "dp-scd", 0) == pytest.approx(2.0 * 143)


def test_bounds_as_text_and_figure(bound_rows):
    said = bounds.text(bound_rows, quick=True)
    assert "(quick)" in said
    assert "7.44e-10" in said
    pytest.importorskip("matplotlib")
    assert "quick" in bounds_figure.draw(bound_rows, quick=True).get_suptitle()


def test_tuning_counts_times_text_and_figure(tmp_path):
    small = {
        **spec("tuning"), "epochs": 1, "lot_sizes": [500, 2000], "clips": [1.0],
        "learning_rates": [0.01], "seeds": [0],
    }  # fmt: skip
    rows = rows_of(tuning.cells(small, quick=False), tmp_path)
    counts = {"dp-scd": 156, "dp-sgd": 2028, tuning.OURS: 1}
    for method, count in counts.items():
        assert numbers(rows, "configurations", method=method)[0] == count
    assert min(numbers(rows, "seconds_each")) > 0.0
    assert min(numbers(rows, "epsilon_of_all")) > 1.0
    said = tuning.text(rows, quick=True)
    assert "(quick)" in said
    assert "| dp-sgd | 2028 |" in said
    pytest.importorskip("matplotlib")
    assert "quick" in tuning_figure.draw(rows, quick=True).get_suptitle()
