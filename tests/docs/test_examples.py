"""The examples run, and make what they say."""

import copy
import gzip
import importlib
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
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


@pytest.mark.full
@pytest.mark.parametrize("name", ["adult", "looking"])
def test_a_notebook_prints_and_draws_what_it_shows(name, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    run_cells = importlib.import_module("run_notebook").run_cells
    shown = json.loads((EXAMPLES / f"{name}.ipynb").read_text())
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


@pytest.fixture
def scattering(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module("scattering")


def idx(array):
    """Return an array of bytes as files of the MNIST kind hold it."""
    sizes = np.array(array.shape, ">u4").tobytes()
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes())


@pytest.mark.full
def test_scattering_trains_on_features_of_pictures(scattering, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    for name, count in (("train", 300), ("t10k", 40)):
        pictures = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        kinds = rng.integers(0, 10, count, dtype=np.uint8)
        (tmp_path / f"{name}-images-idx3-ubyte.gz").write_bytes(idx(pictures))
        (tmp_path / f"{name}-labels-idx1-ubyte.gz").write_bytes(idx(kinds))
    np.testing.assert_array_equal(
        scattering.read_idx(tmp_path / "t10k-images-idx3-ubyte.gz"), pictures
    )

    def transform(J, shape, L):  # in place of kymatio's, with its channels and shapes
        assert (J, shape, L) == (2, (28, 28), 8)
        return lambda block: np.repeat(block[:, None, :7, :7], 27, axis=1)

    kymatio = types.ModuleType("kymatio.numpy")
    kymatio.Scattering2D = transform
    monkeypatch.setitem(sys.modules, "kymatio", types.ModuleType("kymatio"))
    monkeypatch.setitem(sys.modules, "kymatio.numpy", kymatio)
    words = ["scattering", str(tmp_path), "--features", str(tmp_path / "features")]
    monkeypatch.setattr(sys, "argv", [*words, "--pictures-of-each", "200"])
    scattering.main()
    first = capsys.readouterr().out
    assert first.startswith("200 pictures, 1323 features: ")
    assert "accuracy on 40 others: 0." in first
    rows = dpscd.StoredRows(tmp_path / "features" / "train_x.npy")
    assert rows.shape == (200, 27 * 49)
    assert np.linalg.norm(rows[:], axis=1).max() < 1.001
    assert dpscd.load(tmp_path / "features" / "model.json").privacy_.epsilon == 3.0
    monkeypatch.delitem(sys.modules, "kymatio.numpy")
    scattering.main()  # features are there already
    assert capsys.readouterr().out.startswith("200 pictures")


def test_scattering_features_are_functions_of_one_picture(scattering):
    rng = np.random.default_rng(0)
    channels = rng.normal(size=(5, 27, 49)).astype(np.float32)
    channels[1, 3] = 7.0  # nothing to see in this channel
    rows = scattering.standardised(channels)
    assert np.linalg.norm(rows, axis=1).max() <= 1.0 + 1e-6
    changed = channels.copy()
    changed[2] *= 1e6
    np.testing.assert_array_equal(
        np.delete(scattering.standardised(changed), 2, axis=0), np.delete(rows, 2, axis=0)
    )
