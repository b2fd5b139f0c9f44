"""The product: stochastic dual coordinate descent with a secret dual."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError
from dpscd.kernels.dual import Records, advance
from dpscd.kernels.rows import Rows
from dpscd.plan import Plan
from dpscd.privacy.random import Source
from dpscd.privacy.sampling import Lots
from dpscd.problem import Problem

__all__ = ["dp_scd"]

Floats = npt.NDArray[np.float64]
Draw = tuple[Lots, Floats]

# Numbers drawn for one chunk of steps: large enough that Python does not count, small
# enough that they stay in the cache and that Ctrl-C is heard within milliseconds.
_CHUNK = 2**16


def dp_scd(
    problem: Problem,
    plan: Plan,
    rows: Rows,
    records: Records,
    source: Source,
    *,
    draw_ahead: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Floats:
    """Run the plan and return the shared vector, averaged as the plan says.

    Parameters
    ----------
    problem, plan
        Public.
    rows, records
        The data; only the returned vector may leave.
    source : Source
        A fresh source of randomness.
    draw_ahead : bool
        Draw the next chunk's randomness in a second thread. The result is the same.
    progress : callable, optional
        Called with the number of steps done in each chunk, and with nothing else.

    Notes
    -----
    Guarantee: the path of the shared vector, hence what is returned, satisfies
    ``plan.claim()``. The duals live in this call and die with it.
    Requires: `source` was not used before.
    Proof: docs/proofs/shared_vector.md.
    """
    count = len(records.labels)
    if count > plan.capacity:
        raise DataError("there are more than twice as many records as the declared n.")
    dual = np.zeros((count, problem.outputs))
    shared = np.zeros((problem.outputs, problem.width))
    average = np.zeros_like(shared)
    numbers = plan.numbers(problem.strength)
    first = 0
    for lots, normals in _draws(plan, source, count, draw_ahead):
        advance(
            problem.loss,
            rows,
            records,
            numbers,
            lots.ids,
            lots.starts,
            normals,
            plan.average_from - first,
            dual,
            shared,
            average,
        )
        first += len(normals)
        if progress is not None:
            progress(len(normals))
    return average / (plan.steps - plan.average_from)


def _draws(plan: Plan, source: Source, count: int, draw_ahead: bool) -> Iterator[Draw]:
    """Yield the lots and the noise of consecutive chunks of steps."""
    lots, noise = plan.lots, plan.noise
    chunk = max(1, _CHUNK // max(plan.size, 3 * lots.skips(count)))

    def draw(first: int) -> Draw:
        steps = min(chunk, plan.steps - first)
        return (
            lots.draw(source, first, steps, count),
            noise.draw(source, first, steps, plan.size),
        )

    firsts = range(0, plan.steps, chunk)
    if not draw_ahead:
        yield from map(draw, firsts)
        return
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(1))
        waiting = pool.submit(draw, firsts[0])
        for first in firsts[1:]:
            ready, waiting = waiting, pool.submit(draw, first)
            yield ready.result()
        yield waiting.result()
