"""The kernel that runs a plan on given data, and the threads that share its work."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dpscd.kernels.dual import Records, StepConstants
from dpscd.kernels.lots import advance
from dpscd.kernels.pack import Pack, empty_pack, fill_pack, pack_rows
from dpscd.kernels.packed import advance_packed
from dpscd.kernels.packed_threads import (
    CANCELLED,
    STEP,
    advance_part,
    gave_up,
    new_state,
    was_shared,
)
from dpscd.kernels.persons import Persons
from dpscd.kernels.rows import CsrRows, DenseRows, Rows
from dpscd.late import COMPILED
from dpscd.problem import DeferredRows, Problem
from dpscd.releases.training import Training

Ints = npt.NDArray[np.int64]
Run = Callable[..., None]

# Entries of rows that a thread must have to work on in a lot: with fewer it would wait for
# the others longer than it works.
_LEAST_WORK = 2**14

# Chunks of steps that one thread does before others are asked again, at most.
_LONGEST_PAUSE = 16


@contextmanager
def kernel_for(
    problem: Problem,
    plan: Training,
    rows: Rows | DeferredRows,
    records: Records,
    threads: int,
    persons: Persons | None = None,
) -> Iterator[tuple[Run, int]]:
    """Yield the function that runs a chunk of steps, and how many threads it uses."""
    # It takes the damping of these steps, and ids, starts, normals, average_from, dual, shared
    # and average as :func:`dpscd.kernels.lots.advance` does. Which kernel runs depends on the
    # layout of the rows and on public numbers alone.
    packed = plan.fixed_point and not isinstance(rows, CsrRows)
    constants = plan.constants(problem.strength, fixed_point=packed)

    def damped(separability: float) -> StepConstants:
        return constants._replace(separability=separability)

    if not packed:
        plain = rows.read() if isinstance(rows, DeferredRows) else rows
        data = problem.loss, plain, records
        yield lambda own, *chunk: advance(*data, damped(own), *(*chunk, persons)), 1
        return
    if isinstance(rows, DeferredRows):
        pack = empty_pack(rows.count, int(rows.X.shape[1]), rows.tail)
        fill_deferred(rows, records, pack)
    else:
        pack = pack_rows(cast("DenseRows", rows), records)
    parts = min(threads, _most_parts(plan))
    units = () if persons is None else (persons,)
    if parts == 1:
        given = problem.loss, pack
        yield lambda own, *chunk: advance_packed(*given, damped(own), *chunk, *units), 1
        return
    kernel: Callable[..., None] = advance_part
    backoff = ThreadBackoff()
    # A pool of its own: nothing of it is left for a forked process or another fit.
    with ThreadPoolExecutor(parts - 1) as pool:

        def run(separability: float, *chunk: Any) -> None:
            starts = chunk[1]
            sharing = parts if backoff.may_share() else 1
            # New for every chunk: a thread may be late with the last.
            totals = np.empty((sharing, problem.outputs, pack.padded), np.int64)
            state = new_state(starts, sharing)
            data = (problem.loss, pack, damped(separability), *chunk)

            def work(part: int) -> None:
                kernel(*data, part, totals, state, *units)

            together(pool, work, sharing, state, len(starts) - 1)
            if sharing > 1:
                backoff.learn(was_shared(state, parts))

        yield run, parts


class ThreadBackoff:
    """Thread backoff: whether other programs leave processors for more than one thread."""

    # If threads waited for each other too long, or one did everything, the next chunk of steps
    # is left to one thread; then twice as many chunks, up to 16, until sharing works. Only time
    # depends on it.

    def __init__(self) -> None:
        self._alone = 0
        self._pause = 0

    def may_share(self) -> bool:
        """Return whether to share the next chunk."""
        if self._alone == 0:
            return True
        self._alone -= 1
        return False

    def learn(self, shared: bool) -> None:
        """Record whether a chunk was shared."""
        self._pause = 0 if shared else min(max(1, 2 * self._pause), _LONGEST_PAUSE)
        self._alone = self._pause


def fill_deferred(rows: DeferredRows, records: Records, pack: Pack) -> None:
    """Fill the pack with rows that are standardised when they are read."""
    for block in rows.blocks:
        fill_pack(rows.problem.block(rows.X[block]), records, pack, block.start)


def _most_parts(plan: Training) -> int:
    """Return the largest useful number of threads for a lot, from public numbers."""
    if not COMPILED or sys.platform == "win32":
        return 1
    return max(1, int(plan.rate * plan.n * plan.size) // _LEAST_WORK)


def together(
    pool: ThreadPoolExecutor, work: Callable[[int], None], parts: int, state: Ints, steps: int
) -> None:
    """Call ``work(part)`` for all parts at once until all steps are done."""
    # If one fails, all are cancelled. Late threads are not awaited: they find nothing to claim,
    # and change nothing.

    def safely(part: int) -> None:
        try:
            work(part)
        except BaseException:
            state[CANCELLED] = 1
            raise

    others = [pool.submit(safely, part) for part in range(1, parts)]
    waiting = set(others)
    try:
        safely(0)
        while state[STEP] < steps:  # another thread has work that this one waited for in vain
            left, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for other in left:
                other.result()
            safely(0)
        if gave_up(state):
            safely(0)  # nothing is left to do; but only its looks see all that others wrote
    except BaseException:
        state[CANCELLED] = 1
        raise
    finally:
        for other in others:
            other.cancel()
