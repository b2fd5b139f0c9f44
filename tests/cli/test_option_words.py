"""What verbs say of wrong options is in the words that were typed."""

import inspect
from pathlib import Path
from typing import get_type_hints

import pandas as pd
import pytest

from commands import call
from dpscd.cli.evaluate import evaluate
from dpscd.cli.option_words import OPTIONS, SCORE_OPTIONS, in_options

TABLE = "[target]\ncolumn = 'y'\nclasses = ['a', 'b']\n[columns.x]\nkind = 'boolean'\n"


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        ("epsilon=0.0 must be", "--epsilon 0 must be"),
        ("n=5 goes with relation='add-remove': n", "--n 5 goes with --relation add-remove: n"),
        ("with n=5 and", "with n=5 and"),
        ("ledger=None and dataset='x y' must", "--ledger (not given) and --dataset x y must"),
        ("it needs n=, a number; give classes=.", "it needs --n, a number; give --classes."),
        ("Train with inference=True.", "Train with --inference."),
        ("y_bounds=(0.0, 1.5) are", "--bounds 0 1.5 are"),
        ("lam=1.5. The rest", "--lam 1.5. The rest"),
        ("no such_n=5, `epsilon=1`, x.n=3", "no such_n=5, `epsilon=1`, x.n=3"),
        ("(float('inf') trains)", "(inf trains)"),
    ],
)
def test_parameters_become_options(python, typed):
    assert in_options(python) == typed


def test_every_option_is_one():
    text = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text()
    for option in {*OPTIONS.values(), *SCORE_OPTIONS.values()}:
        assert f"`{option}`" in text, option
    assert {"private_epsilon", "private_delta"} <= set(get_type_hints(evaluate))
    assert "SCORE_OPTIONS" in inspect.getsource(evaluate)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("fit t.csv --schema s.toml --out m.json --epsilon 0", "--epsilon 0 must be"),
        ("fit t.csv --schema s.toml --out m.json --lam -1", "--lam -1 must be a number"),
        ("fit t.csv --schema s.toml --out m.json --relation add-remove", "needs --n, a"),
        ("fit t.csv --schema s.toml --out m.json --ledger b.db", "--dataset (not given)"),
        ("schema check s.toml --epsilon 1", "--n (not given) must be an integer"),
        ("budget init b.db --dataset a --epsilon 1 --delta 2", "--delta 2 must lie"),
        ("plan --n 9 --d 3 --largest-class 3", "--largest-class 3 must be"),
    ],
)
def test_wrong_commands_are_answered_in_options(words, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(TABLE)
    pd.DataFrame({"x": [True, False] * 5, "y": ["a", "b"] * 5}).to_csv("t.csv", index=False)
    found = call(*words.split(), code=1)
    assert says in found.stderr
    assert "=" not in found.stderr


def test_predictions_are_not_called_what_they_are_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = call("predict", "m.json", "t.csv", "--out", "a/p.XLSX", code=1)
    assert "--out p.XLSX: predictions are written as CSV or Parquet, not as .xlsx" in (
        found.stderr
    )
    assert "call it p.csv" in found.stderr
