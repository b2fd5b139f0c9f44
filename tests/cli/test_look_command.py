"""``dpscd look``: for the owner's eyes only, and never a part of what is made after it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpscd
from commands import SCHEMA, answer, call, refusal
from dpscd import Ledger, LedgerError, ParameterError
from dpscd.preprocessing.looking import NOT_PRIVATE

AGED = SCHEMA.partition("\n[columns.sex]")[0]
LOOK = ("look", "t.csv", "--schema", "s.toml")
FIT = ("fit", "t.csv", "--schema", "s.toml", "--seed", 1)


@pytest.fixture(autouse=True)
def table(folder):
    del folder
    Path("s.toml").write_text(AGED)
    age = np.random.default_rng(0).integers(1, 100, 2000)
    ill = np.where(age > 60, "Yes", "no")
    pd.DataFrame({"age": age, "ill": ill}).to_csv("t.csv", index=False)


def test_warnings_stand_first_and_last_and_the_exit_code_says_nothing():
    lines = call(*LOOK).stdout.splitlines()
    assert lines[0] == lines[-1] == NOT_PRIVATE
    assert any('rename = { "Yes" = "yes" }' in line for line in lines)
    assert any("read_from_data = true" in line for line in lines)
    call(*LOOK, "--fail", code=1)
    Path("s.toml").write_text(AGED.replace('"yes"', '"Yes"'))
    good = call(*LOOK, "--fail").stdout
    assert "No likely mistake was found." in good


def test_json_must_be_asked_for_by_name():
    assert "--not-private" in refusal(*LOOK, "--json")
    assert "goes with --json" in refusal(*LOOK, "--not-private")
    values = answer(*LOOK, "--not-private")
    assert values["warning"] == NOT_PRIVATE
    assert values["records"] == 2000
    assert values["columns"][0]["column"] == "ill"
    assert len(values["hints"]) == 1


def test_a_model_trained_after_a_look_is_the_one_trained_before(tmp_path):
    call(*FIT, "--out", "before.json")
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    call(*LOOK)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
    call(*FIT, "--out", "after.json")
    assert Path("after.json").read_bytes() == Path("before.json").read_bytes()


def test_a_budget_may_forbid_it():
    budget = ("budget", "init", "b.db", "--epsilon", 1, "--delta", 1e-6, "--dataset")
    call(*budget, "open")
    shown = call(*budget, "closed", "--forbid-look").stdout
    assert "closed: dpscd look is forbidden." in shown
    charged = (*LOOK, "--ledger", "b.db", "--dataset")
    call(*charged, "open")
    head = Ledger("b.db").verify().head
    assert "made with --forbid-look" in refusal(*charged, "closed")
    assert "no budget for dataset='other'" in refusal(*charged, "other")
    assert "must be given together" in refusal(*LOOK, "--ledger", "b.db")
    assert "must be given together" in refusal(*LOOK, "--dataset", "open")
    found = dpscd.look("t.csv", "s.toml", ledger="b.db", dataset="open")
    assert found.records == 2000
    with pytest.raises(LedgerError, match="--forbid-look: its records are not looked at"):
        dpscd.look("t.csv", "s.toml", ledger="b.db", dataset="closed")
    with pytest.raises(ParameterError, match="must be given together"):
        dpscd.look("t.csv", "s.toml", ledger="b.db")
    assert Ledger("b.db").verify().head == head


@pytest.mark.full
def test_few_records_with_many_features_are_said_to_be_of_no_use():
    plan = call("plan", "--n", 20, "--d", 83, "--epsilon", 1)
    assert "the model will be mostly noise" in plan.stderr
    assert call("plan", "--n", 2000, "--d", 83).stderr == ""
    (one,) = answer("plan", "--n", 20, "--d", 83, "--epsilon", 1)
    assert one["expected"]["mostly_noise"] is True
    pd.read_csv("t.csv")[:20].to_csv("few.csv", index=False)
    words = ("fit", "few.csv", "--schema", "s.toml", "--epsilon", 0.1, "--out", "few.json")
    assert "the model will be mostly noise" in call(*words).stderr
