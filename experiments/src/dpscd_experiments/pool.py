"""Cells in parallel: processes that may die without taking the others' results along."""

import multiprocessing
import signal
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from dpscd_experiments.cells import Cell, Outcome, described, execute

__all__ = ["in_parallel"]

_DIED = "its process died: it was killed, crashed, or could not import the function"

Ends = Generator[tuple[Cell, Outcome], None, None]


def in_parallel(cells: Sequence[Cell], processes: int) -> Ends:
    """Run cells in several processes."""
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
