"""Model cards: what hubs read, what people read, and names that do no harm."""

import pytest
import yaml
from exported import DETAILS, MODELS, NOW, examined
from markdown_it import MarkdownIt
from model_files import ridge

from dpscd.documents import described as module
from dpscd.documents.added import Evaluation, Measure, read_details
from dpscd.documents.write import model_card
from dpscd.errors import ModelFileError

SECTIONS = ["Model details", "Intended use", "Privacy", "Training data", "Evaluation"]
SECTIONS += ["Limits", "How to load"]


def parts(text):
    empty, front, body = text.split("---\n", 2)
    assert empty == ""
    return yaml.safe_load(front), body


def headings(body, tag="h2"):
    tokens = MarkdownIt().parse(body)
    return [
        tokens[k + 1].content
        for k, x in enumerate(tokens)
        if x.type == "heading_open" and x.tag == tag
    ]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_front_matter_and_all_sections(name, tmp_path):
    found = examined(name, tmp_path)
    front, body = parts(model_card(found))
    assert front["library_name"] == "dpscd"
    task = "regression" if found.regression else "classification"
    assert front["pipeline_tag"] == f"tabular-{task}"
    assert ("differential-privacy" in front["tags"]) == found.card.private
    assert headings(body) == SECTIONS
    assert len(headings(body, "h1")) == 1
    assert found.digest in body
    assert 'dpscd.load("model file.json")' in body


def test_the_claim_and_how_to_check_it(tmp_path):
    found = examined("table", tmp_path)
    body = parts(model_card(found))[1]
    assert f"| Claim | (1, {found.card.delta:.3g})-differential privacy |" in body
    assert "dpscd verify 'model file.json'" in body
    assert "on 2030-01-02: they come to" in body
    assert "| `age` | number, 6 intervals | declared | `between 0 and 120` |" in body
    assert "estimated privately" in body


def test_a_model_without_privacy_says_so_first(tmp_path):
    body = parts(model_card(examined("not private", tmp_path)))[1]
    assert body.index("This model is not private") < body.index("## Model details")
    assert "**None.**" in body
    assert "dpscd verify" not in body


def test_details_are_included(tmp_path):
    path = tmp_path / "d.toml"
    path.write_text(DETAILS.replace("Who is retired", "Who\\nis retired"))
    body = parts(model_card(examined("table", tmp_path), None, read_details(path)))[1]
    assert headings(body, "h1") == ["Who is retired"]
    assert "| Published by | Office, Other: office |" in body
    assert "Teaching." in body
    assert "Not stated" not in body
    assert "Not stated" in model_card(examined("table", tmp_path))


@pytest.mark.parametrize("private", [False, True])
def test_an_evaluation_comes_with_its_status(private, tmp_path):
    measure = Measure("accuracy", 0.85123, *((0.83, 0.87) if private else ()))
    scores = Evaluation((measure,), "12 records", private, "What it is.", "0" * 64)
    body = parts(model_card(examined("table", tmp_path), scores))[1]
    shown = "0.8512 (0.8300 to 0.8700)" if private else "0.8512"
    assert (
        f"On 12 records:\n\n| measure | value |\n| --- | --- |\n| accuracy | {shown} |" in body
    )
    assert "**What it is.**" in body


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    ridge().save(path)
    load = module.load

    def load_and_change(name):
        found = load(name)
        path.write_text(path.read_text() + "\n")
        return found

    monkeypatch.setattr(module, "load", load_and_change)
    with pytest.raises(ModelFileError, match="changed while it was read"):
        module.described(path, NOW)
