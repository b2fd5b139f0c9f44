"""The kernel that runs a plan on given data, and the threads that share its work."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import COMPILED
from dpscd.kernels._memory import CALLED_OFF, GATE
from dpscd.kernels.dual import Records, advance
from dpscd.kernels.pack import Pack, empty_pack, fill_pack, pack_rows
from dpscd.kernels.packed import advance_packed, advance_part
from dpscd.kernels.persons import Persons, advance_persons
from dpscd.kernels.rows import CsrRows, DenseRows, Rows
from dpscd.plan import Plan
from dpscd.problem import DeferredRows, Problem

__all__ = ["Run", "fill_deferred", "kernel_for", "together"]

Ints = npt.NDArray[np.int64]
Run = Callable[..., None]

# Entries of rows that a thread must have to work on in a lot: with fewer it would wait for
# the others longer than it works.
_LEAST_WORK = 2**14


@contextmanager
def kernel_for(
    problem: Problem,
    plan: Plan,
    rows: Rows | DeferredRows,
    records: Records,
    threads: int,
    persons: Persons | None = None,
) -> Iterator[tuple[Run, int]]:
    """Yield the function that runs a chunk of steps, and how many threads it uses.

    The function takes the damping of these steps, and ids, starts, normals, average_from, dual,
    shared and average as :func:`dpscd.kernels.dual.advance` does. Which kernel runs depends on
    the layout of the rows and on public numbers alone.
    """
    if isinstance(rows, CsrRows) or not plan.fixed_point:
        constants = plan.constants(problem.strength)
        plain = rows.read() if isinstance(rows, DeferredRows) else rows

        def floats(separability: float, *chunk: Any) -> None:
            damped = constants._replace(separability=separability)
            if persons is None:
                advance(problem.loss, plain, records, damped, *chunk)
            else:
                advance_persons(problem.loss, plain, records, persons, damped, *chunk)

        yield floats, 1
        return
    constants = plan.constants(problem.strength, fixed_point=True)
    if isinstance(rows, DenseRows):
        pack = pack_rows(rows, records)
    else:
        pack = empty_pack(rows.count, int(rows.X.shape[1]), rows.tail)
        fill_deferred(rows, records, pack)
    parts = min(threads, _most_parts(plan))
    units = () if persons is None else (persons,)
    if parts == 1:

        def packed(separability: float, *chunk: Any) -> None:
            damped = constants._replace(separability=separability)
            advance_packed(problem.loss, pack, damped, *chunk, *units)

        yield packed, 1
        return
    kernel: Callable[..., None] = advance_part
    # A pool of its own: nothing of it is left for a forked process or another fit.
    with ThreadPoolExecutor(parts - 1) as pool:

        def run(separability: float, *chunk: Any) -> None:
            totals, gate = _room(pack, problem.outputs, parts)
            damped = constants._replace(separability=separability)
            data = (problem.loss, pack, damped, *chunk)
            together(pool, lambda part: kernel(*data, part, totals, gate, *units), parts, gate)

        yield run, parts


def fill_deferred(rows: DeferredRows, records: Records, pack: Pack) -> None:
    """Put rows that are standardised when they are read into their places."""
    for block in rows.blocks:
        standardised = cast("DenseRows", rows.problem.rows(rows.X[block]))
        fill_pack(standardised, records, pack, block.start)


def _most_parts(plan: Plan) -> int:
    """Return how many threads a lot is worth, from public numbers."""
    if not COMPILED or sys.platform == "win32":
        return 1
    return max(1, int(plan.rate * plan.n * plan.size) // _LEAST_WORK)


def _room(pack: Pack, outputs: int, parts: int) -> tuple[Ints, Ints]:
    return np.empty((parts, outputs, pack.padded), np.int64), np.zeros(GATE, np.int64)


def together(
    pool: ThreadPoolExecutor, work: Callable[[int], None], parts: int, gate: Ints
) -> None:
    """Call ``work(part)`` for all parts at the same time; should one fail, call all off."""

    def safely(part: int) -> None:
        try:
            work(part)
        except BaseException:
            gate[CALLED_OFF] = 1
            raise

    others = [pool.submit(safely, part) for part in range(1, parts)]
    safely(0)
    for other in others:
        other.result()
