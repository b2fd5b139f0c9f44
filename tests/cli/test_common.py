"""What verbs share: errors in the words that were typed, tables that fit."""

import pickle
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from commands import call
from dpscd import DataError, ParameterError
from dpscd.cli import common
from dpscd.cli.common import in_options

TABLE = "[target]\ncolumn = 'y'\nclasses = ['a', 'b']\n[columns.x]\nkind = 'boolean'\n"


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        (0.0, "--epsilon 0"),
        ("x y", "--epsilon x y"),
        ((0.0, 1.5), "--epsilon 0 1.5"),
        (None, "--epsilon (not given)"),
        ("auto", "--epsilon (not given)"),
        (True, "--epsilon"),
        (..., "--epsilon"),
    ],
)
def test_parameters_of_an_error_are_written_as_the_options_of_the_verb(
    value, typed, monkeypatch
):
    monkeypatch.setattr(common, "_options", {"epsilon": "--epsilon"})
    error = ParameterError("{epsilon} and {bound} of {!r}", "{n}", epsilon=value, bound=2.0)
    assert in_options(error) == f"{typed} and bound 2.0 of '{{n}}'"
    assert in_options(ParameterError("{as} it=is")) == "{as} it=is"
    assert in_options(DataError("{as} it=is")) == "{as} it=is"


def test_an_error_is_pickled_whatever_its_parameters():
    error = ParameterError("{n} must be", n=lambda: None)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert [*error.parameters] == ["n"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("fit t.csv --schema s.toml --out m.json --epsilon 0", "--epsilon 0 must be"),
        ("fit t.csv --schema s.toml --out m.json --lam -1", "--lam -1 must be a number"),
        ("fit t.csv --schema s.toml --out m.json --relation add-remove", "needs --n, a"),
        ("fit t.csv --schema s.toml --out m.json --ledger b.db", "--dataset (not given)"),
        ("schema check s.toml --epsilon 1", "--n (not given) must be an integer"),
        ("budget init b.db --dataset a --epsilon 1 --delta 2", "--delta 2 must lie"),
    ],
)
def test_wrong_commands_are_answered_in_options(words, says):
    Path("s.toml").write_text(TABLE)
    pd.DataFrame({"x": [True, False] * 5, "y": ["a", "b"] * 5}).to_csv("t.csv", index=False)
    found = call(*words.split(), code=1)
    assert says in found.stderr
    assert "=" not in found.stderr


# --- tables --------------------------------------------------------------------------------


@pytest.fixture
def printed(monkeypatch, capsys):
    def call(width, *table):
        monkeypatch.setattr(common, "console", lambda: Console(width=width, highlight=False))
        common.print_table("title", *table)
        return capsys.readouterr().out.splitlines()

    return call


HEAD = ("epsilon", "noise", "lots", "lot size", "epochs", "time", "lost")
ROW = ("0.1", "22.5", "25,000", "120", "100", "under 1 s", "-0.005 to 0.043")


def test_a_table_that_does_not_fit_becomes_lines(printed):
    assert "┃ epsilon" in printed(100, HEAD, [ROW])[2]
    lines = printed(60, HEAD, [ROW])
    assert "epsilon 0.1; noise 22.5; lots 25,000" in lines[1]
    assert "lost -0.005 to 0.043" in " ".join(lines)
    assert max(map(len, lines)) <= 60


def test_one_long_column_is_folded_and_others_are_whole(printed):
    lines = printed(60, ("column", "effect"), [("a long name " * 6, "+0.9228")])
    assert any("+0.9228" in line for line in lines)
    assert lines[1].startswith("┏")
    assert max(map(len, lines)) <= 60
