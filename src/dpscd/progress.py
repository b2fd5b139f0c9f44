"""Progress display: public steps, or a word; never times or counts of records.

A terminal is often recorded. So frames are drawn when steps are done, never by a clock: the
shown text is the same for any two tables of one plan.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

_FRAMES = 100  # at most so many are drawn


@contextmanager
def step_bar(steps: int) -> Iterator[Callable[[int], None]]:
    """Show on stderr how many of a public number of steps are done.

    Yields a function of the number of steps done since its last call.

    Guarantee: what is written depends on `steps` and on the numbers that the callable is
    given, in their order, and not on when.
    Requires: those numbers are public.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    columns = ("training", BarColumn(), MofNCompleteColumn(), "steps")
    console = Console(stderr=True)
    # What the program prints meanwhile stays where it was sent.
    with Progress(
        *columns,
        console=console,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bar:
        task = bar.add_task("training", total=steps)
        drawn = 0

        def advance(done: int) -> None:
            nonlocal drawn
            bar.update(task, advance=done)
            frame = int(bar.tasks[0].completed) * _FRAMES // max(1, steps)
            if frame > drawn:
                drawn = frame
                bar.refresh()

        yield advance


def say_compiling(stream: IO[str] | None, *, shown: bool) -> None:
    """Explain why the first fit after an installation takes longer.

    Only a terminal shows it, unless `shown`; `stream` is None in programs without a console.
    """
    if stream is not None and (shown or stream.isatty()):
        line_of_its_own = "\n" if shown else ""  # a bar may stand there
        stream.write(f"{line_of_its_own}dpscd: compiling for the first time ...\n")
        stream.flush()


@contextmanager
def waiting(text: str, stream: IO[str]) -> Iterator[None]:
    """Show a word on a terminal while the block runs, then remove it.

    The word does not move: a sign that moved with the records would count them, one that moved
    with the clock would time them. Other streams show nothing.
    """
    if not stream.isatty():
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
