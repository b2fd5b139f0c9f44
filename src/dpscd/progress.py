"""Progress on stderr: public steps, or a word; never times or counts of records.

A terminal is often recorded: the shown text is the same for any two tables of one plan.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

_FRAMES = 100  # at most so many are drawn
_LONG = 2.0  # seconds; what is expected to take less has no bar

_shown = False  # whether a bar is there, in which all others are steps


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether a stream is a terminal; it is None in programs without a console."""
    return stream is not None and stream.isatty()


@contextmanager
def step_bar(
    steps: int, what: str = "training", *, asked: bool = True, seconds: float = 0.0
) -> Iterator[Callable[[int], None] | None]:
    """Show on stderr how many of a public number of steps are done.

    Yields a function of the number of steps done since its last call. Nothing is shown, and
    None is yielded, unless a bar is `asked` for, or stderr is a terminal and the steps are
    expected to take long; nor inside of another bar.

    Guarantee: what is written depends on the arguments and on the numbers that the callable is
    given, in their order, and not on when.
    Requires: those numbers are public.
    """
    global _shown
    if _shown or not (asked or (seconds >= _LONG and is_terminal(sys.stderr))):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    _shown = True
    try:
        with Progress(
            what,
            BarColumn(),
            MofNCompleteColumn(),
            "steps",
            console=Console(stderr=True),
            auto_refresh=False,  # frames are drawn when steps are done, never by a clock
            redirect_stdout=False,  # what the program prints meanwhile stays where it was sent
            redirect_stderr=False,
        ) as bar:
            task = bar.add_task(what, total=steps)
            drawn = 0

            def advance(done: int) -> None:
                nonlocal drawn
                bar.update(task, advance=done)
                frame = int(bar.tasks[0].completed) * _FRAMES // max(1, steps)
                if frame > drawn:
                    drawn = frame
                    bar.refresh()

            yield advance
    finally:
        _shown = False


def say_compiling(stream: IO[str] | None, *, shown: bool) -> None:
    """Explain why the first fit after an installation takes longer.

    Only a terminal shows it, unless `shown`.
    """
    if stream is not None and (shown or stream.isatty()):
        line_of_its_own = "\n" if _shown else ""
        stream.write(f"{line_of_its_own}dpscd: compiling for the first time ...\n")
        stream.flush()


@contextmanager
def waiting(text: str, stream: IO[str] | None = None) -> Iterator[None]:
    """Show a word on a terminal, stderr by default, while the block runs, then remove it.

    The word does not move: a sign that moved with the records would count them, one that moved
    with the clock would time them. Other streams show nothing.
    """
    stream = sys.stderr if stream is None else stream
    if _shown or stream is None or not stream.isatty():
        yield
        return
    line = f"{text} ..."
    stream.write(line)
    stream.flush()
    try:
        yield
    finally:
        stream.write(f"\r{' ' * len(line)}\r")
        stream.flush()
