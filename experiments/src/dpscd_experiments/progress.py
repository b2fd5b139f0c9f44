"""The progress bar of long runs."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(
    title: str, total: int, shown: bool | None
) -> Iterator[Callable[[Counter[str]], None]]:
    """Show how far a run is, and yield what moves the bar on by one."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    hidden = not (console.is_terminal if shown is None else shown)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        "left",
        TimeRemainingColumn(),
        TextColumn("{task.fields[trouble]}"),
    )
    with Progress(
        *columns, console=console, disable=hidden, speed_estimate_period=3600.0
    ) as bar:
        task = bar.add_task(title, total=total, trouble="")

        def advance(ends: Counter[str]) -> None:
            trouble = [f"{ends[end]} {end}" for end in ("failed", "skipped") if ends[end]]
            bar.update(task, advance=1, trouble=", ".join(trouble))

        yield advance
