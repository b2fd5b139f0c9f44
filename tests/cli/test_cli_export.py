"""The verbs of export: what they write, print and refuse."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from commands import answer, call, refusal
from dpscd import DPLogisticRegression


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(200, 2))
    path = tmp_path_factory.mktemp("model") / "model.json"
    DPLogisticRegression(classes=[0, 1], epochs=1).fit(X, X[:, 0] > 0).save(path)
    return path


@pytest.fixture(autouse=True)
def files(folder, model):
    shutil.copy(model, folder / "model.json")
    scores = {"private": False, "records": 3, "metrics": {"accuracy": 0.5}}
    scores["model_sha256"] = hashlib.sha256(Path(model).read_bytes()).hexdigest()
    Path("scores.json").write_text(json.dumps(scores))


def run(*words, **more):
    return call("export", *words, **more)


def filled(name):
    """Fill in a template as somebody in a hurry does."""
    text = Path(name).read_text()
    text = text.replace('publication_date = ""', "publication_date = 2026-11-02")
    text = text.replace('release_type = ""', 'release_type = "One release"')
    text = text.replace('data_source_type = ""', 'data_source_type = "Static"')
    text = text.replace('[""]', '["me"]').replace('\nurl_slug = ""', '\nurl_slug = "mine"')
    Path(name).write_text(text.replace(' = ""', ' = "words"'))


def test_a_template_is_filled_in_and_becomes_an_entry():
    assert run("registry", "--template", "d.toml").stdout == "Wrote d.toml\n"
    filled("d.toml")
    words = ("registry", "model.json", "--details", "d.toml", "--out", "entry.yaml")
    assert run(*words).stdout == "Wrote entry.yaml\n"
    values = yaml.safe_load(Path("entry.yaml").read_text())
    assert values["url_slug"] == "mine"
    assert values["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 1.0


def test_what_is_missing_is_listed_and_nothing_is_written():
    words = ("export", "registry", "model.json", "--out", "entry.yaml")
    assert "deployment.basic.intended_use" in refusal(*words)
    run("registry", "--template", "d.toml")
    said = refusal(*words, "--details", "d.toml")
    assert "missing: url_slug, deployment.basic.name" in said
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
def test_arguments_that_do_not_go_together_are_refused(words, says):
    before = Path("scores.json").read_text()
    assert says in refusal("export", "registry", *words)
    assert Path("scores.json").read_text() == before


def test_a_model_card_includes_what_it_is_given():
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


def test_a_bill_of_materials():
    assert run("cyclonedx", "model.json", "--out", "bom.json").stdout == "Wrote bom.json\n"
    assert json.loads(Path("bom.json").read_text())["specVersion"] == "1.6"
    words = ("cyclonedx", "model.json", "--out", "bom.json", "--evaluation", "scores.json")
    warnings = ["The evaluation is not private, and is in the file"]
    assert answer("export", *words) == {"written": "bom.json", "warnings": warnings}
    assert "performanceMetrics" in Path("bom.json").read_text()


@pytest.mark.parametrize("verb", ["registry", "model-card", "cyclonedx"])
def test_nothing_is_written_about_what_is_no_model(verb):
    Path("model.json").write_text("{}")
    words = ("export", verb, "model.json", "--out")
    assert "not a usable model file" in refusal(*words, "out")
    assert not Path("out").exists()
    assert "there is no such folder" in refusal(*words, "a/b")
