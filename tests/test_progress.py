"""What is shown while people wait tells neither times nor numbers of records."""

import io
import sys
import time

import pytest

from dpscd.progress import say_compiling, step_bar, waiting


class Terminal(io.StringIO):
    def isatty(self):
        return True


def recorded(monkeypatch, done, pause=0.0, steps=1000, **asked):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    with step_bar(steps, **asked) as report:
        for number in done:
            time.sleep(pause)
            report(number)
    return screen.getvalue()


@pytest.mark.full
def test_a_recorded_bar_is_the_same_however_long_it_took(monkeypatch):
    quick = recorded(monkeypatch, [100] * 10)
    slow = recorded(monkeypatch, [100] * 10, pause=0.15)
    assert quick == slow
    assert "training" in quick
    assert "1000/1000" in quick
    assert ":" not in quick


@pytest.mark.full
def test_many_small_steps_are_drawn_a_hundred_times(monkeypatch):
    found = recorded(monkeypatch, [1] * 20_000, steps=20_000)
    assert found.count("training") <= 102
    assert "20000/20000" in found


@pytest.mark.parametrize(
    ("terminal", "seconds", "shown"),
    [(True, 2.0, True), (True, 1.9, False), (False, 9.0, False)],
)
def test_a_bar_that_nobody_asked_for_is_for_long_fits_on_a_terminal(
    terminal, seconds, shown, monkeypatch
):
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with step_bar(9, asked=False, seconds=seconds) as advance:
        assert (advance is not None) == shown
    assert bool(stream.getvalue()) == shown


def test_a_bar_or_a_word_in_a_bar_is_not_shown(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    with step_bar(2, "models"), step_bar(9, "training") as inner, waiting("reading"):
        assert inner is None
    assert "training" not in sys.stderr.getvalue()
    assert "reading" not in sys.stderr.getvalue()
    with step_bar(1) as advance:
        assert advance is not None


def test_what_is_printed_under_a_bar_goes_where_it_was_sent(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr", Terminal())
    with step_bar(1):
        sys.stdout.write("printed\n")
    assert capsys.readouterr().out == "printed\n"


def test_a_word_stands_still_and_is_taken_away():
    screen = Terminal()
    with pytest.raises(ZeroDivisionError), waiting("reading", screen):
        raise ZeroDivisionError
    assert screen.getvalue() == f"reading ...\r{' ' * 11}\r"
    plain = io.StringIO()
    with waiting("reading", plain):
        pass
    assert plain.getvalue() == ""


@pytest.mark.parametrize(
    ("terminal", "shown", "lines"), [(False, False, 0), (True, False, 1), (False, True, 1)]
)
def test_compiling_is_said_on_a_terminal_or_if_asked(terminal, shown, lines):
    stream = Terminal() if terminal else io.StringIO()
    say_compiling(stream, shown=shown)
    assert stream.getvalue().count("compiling for the first time") == lines
    say_compiling(None, shown=shown)
