"""The verbs of export: what they write, print and refuse."""

import hashlib
import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml

from commands import call
from dpscd import DPLogisticRegression


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(200, 2))
    path = tmp_path_factory.mktemp("model") / "model.json"
    DPLogisticRegression(classes=[0, 1], epochs=1).fit(X, X[:, 0] > 0).save(path)
    return path


@pytest.fixture
def run(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    shutil.copy(model, "model.json")
    scores = {"private": False, "records": 3, "metrics": {"accuracy": 0.5}}
    scores["model_sha256"] = hashlib.sha256(Path(model).read_bytes()).hexdigest()
    Path("scores.json").write_text(json.dumps(scores))

    return partial(call, "export")


def filled(name):
    """Fill in a template as somebody in a hurry does."""
    text = Path(name).read_text()
    text = text.replace('publication_date = ""', "publication_date = 2026-11-02")
    text = text.replace('release_type = ""', 'release_type = "One release"')
    text = text.replace('data_source_type = ""', 'data_source_type = "Static"')
    text = text.replace('[""]', '["me"]').replace('\nurl_slug = ""', '\nurl_slug = "mine"')
    Path(name).write_text(text.replace(' = ""', ' = "words"'))


def test_a_template_is_filled_in_and_becomes_an_entry(run):
    assert run("registry", "--template", "d.toml").stdout == "Wrote d.toml\n"
    filled("d.toml")
    words = ("registry", "model.json", "--details", "d.toml", "--out", "entry.yaml")
    assert run(*words).stdout == "Wrote entry.yaml\n"
    values = yaml.safe_load(Path("entry.yaml").read_text())
    assert values["url_slug"] == "mine"
    assert values["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 1.0


def test_what_is_missing_is_listed_and_nothing_is_written(run):
    found = run("registry", "model.json", "--out", "entry.yaml", code=1)
    assert "deployment.basic.intended_use" in found.stderr
    run("registry", "--template", "d.toml")
    words = ("registry", "model.json", "--details", "d.toml", "--out", "entry.yaml")
    found = run(*words, code=1)
    assert "missing: url_slug, deployment.basic.name" in found.stderr
    assert found.stderr.count("\n") == 1
    assert not Path("entry.yaml").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("model.json", "--template", "d.toml"), "give it alone"),
        (("--template", "scores.json"), "scores.json exists"),
        (("model.json",), "MODEL and --out are needed"),
        (("--out", "entry.yaml"), "MODEL and --out are needed"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(run, words, says):
    before = Path("scores.json").read_text()
    found = run("registry", *words, code=1)
    assert says in found.stderr
    assert found.stderr.count("\n") == 1
    assert Path("scores.json").read_text() == before


def test_a_model_card_includes_what_it_is_given(run):
    run("registry", "--template", "d.toml")
    filled("d.toml")
    words = ("--evaluation", "scores.json", "--details", "d.toml")
    found = run("model-card", "model.json", "--out", "README.md", *words)
    assert found.stdout == "Wrote README.md\n"
    assert found.stderr == "warning: The evaluation is not private, and is in the file\n"
    text = Path("README.md").read_text()
    assert "| accuracy | 0.5 |" in text
    assert "# words" in text
    assert run("model-card", "model.json", "--out", "README.md").stderr == ""
    assert "None was handed over" in Path("README.md").read_text()


def test_a_bill_of_materials(run):
    assert run("cyclonedx", "model.json", "--out", "bom.json").stdout == "Wrote bom.json\n"
    assert json.loads(Path("bom.json").read_text())["specVersion"] == "1.6"
    words = ("--evaluation", "scores.json", "--json")
    values = json.loads(run("cyclonedx", "model.json", "--out", "bom.json", *words).stdout)
    assert values == {
        "written": "bom.json",
        "warnings": ["The evaluation is not private, and is in the file"],
    }
    assert "performanceMetrics" in Path("bom.json").read_text()


@pytest.mark.parametrize("verb", ["registry", "model-card", "cyclonedx"])
def test_nothing_is_written_about_what_is_no_model(run, verb):
    Path("model.json").write_text("{}")
    found = run(verb, "model.json", "--out", "out", code=1)
    assert "not a usable model file" in found.stderr
    assert found.stderr.count("\n") == 1
    assert not Path("out").exists()
    assert "there is no such folder" in run(verb, "model.json", "--out", "a/b", code=1).stderr
