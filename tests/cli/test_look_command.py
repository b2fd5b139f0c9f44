"""``dpscd look``: for the owner's eyes only, and never a part of what is made after it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpscd
from commands import SCHEMA, answer, call
from dpscd import Ledger, LedgerError, ParameterError
from dpscd.preprocessing.looking import NOT_PRIVATE

AGED = SCHEMA.partition("\n[columns.sex]")[0]
LOOK = ("look", "t.csv", "--schema", "s.toml")
FIT = ("fit", "t.csv", "--schema", "s.toml", "--seed", 1)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(AGED)
    age = np.random.default_rng(0).integers(1, 100, 2000)
    ill = np.where(age > 60, "Yes", "no")
    pd.DataFrame({"age": age, "ill": ill}).to_csv("t.csv", index=False)
    return call


def test_warnings_stand_first_and_last_and_the_exit_code_says_nothing(run):
    lines = run(*LOOK).stdout.splitlines()
    assert lines[0] == lines[-1] == NOT_PRIVATE
    assert any('rename = { "Yes" = "yes" }' in line for line in lines)
    assert any("read_from_data = true" in line for line in lines)
    run(*LOOK, "--fail", code=1)
    Path("s.toml").write_text(AGED.replace('"yes"', '"Yes"'))
    good = run(*LOOK, "--fail").stdout
    assert "No likely mistake was found." in good


def test_json_must_be_asked_for_by_name(run):
    found = run(*LOOK, "--json", code=1)
    assert found.stdout == ""
    assert "--not-private" in found.stderr
    assert "goes with --json" in run(*LOOK, "--not-private", code=1).stderr
    values = answer(*LOOK, "--not-private")
    assert values["warning"] == NOT_PRIVATE
    assert values["records"] == 2000
    assert values["columns"][0]["column"] == "ill"
    assert len(values["hints"]) == 1


def test_a_model_trained_after_a_look_is_the_one_trained_before(run, tmp_path):
    run(*FIT, "--out", "before.json")
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    run(*LOOK)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
    run(*FIT, "--out", "after.json")
    assert Path("after.json").read_bytes() == Path("before.json").read_bytes()


def test_a_budget_may_forbid_it(run):
    budget = ("budget", "init", "b.db", "--epsilon", 1, "--delta", 1e-6, "--dataset")
    run(*budget, "open")
    shown = run(*budget, "closed", "--forbid-look").stdout
    assert "closed: dpscd look is forbidden." in shown
    run(*LOOK, "--ledger", "b.db", "--dataset", "open")
    head = Ledger("b.db").verify().head
    found = run(*LOOK, "--ledger", "b.db", "--dataset", "closed", code=1)
    assert found.stdout == ""
    assert "made with --forbid-look" in found.stderr
    found = run(*LOOK, "--ledger", "b.db", "--dataset", "other", code=1)
    assert "no budget for dataset='other'" in found.stderr
    assert "must be given together" in run(*LOOK, "--ledger", "b.db", code=1).stderr
    assert "must be given together" in run(*LOOK, "--dataset", "open", code=1).stderr
    found = dpscd.look("t.csv", "s.toml", ledger="b.db", dataset="open")
    assert found.records == 2000
    with pytest.raises(LedgerError, match="--forbid-look: its records are not looked at"):
        dpscd.look("t.csv", "s.toml", ledger="b.db", dataset="closed")
    with pytest.raises(ParameterError, match="must be given together"):
        dpscd.look("t.csv", "s.toml", ledger="b.db")
    assert Ledger("b.db").verify().head == head


@pytest.mark.full
def test_few_records_with_many_features_are_said_to_be_of_no_use(run):
    plan = run("plan", "--n", 20, "--d", 83, "--epsilon", 1)
    assert "the model will be mostly noise" in plan.stderr
    assert run("plan", "--n", 2000, "--d", 83).stderr == ""
    values = answer("plan", "--n", 20, "--d", 83, "--epsilon", 1)
    assert values[0]["expected"]["mostly_noise"] is True
    pd.read_csv("t.csv")[:20].to_csv("few.csv", index=False)
    words = ("fit", "few.csv", "--schema", "s.toml", "--epsilon", 0.1, "--out", "few.json")
    assert "the model will be mostly noise" in run(*words).stderr
