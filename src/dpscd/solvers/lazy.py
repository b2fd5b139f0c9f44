"""Training on sparse rows at sparse cost: noise is drawn when a coordinate is next read."""

from collections.abc import Callable, Iterator

import numpy as np

from dpscd.errors import ParameterError, StreamError
from dpscd.kernels.draws import PAIR_WORDS, fill_normals
from dpscd.kernels.dual import Records, new_buffer
from dpscd.kernels.lazy import (
    BLOCK,
    Law,
    advance_lazy,
    average_due,
    new_state,
    settle_all,
    shared_of,
)
from dpscd.kernels.rows import CsrRows
from dpscd.privacy.draws import Lots
from dpscd.privacy.random import Purpose, Source
from dpscd.problem import Floats, Problem
from dpscd.releases.base import Observer
from dpscd.releases.training import Training

# Skips drawn for one chunk of steps, and pairs of normals drawn at a time: so many that
# Python does not count.
_CHUNK = 2**15
_PAIRS = 2**15


class LazyVector:
    """The shared vector of a lazy fit, and the amounts due to it."""

    # Only :meth:`shared` and :meth:`average` show it, and both settle every coordinate first.

    def __init__(self, problem: Problem, plan: Training, source: Source) -> None:
        if not plan.lazy:
            raise ParameterError("the plan is not one for lazy noise; see Training.lazy.")
        self._outputs = problem.outputs
        # Damped as much as possible: the path is not all drawn.
        self._numbers = plan.constants(problem.strength)
        bits = plan.grid_bits
        variance = plan.noise.lattice_variance
        self._law = Law(variance, bits, 2**bits - 1, 2.0**-bits, plan.average_from)
        self._plan = plan
        self._state = new_state(problem.width, problem.outputs)
        self._buffer = new_buffer(problem.outputs, BLOCK)
        self._source = source
        self._pairs = 0
        self._normals = np.empty(0)
        self._averaged = False

    def __repr__(self) -> str:
        return "LazyVector()"

    def run(
        self,
        problem: Problem,
        rows: CsrRows,
        records: Records,
        lots: Lots,
        first: int,
        dual: Floats,
    ) -> None:
        """Run the steps of `lots`, the first of which is step number `first`."""
        begin = 0
        while True:
            begin, used = advance_lazy(
                problem.loss, rows, records, self._numbers, self._law, lots.ids, lots.starts,
                first, begin, self._normals, dual, self._state, self._buffer,
            )  # fmt: skip
            self._normals = self._normals[used:]
            if begin == len(lots.ids):
                return
            i = lots.ids[begin]
            self._draw(self._outputs * int(rows.indptr[i + 1] - rows.indptr[i] + 1))

    def settle(self, now: int) -> None:
        """Give all coordinates the noise of all steps before `now`."""
        begin = 0
        while begin < len(self._state):
            self._draw(self._outputs)
            begin, used = settle_all(
                self._law, self._outputs, now, begin, self._normals, self._state
            )
            self._normals = self._normals[used:]

    def shared(self, now: int) -> Floats:
        """Return the shared vector before step `now`."""
        self.settle(now)
        out = np.empty((self._outputs, len(self._state)))
        shared_of(self._state, self._numbers.grid, out)
        return out

    def average(self) -> Floats:
        """Return the average of the shared vector at the end of the plan, once.

        Guarantee: what it adds to the values that were read is drawn once: a second average
        would have other noise, which is not paid for.
        """
        if self._averaged:
            raise StreamError("the average of a lazy fit is drawn once.")
        self._averaged = True
        self.settle(self._plan.steps)
        out = np.empty((self._outputs, len(self._state)))
        begin = 0
        while begin < len(self._state):
            self._draw(self._outputs)
            begin, used = average_due(
                self._law, self._plan.average_bits, begin, self._normals, self._state, out
            )
            self._normals = self._normals[used:]
        return out * (self._numbers.grid / (self._plan.steps - self._plan.average_from))

    def _draw(self, least: int) -> None:
        """Ensure that `least` normals are ready; none is ever drawn or used twice."""
        missing = least - len(self._normals)
        if missing <= 0:
            return
        pairs = max(_PAIRS, -(-missing // 2))
        words = self._source.words(Purpose.LAZY_NOISE, self._pairs, pairs, PAIR_WORDS)
        left = len(self._normals)
        normals = np.empty((1, left + 2 * pairs))
        normals[0, :left] = self._normals
        fill_normals(words.reshape(1, -1), normals[:, left:])
        self._pairs += pairs
        self._normals = normals[0]


def lazy_scd(
    problem: Problem,
    plan: Training,
    rows: CsrRows,
    records: Records,
    source: Source,
    *,
    epoch: int,
    progress: Callable[[int], None] | None = None,
    observer: Observer | None = None,
) -> Floats:
    """Run the plan on sparse rows and return the averaged shared vector.

    Parameters are those of :func:`dpscd.solvers.dp_scd.dp_scd`, which calls this where
    :attr:`Training.lazy` says so; an observer sees every coordinate settled, each `epoch`.

    Guarantee: what is returned and shown satisfies ``plan.claim()``. An interrupted fit leaves
    nothing: what was not settled is seen by nobody.
    Proof: docs/proofs/shared_vector.md, "Lazy noise".
    """
    count = len(records.labels)
    dual = np.zeros((count, problem.outputs))
    vector = LazyVector(problem, plan, source)
    if observer is not None:
        observer.begins(problem, plan)
    for first, steps in _chunks(plan, epoch if observer else plan.steps):
        if first == plan.average_from:
            vector.settle(first)
        lots = plan.lots.draw(source, first, steps, count)
        vector.run(problem, rows, records, lots, first, dual)
        if progress is not None:
            progress(steps)
        done = first + steps
        if observer is not None and (done % epoch == 0 or done == plan.steps):
            observer.moved(done, vector.shared(done))
    return vector.average()


def _chunks(plan: Training, pause: int) -> Iterator[tuple[int, int]]:
    """Yield the first step of each chunk and its number of steps, all from public numbers."""
    # A chunk ends at every multiple of `pause` steps and where averaging begins.
    chunk = max(1, _CHUNK // plan.lots.skips(plan.n))
    first = 0
    while first < plan.steps:
        ends = [first + chunk, first + pause - first % pause, plan.steps]
        if first < plan.average_from:
            ends.append(plan.average_from)
        yield first, min(ends) - first
        first = min(ends)
