import json

import pytest
from typer.testing import CliRunner

from dpscd.cli import audit as audit_verb
from dpscd.cli.app import app

pytest.importorskip("matplotlib")


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *arguments])


def test_json_has_the_numbers_of_each_model_and_a_figure_is_written(tmp_path):
    file = tmp_path / "figure.png"
    result = run("--trials", "200", "--seed", "0", "--json", "--out", str(file))
    assert result.exit_code == 0
    models = json.loads(result.stdout)["models"]
    assert list(models) == ["ridge", "logistic", "svm"]
    for values in models.values():
        assert values["epsilon_claimed"] == 1.0
        assert values["epsilon_lower"] < 1.0
        assert values["confidence"] == 0.95
        assert values["trials"] == 200
        assert values["kind"] == "white-box"
        assert values["black_box"]["kind"] == "black-box"
    assert file.read_bytes().startswith(b"\x89PNG")


def test_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("--model", "svm", "--trials", "200", "--epsilon", "2", "--seed", "0")
    assert result.exit_code == 0
    assert "white-box" in result.stdout
    assert "black-box" in result.stdout
    assert "ridge" not in result.stdout
    assert (tmp_path / "audit.png").exists()


def test_without_matplotlib_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(audit_verb, "_can_plot", lambda: False)
    result = run("--model", "ridge", "--trials", "200", "--seed", "0")
    assert result.exit_code == 0
    assert "pip install 'dpscd[plot]'" in result.stderr
    refused = run("--model", "ridge", "--trials", "200", "--out", "figure.png")
    assert refused.exit_code == 2
    assert not any(tmp_path.iterdir())


def test_a_wrong_parameter_is_one_line():
    result = run("--epsilon", "-1", "--trials", "200")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: epsilon=-1.0 must be")


def test_a_figure_without_a_folder_is_refused_before_the_audit(tmp_path):
    result = run("--out", str(tmp_path / "none" / "a.png"))
    assert result.exit_code == 2
    assert "no folder" in result.stderr
