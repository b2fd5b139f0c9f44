"""What owners add to the page: how good the model is, and what it is for."""

import hashlib
import json
from pathlib import Path

import pytest
from model_files import EVIL, ridge

from commands import call, refusal
from dpscd.errors import ParameterError
from dpscd.report.about import about_section, read_about
from dpscd.report.model_page import write_report

PLAIN = {"private": False, "records": 16281, "metrics": {"R2": 0.85125, EVIL: 1.0}}
NOISY = {
    "private": True, "metric": "accuracy", "records": 1200, "epsilon": 0.5, "delta": 1e-5,
    "relation": "zero-out", "value": 0.85, "low": 0.83, "high": 0.87, "level": 0.95,
}  # fmt: skip


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ridge().save("model.json")
    return "model.json"


def evaluated(file, values):
    """Write an evaluation of the model in a file."""
    digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    Path("e.json").write_text(json.dumps({**values, "model_sha256": digest}))


def page(file, **more):
    write_report(file, "page.html", **more)
    return Path("page.html").read_text()


def test_without_them_nothing_is_said(file):
    found = page(file)
    assert 'id="quality"' not in found
    assert 'id="about"' not in found


@pytest.mark.full
def test_an_evaluation_comes_with_its_privacy(file):
    evaluated(file, PLAIN)
    found = page(file, evaluation="e.json")
    assert 'href="#quality"' in found
    assert "0.8512" in found or "0.8513" in found
    assert "On 16,281 records" in found
    assert "These numbers are not private" in found
    assert "Hand the page only to those who may know them" in found
    assert EVIL not in found
    evaluated(file, NOISY)
    found = page(file, evaluation="e.json")
    assert "(0.5, 1e-05)-differentially private for the test records" in found
    assert "0.8300 to 0.8700" in found
    assert "not private" not in found.partition('id="quality"')[2].partition("</section>")[0]


def test_an_evaluation_of_another_model_is_refused(file):
    Path("e.json").write_text(json.dumps({**PLAIN, "model_sha256": "0" * 64}))
    with pytest.raises(ParameterError, match=r"not of model\.json, but of another model"):
        page(file, evaluation="e.json")
    for words in (["model-card"], ["cyclonedx"]):
        command = ["export", *words, file, "--out", "x.out", "--evaluation", "e.json"]
        assert "another model" in call(*command, code=1).stderr
    Path("e.json").write_text(json.dumps(PLAIN))
    with pytest.raises(ParameterError, match="is not what dpscd evaluate --json writes"):
        page(file, evaluation="e.json")
    evaluated(file, PLAIN)
    assert 'id="quality"' in page(file, evaluation="e.json")


def test_what_the_owner_says_is_shown_as_the_owners(file):
    Path("a.toml").write_text(f"owner = {json.dumps(EVIL)}\npurpose = 'To plan buses.'\n")
    found = page(file, about="a.toml")
    assert found.index("<dt>Purpose</dt><dd>To plan buses.</dd>") < found.index(
        "<dt>Owner</dt>"
    )
    assert EVIL not in found
    assert "it does not follow from the model" in found
    assert "Contact" not in about_section({"purpose": "x"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("owner = ", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        ("", "is empty"),
        ("bos = 'x'", "has 'bos', which is none of purpose, owner, contact, legal_basis"),
        ("owner = 3", "owner in a.toml must be a text"),
        ("owner = ' '", "owner in a.toml must be a text"),
        (f"owner = '{'x' * 2001}'", "1 to 2,000 signs"),
    ],
)
def test_other_files_are_refused(tmp_path, text, says):
    (tmp_path / "a.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ParameterError, match=says):
        read_about(tmp_path / "a.toml")


def test_the_command_takes_both(file):
    evaluated(file, PLAIN)
    Path("a.toml").write_text("contact = 'us@example.org'")
    words = ["report", file, "--out", "p.html", "--evaluation", "e.json", "--about", "a.toml"]
    call(*words)
    shown = Path("p.html").read_text()
    assert "us@example.org" in shown
    assert 'id="quality"' in shown
    Path("e.json").write_text("{}")
    assert "is not what dpscd evaluate --json writes" in refusal(*words)
