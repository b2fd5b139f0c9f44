"""Numbers behind the bounds and the leak; Lemma 1 is off by sqrt(5/2)."""

import math

import pytest

from dpscd_experiments.experiment import load_spec
from dpscd_experiments.experiments import bounds, leak
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
    assert run(cells, store, progress=False).keys() <= {"ok", "stored"}
    return store.read()


@pytest.fixture(scope="module")
def leak_rows(tmp_path_factory):
    return rows_of(leak._cells(SMALL, quick=False), tmp_path_factory.mktemp("leak"))


def test_theorem_2_applies_nowhere_and_the_bounds_cross_where_they_meet(tmp_path):
    rows = rows_of(bounds._cells(load_spec("bounds"), quick=True), tmp_path)
    assert set(values(rows, "applies")) == {0.0}
    assert max(values(rows, "theorem2", dataset="adult")) < 0.0
    for dataset in ("msd", "phishing", "adult"):
        crossover = values(rows, "crossover", dataset=dataset)[0]
        ((n, d),) = {(x["param.n"], x["param.d"]) for x in rows if x["dataset"] == dataset}
        assert crossover**3 * math.log(n / crossover) == pytest.approx(d * n**2, rel=1e-6)


def found(rows, metric, method):
    (value,) = values(rows, metric, method=method)
    return value


@pytest.mark.parametrize("variant", [*VARIANTS, leak.OURS])
def test_visible_duals_refute_the_claim_and_secret_ones_keep_it(leak_rows, variant):
    names = ("claimed", "epsilon_clopper_pearson", "epsilon_gaussian")
    claim, safe, likely = (found(leak_rows, name, variant) for name in names)
    if variant in VARIANTS[:2]:
        assert claim == pytest.approx(1.0, rel=0.01)
        assert (safe > 2.0 * claim, likely > 10.0 * claim) == (True, True)
        assert found(leak_rows, "clipped", variant) == 1.0
    else:
        assert max(safe, likely) < claim
    if variant == VARIANTS[0]:
        assert likely < found(leak_rows, "theory", variant)


def test_lemma_1_is_off(leak_rows):
    largest = [found(leak_rows, "largest", search) for search in leak.SEARCHES]
    assert largest == pytest.approx([math.sqrt(2.0), math.sqrt(5.0), 1.0], abs=1e-9)
