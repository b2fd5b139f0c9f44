"""Run many cells, one after the other or in parallel, and never twice.

A cell is one function call with its parameters and its seed. Results do not depend on how
many processes there are: seeds are in the cells, and each runs with one thread of linear
algebra, whose sums would otherwise depend on the number of threads.
"""

import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from dpscd.errors import ParameterError
from dpscd_experiments.cells import Cell, Outcome, described, execute
from dpscd_experiments.provenance import provenance
from dpscd_experiments.store import Row, Store

_DIED = "its process died: it was killed, crashed, or could not import the function"

Ends = Generator[tuple[Cell, Outcome], None, None]


def run(
    cells: Iterable[Cell],
    store: Store,
    *,
    processes: int = 1,
    progress: bool | None = None,
    title: str = "cells",
) -> Counter[str]:
    """Run the cells that the store does not have yet, and store their rows one by one.

    A cell that fails is stored as failed with its error, and the others go on; it runs again
    next time. After Ctrl-C, which is raised on, all cells that had finished are stored.
    Processes are spawned, so a script needs ``if __name__ == "__main__":``. Returns how many
    were stored before, and how many ended how.
    """
    if processes < 1:
        raise ParameterError(f"processes={processes!r} must be at least 1.")
    unique = {cell.key: cell for cell in cells}
    known = store.status()
    waiting = [cell for key, cell in unique.items() if known.get(key) != "ok"]
    ends: Counter[str] = Counter()
    outcomes = (
        ((cell, execute(cell)) for cell in waiting)
        if processes == 1
        else _in_parallel(waiting, processes)
    )
    # Closed at once when interrupted, not when the traceback is forgotten.
    with closing(outcomes), progress_bar(title, len(waiting), progress) as advance:
        for cell, outcome in outcomes:
            store.append(_rows(cell, outcome))
            ends[outcome.status] += 1
            advance(ends)
    return ends + Counter(stored=len(unique) - len(waiting))


def _rows(cell: Cell, outcome: Outcome) -> list[Row]:
    common = {
        "cell": cell.key,
        "rows": len(outcome.points),
        **cell.columns(),
        "status": outcome.status,
        "message": outcome.message,
        "seconds": outcome.seconds,
        **{f"prov.{name}": value for name, value in provenance().items()},
    }
    return [
        {**common, "metric": metric, "at": at, "value": value}
        for metric, at, value in outcome.points
    ]


@contextmanager
def progress_bar(
    title: str, total: int, shown: bool | None
) -> Iterator[Callable[[Counter[str]], None]]:
    """Show how far a run is, by default on a terminal, and yield what moves the bar on.

    It takes counts of what ended how, of which 'failed' and 'skipped' are shown.
    """
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


def _in_parallel(cells: Sequence[Cell], processes: int) -> Ends:
    """Run cells in several processes, and yield them with their outcomes as they end.

    When a process dies, the cells that were running are tried once more, each alone; the one
    that kills its process again has failed.
    """
    waiting = list(reversed(cells))
    suspects: list[Cell] = []
    while waiting:
        # A pool with a dead process is of no use any more: go on with a new one.
        with _pool(min(processes, len(waiting))) as pool:
            yield from _use(pool, waiting, suspects, processes)
    for cell in suspects:
        with _pool(1) as pool:
            left, again = [cell], list[Cell]()
            yield from _use(pool, left, again, 1)
        if left or again:
            yield cell, Outcome("failed", _DIED, 0.0)


def _use(
    pool: ProcessPoolExecutor, waiting: list[Cell], suspects: list[Cell], processes: int
) -> Ends:
    """Run from the end of `waiting` until nothing is left or the pool is broken."""
    running: dict[Future[Outcome], Cell] = {}
    broken = False
    while running or (waiting and not broken):
        # Never more than can run at once: those that a broken pool loses are few.
        while waiting and not broken and len(running) < processes:
            try:
                running[pool.submit(execute, waiting[-1])] = waiting[-1]
                waiting.pop()
            except BrokenProcessPool:
                broken = True
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            cell = running.pop(future)
            try:
                outcome = future.result()
            except BrokenProcessPool:
                broken = True
                suspects.append(cell)
                continue
            except Exception as error:  # the cell could not be sent to a process
                outcome = Outcome("failed", described(error), 0.0)
            yield cell, outcome


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    # Forked children inherit locked locks of Numba's and BLAS's threads: spawn.
    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_ignore_interrupts)
    try:
        yield pool
    except BaseException:
        # Ctrl-C, or the consumer is gone: do not wait for cells that nobody will store.
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    pool.shutdown()


def _ignore_interrupts() -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
