"""Numbers behind the bounds, the tuning cost and the leak; Lemma 1 is off by sqrt(5/2)."""

import math

import pytest

from dpscd_experiments.cells import execute
from dpscd_experiments.experiment import load_spec
from dpscd_experiments.experiments import bounds, leak, tuning
from dpscd_experiments.runner import run
from dpscd_experiments.store import Store, values

pytestmark = pytest.mark.full

# Fewer records and canaries at the same rate, steps and noise.
SMALL = load_spec("leak") | {
    "records": 696, "lot_size": 2, "canaries": 600, "runs": 1, "epsilons": [1.0],
    "seeds": [0], "states": 300, "quick": {},
}  # fmt: skip
VARIANTS = [name for name, _, _ in leak.VARIANTS]


def rows_of(cells, folder):
    store = Store(folder / "rows.jsonl")
    summary = run(cells, store, progress=False)
    assert (summary.failed, summary.skipped) == (0, 0)
    return store.read()


@pytest.fixture(scope="module")
def bound_rows(tmp_path_factory):
    cells = bounds._cells(load_spec("bounds"), quick=True)
    return rows_of(cells, tmp_path_factory.mktemp("bounds"))


@pytest.fixture(scope="module")
def leak_rows(tmp_path_factory):
    return rows_of(leak._cells(SMALL, quick=False), tmp_path_factory.mktemp("leak"))


def test_the_rows_are_the_formulas(bound_rows):
    n, d = 347786, 90
    other = {"method": "Zhang et al. 2017", "dataset": "msd"}
    (first,) = values(bound_rows, "bound", epsilon=1.0, **other)
    assert first == pytest.approx(d / n**2)
    assert values(bound_rows, "bound", epsilon=0.1, **other) == [pytest.approx(100.0 * first)]
    at = {"dataset": "msd", "epsilon": 1.0, "lot_size": 1000}
    (dual,) = values(bound_rows, "bound", method=bounds.DUAL, **at)
    assert dual == pytest.approx(1e9 * math.log(n / 1000) / n**4)
    assert set(values(bound_rows, "applies")) == {0.0}  # Theorem 2 applies nowhere
    assert max(values(bound_rows, "theorem2", dataset="adult")) < 0.0
    said = bounds._text(bound_rows, quick=True)
    assert "(quick)" in said
    assert "7.44e-10" in said


@pytest.mark.parametrize("dataset", ["msd", "phishing", "adult"])
def test_the_crossover_is_where_the_rows_meet(bound_rows, dataset):
    crossover = values(bound_rows, "crossover", dataset=dataset)[0]
    ((n, d),) = {(r["param.n"], r["param.d"]) for r in bound_rows if r["dataset"] == dataset}
    assert crossover**3 * math.log(n / crossover) == pytest.approx(d * n**2, rel=1e-6)


def test_tuning_counts_and_scales_the_grid_from_the_sample(tmp_path):
    sample = {"metric": "seconds_each", "method": "dp-scd", "seed": 0, "value": 2.0}
    rows = [{**sample, "param.lot_size": L} for L in (5, 2000)]
    assert tuning.grid_seconds(rows, "dp-scd", 0) == pytest.approx(2.0 * 143)
    small = load_spec("tuning") | {
        "epochs": 1, "lot_sizes": [500, 2000], "clips": [1.0], "learning_rates": [0.01],
        "seeds": [0],
    }  # fmt: skip
    rows = rows_of(tuning._cells(small, quick=False), tmp_path)
    for method, count in {"dp-scd": 156, "dp-sgd": 2028, tuning.OURS: 1}.items():
        assert values(rows, "configurations", method=method)[0] == count
    assert min(values(rows, "seconds_each")) > 0.0
    assert min(values(rows, "epsilon_of_all")) > 1.0
    assert "| dp-sgd | 2028 |" in tuning._text(rows, quick=True)


def found(rows, metric, method):
    (value,) = values(rows, metric, method=method)
    return value


@pytest.mark.parametrize("variant", VARIANTS[:2])
def test_visible_duals_refute_the_claim(leak_rows, variant):
    claim = found(leak_rows, "claimed", variant)
    assert claim == pytest.approx(1.0, rel=0.01)
    assert found(leak_rows, "epsilon_clopper_pearson", variant) > 2.0 * claim
    assert found(leak_rows, "epsilon_gaussian", variant) > 10.0 * claim
    assert found(leak_rows, "clipped", variant) == 1.0
    if variant == VARIANTS[0]:
        theory = found(leak_rows, "theory", variant)
        assert found(leak_rows, "epsilon_gaussian", variant) < theory


@pytest.mark.parametrize("variant", [VARIANTS[2], leak.OURS])
def test_secret_duals_keep_the_claim(leak_rows, variant):
    for bound in ("epsilon_gaussian", "epsilon_clopper_pearson"):
        assert found(leak_rows, bound, variant) < found(leak_rows, "claimed", variant)


def test_lemma_1_is_off(leak_rows):
    expected = (math.sqrt(2.0), math.sqrt(5.0), 1.0)
    for search, limit in zip(leak.SEARCHES, expected, strict=True):
        assert found(leak_rows, "largest", search) == pytest.approx(limit, abs=1e-9)
    assert "2.2361 C" in leak._text(leak_rows, quick=True)


def test_cells_repeat_by_seed_and_quick_is_a_part_of_the_whole():
    cell = next(c for c in leak._cells(SMALL, quick=False) if c.method == VARIANTS[1])
    assert execute(cell).points == execute(cell).points
    quick, full = (leak._cells(load_spec("leak"), quick=x) for x in (True, False))
    assert 0 < len(quick) < len(full)
    assert {c.epsilon for c in quick} <= {c.epsilon for c in full}
