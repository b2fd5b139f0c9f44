"""Nothing of the product needs the package of research, which may be absent or broken."""

import pkgutil
import tomllib
from importlib.metadata import Distribution, EntryPoint, EntryPoints
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dpscd
from commands import python
from dpscd.cli.app import GROUP, app, outside_verbs

INSTALLED = Path(dpscd.__file__).parents[1]

REFUSING = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "dpscd_experiments":
            raise ImportError("research is not here")

sys.meta_path.insert(0, Refusing())
"""


def run(script):
    """Run a script in a new process that cannot import research, and return what it prints."""
    return python(REFUSING + script, PYTHONPATH=str(INSTALLED), COLUMNS="200")


@pytest.mark.full
def test_every_module_can_be_imported():
    names = [
        module.name
        for module in pkgutil.walk_packages(dpscd.__path__, "dpscd.")
        if not module.name.endswith("__main__")
    ]
    assert len(names) > 100
    run(f"from importlib import import_module\nfor name in {names!r}: import_module(name)")


@pytest.mark.full
def test_a_model_can_be_fitted_and_its_page_written(tmp_path):
    run(
        "import numpy as np, os\n"
        f"os.chdir({str(tmp_path)!r})\n"
        "from dpscd import DPLogisticRegression, load\n"
        "from dpscd.cli.app import app\n"
        "X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(2000, 3))\n"
        "model = DPLogisticRegression(classes=[False, True]).fit(X, X[:, 0] > 0)\n"
        "model.save('model.json')\n"
        "assert load('model.json').score(X, X[:, 0] > 0) > 0.5\n"
        "app(['report', 'model.json', '--out', 'page.html'])\n"
    )
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_help_names_every_own_verb():
    text = run("from dpscd.cli.app import app\napp(['--help'], prog_name='dpscd')")
    for verb in ("fit", "predict", "evaluate", "report", "budget", "demo", "audit"):
        assert f" {verb} " in text


def brought(monkeypatch, **verbs):
    """Let there be these entry points and no others."""
    points = EntryPoints(EntryPoint(name, value, GROUP) for name, value in verbs.items())
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda **wanted: points.select(**wanted)
    )


def invoke(*words):
    return CliRunner().invoke(app, [*words], env={"COLUMNS": "200"})


@pytest.mark.parametrize("words", [("bench",), ("reproduce", "all", "--out", "x")])
def test_verbs_of_experiments_name_the_command_that_brings_them(words, monkeypatch):
    brought(monkeypatch)
    result = invoke(*words)
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: the verb '{words[0]}' comes with dpscd-experiments {dpscd.__version__}, which "
        f"is not installed here; run: pip install dpscd-experiments=={dpscd.__version__}\n"
    )
    assert f" {words[0]} " not in invoke("--help").stdout


class Old(Distribution):
    """Experiments of another version."""

    def read_text(self, filename):
        return "Name: dpscd-experiments\nVersion: 0.0.9\n" if filename == "METADATA" else None

    def locate_file(self, path):
        return Path(path)


def test_experiments_of_another_version_are_not_run(monkeypatch):
    brought(monkeypatch, bench="dpscd.errors:absent")
    point = outside_verbs()["bench"]._for(Old())
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: EntryPoints([point]))
    result = invoke("bench", "accuracy")
    assert result.exit_code == 1
    assert "which is version 0.0.9 here; run: pip install dpscd-experiments==" in result.stderr


def test_experiments_say_and_require_the_version_of_the_product():
    file = Path(__file__).parents[1] / "experiments" / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    assert project["version"] == dpscd.__version__
    assert f"dpscd=={dpscd.__version__}" in project["dependencies"]


@pytest.mark.parametrize(
    "value", ["no_such_package.verbs:app", "dpscd.errors:absent", "math:pi"]
)
def test_a_verb_whose_entry_point_is_broken_says_so(value, monkeypatch):
    brought(monkeypatch, more=value)
    result = invoke("more", "--than", "this")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the verb 'more'")
    shown = invoke("--help")
    assert shown.exit_code == 0
    assert "Not available here." in shown.stdout
    assert invoke("plan", "--help").exit_code == 0


def test_a_verb_of_nobody_is_not_understood(monkeypatch):
    brought(monkeypatch)
    assert invoke("fitt").exit_code == 2


def test_own_verbs_cannot_be_replaced(monkeypatch):
    brought(monkeypatch, fit="no_such_package.verbs:app")
    assert "Train a differentially private model" in invoke("fit", "--help").stdout
    assert invoke("--help").stdout.count(" fit ") == 1
