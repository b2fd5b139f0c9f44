import json
from dataclasses import replace

import pytest

from commands import call
from dpscd.audit import front_door
from dpscd.cli import audit as audit_verb
from dpscd.estimators.registry import MODELS

pytest.importorskip("matplotlib")


def run(*arguments, **more):
    return call("audit", *arguments, **more)


@pytest.mark.full
def test_json_has_the_numbers_of_each_model_and_a_figure_is_written(tmp_path):
    file = tmp_path / "figure.png"
    options = ("--through", "core", "--trials", "200", "--seed", "0", "--json")
    result = run(*options, "--out", str(file))
    models = json.loads(result.stdout)["models"]
    assert json.loads(result.stdout)["doors"] == []
    assert list(models) == [kind.name for kind in MODELS if kind.task != "counts"]
    for values in models.values():
        assert values["epsilon_claimed"] == 1.0
        assert values["epsilon_lower"] < 1.0
        assert values["confidence"] == 0.95
        assert values["trials"] == 200
        assert values["kind"] == "white-box"
        assert values["black_box"]["kind"] == "black-box"
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.full
def test_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("--model", "svm", "--trials", "200", "--epsilon", "2", "--seed", "0")
    assert "SVM, add-remove" in result.stdout
    assert "table: SVM, private bounds" in result.stdout
    assert "white-box" in result.stdout
    assert "black-box" in result.stdout
    assert "ridge" not in result.stdout
    assert (tmp_path / "audit.png").exists()


@pytest.mark.full
def test_canaries_can_be_persons_in_any_relation(tmp_path):
    options = ("--model", "logistic", "--through", "core", "--trials", "200", "--seed", "0")
    options += ("--person-rows", "3", "--relation", "add-remove", "--out")
    found = run(*options, str(tmp_path / "a.png"), "--json")
    (values,) = json.loads(found.stdout)["models"].values()
    assert values["person_rows"] == values["black_box"]["person_rows"] == 3
    assert values["relation"] == "add-remove"
    said = run(*options, str(tmp_path / "a.png"))
    assert "Audited: add-remove, canaries are persons with 3 rows each" in said.stdout


@pytest.mark.full
def test_persons_go_through_the_doors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--model", "svm", "--through", "table", "--trials", "200", "--seed", "0")
    found = run(*options, "--person-rows", "2", "--json")
    (door,) = json.loads(found.stdout)["doors"]
    assert door["name"] == "table: SVM, private bounds, persons of 2"
    assert door["person_rows"] == 2


def test_a_person_without_rows_is_refused():
    run("--person-rows", 0, code=2)


@pytest.mark.full
def test_without_matplotlib_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(audit_verb, "_can_plot", lambda: False)
    result = run("--model", "ridge", "--through", "core", "--trials", "200", "--seed", "0")
    assert "pip install matplotlib" in result.stderr
    run("--model", "ridge", "--trials", 200, "--out", "figure.png", code=2)
    assert not any(tmp_path.iterdir())


def test_a_wrong_parameter_is_one_line():
    result = run("--epsilon", -1, "--trials", 200, code=2)
    assert result.stderr.startswith("Error: --epsilon -1 must be")


def test_a_figure_without_a_folder_is_refused_before_the_audit(tmp_path):
    assert "no folder" in run("--out", tmp_path / "none" / "a.png", code=2).stderr


@pytest.mark.full
def test_the_doors_need_no_figure_and_say_what_each_release_showed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--through", "estimator", "--model", "ridge", "--trials", "200", "--seed", "0")
    result = run(*options, "--json")
    found = json.loads(result.stdout)
    assert found["models"] == {}
    assert found["figure"] is None
    assert not any(tmp_path.iterdir())
    assert [door["name"] for door in found["doors"]] == [
        "ridge, sparse",
        "ridge, standardised, pilot, intercept",
        "ridge, replace-one",
        "ridge, replace-one, sparse, persons of 5",
    ]
    for door in found["doors"]:
        assert door["trials"] == 80
        assert door["epsilon_lower"] <= door["epsilon_claimed"] == 1.0
        assert {"what", "part", "epsilon_claimed", "epsilon_lower"} <= set(door["releases"][0])


@pytest.mark.full
def test_a_release_above_its_claim_is_named_and_ends_in_exit_code_1(monkeypatch):
    plain = front_door.audit_door

    def exaggerated(*arguments, **options):
        result = plain(*arguments, **options)
        wrong = replace(result.releases[0], epsilon_lower=9.0)
        return replace(result, releases=(wrong, *result.releases[1:]))

    monkeypatch.setattr("dpscd.audit.audit_door", exaggerated)
    words = "--through table --model ridge --trials 200 --seed 0"
    result = run(*words.split(), code=1)
    assert "EXCEEDED" in result.stdout
    assert "moments" in result.stdout
