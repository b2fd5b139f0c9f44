"""Visible duals break the published claim; ours holds; Lemma 1 is off by sqrt(5/2)."""

import math
import tomllib
from pathlib import Path

import pytest

from dpscd_experiments.cells import execute
from dpscd_experiments.experiments import leak
from dpscd_experiments.experiments.lemma1 import SEARCHES
from dpscd_experiments.pages import leak_figure
from dpscd_experiments.runner import Store, run

pytestmark = pytest.mark.full

SPEC = tomllib.loads(
    (Path(__file__).parents[1] / "src" / "dpscd_experiments" / "specs" / "leak.toml").read_text(
        encoding="utf-8"
    )
)
# Fewer records and canaries at the same rate, steps and noise.
SMALL = {
    **SPEC, "records": 696, "lot_size": 2, "canaries": 600, "runs": 1, "epsilons": [1.0],
    "seeds": [0], "states": 300, "quick": {},
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("leak") / "rows.jsonl")
    summary = run(leak.cells(SMALL, quick=False), store, progress=False)
    assert (summary.failed, summary.skipped) == (0, 0)
    return store.read()


def found(rows, metric, method):
    (value,) = (r["value"] for r in rows if (r["metric"], r["method"]) == (metric, method))
    return value


@pytest.mark.parametrize("variant", [name for name, _, visible in leak.VARIANTS if visible])
def test_visible_duals_refute_the_claim(rows, variant):
    claim = found(rows, "claimed", variant)
    assert claim == pytest.approx(1.0, rel=0.01)
    assert found(rows, "epsilon_clopper_pearson", variant) > 2.0 * claim
    assert found(rows, "epsilon_gaussian", variant) > 10.0 * claim
    assert found(rows, "clipped", variant) == 1.0


def test_the_truth_in_theory_is_not_exceeded(rows):
    variant = leak.VARIANTS[0][0]
    theory = found(rows, "theory", variant)
    assert found(rows, "claimed", variant) < found(rows, "epsilon_gaussian", variant) < theory


@pytest.mark.parametrize("variant", [leak.VARIANTS[2][0], leak.OURS])
def test_secret_duals_keep_the_claim(rows, variant):
    bounds = ("epsilon_gaussian", "epsilon_clopper_pearson")
    assert max(found(rows, bound, variant) for bound in bounds) < found(
        rows, "claimed", variant
    )


def test_lemma_1_is_off(rows):
    expected = (math.sqrt(2.0), math.sqrt(5.0), 1.0)
    for search, limit in zip(SEARCHES, expected, strict=True):
        assert found(rows, "largest", search) == pytest.approx(limit, abs=1e-9)


def test_cells_repeat_by_seed():
    cell = next(c for c in leak.cells(SMALL, quick=False) if c.method == leak.VARIANTS[1][0])
    assert execute(cell).points == execute(cell).points


def test_quick_is_a_part_of_the_whole():
    quick, full = leak.cells(SPEC, quick=True), leak.cells(SPEC, quick=False)
    assert 0 < len(quick) < len(full)
    assert {c.epsilon for c in quick} <= {c.epsilon for c in full}


def test_text_and_figure(rows):
    said = leak.text(rows, quick=True)
    assert "(quick)" in said
    assert "2.2361 C" in said
    pytest.importorskip("matplotlib")
    figure = leak_figure.draw(rows, quick=True)
    assert "quick" in figure.get_suptitle()
    assert "quick" not in leak_figure.draw(rows, quick=False).get_suptitle()
