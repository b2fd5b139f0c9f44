"""The examples run, and make what they say."""

import copy
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpscd

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FIGURES = ["coefficients_and_noise", "epsilon_against_accuracy", "several_models_one_ledger"]


def run(script, *words):
    home = str(Path(dpscd.__file__).parents[1])
    subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(ROOT / script), *words],
        check=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": home},
    )


def test_every_script_is_tested_here():
    with_figure = {f.stem for f in EXAMPLES.glob("*.py") if "--quick" in f.read_text()}
    assert with_figure == set(FIGURES)
    for name in FIGURES:
        assert (ROOT / "docs" / "figures" / "examples" / f"{name}.png").exists()


@pytest.mark.full
@pytest.mark.parametrize("name", FIGURES)
def test_a_script_makes_its_figure(name, tmp_path):
    figure = tmp_path / "figure.png"
    run(f"examples/{name}.py", "--quick", "--out", str(figure))
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.full
def test_the_figures_of_the_explanation_can_be_drawn(tmp_path):
    run("docs/figures/make_explained.py", "--out", str(tmp_path))
    drawn = {file.name for file in tmp_path.glob("*.png")}
    assert drawn == {f.name for f in (ROOT / "docs/figures/explained").glob("*.png")}


def test_the_notebook_prints_and_draws_what_it_shows(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    run_cells = importlib.import_module("run_notebook").run_cells
    shown = json.loads((EXAMPLES / "adult.ipynb").read_text())
    printed = run_cells(copy.deepcopy(shown))
    assert _outputs(printed) == _outputs(shown)


def _outputs(notebook):
    """Return what cells print, without the last digits, and how many pictures they draw."""
    found = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            text = "".join(output.get("text", ()))
            found.append(re.sub(r"(\d\.\d)\d+", r"\1", text) or sorted(output["data"]))
    return found


def test_the_schema_of_flights_is_one():
    schema = dpscd.Schema.read(EXAMPLES / "flights.toml")
    assert schema.target.bounds == (-90.0, 300.0)
    assert not schema.read_from_data
