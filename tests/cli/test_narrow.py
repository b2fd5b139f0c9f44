"""Tables stay readable where a terminal is narrow."""

import pytest
from rich.console import Console

from dpscd.cli import common


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
