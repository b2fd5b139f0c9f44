"""Training on records held by shards: totals are gathered, and noise is added here, once.

The pool may lose a shard at any time. Its duals are then rebuilt: they are a function of its
records, of bits that can be drawn again and of the shared vectors it was sent.
"""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Protocol, cast

import numpy as np

from dpscd.errors import ParameterError, WorkerError
from dpscd.kernels.dual import StepConstants, release
from dpscd.kernels.packed import release_cells
from dpscd.privacy.draws import check_capacity
from dpscd.privacy.random import LotsSource, Source
from dpscd.problem import Floats, Problem
from dpscd.releases.base import Observer, Query, Residuals
from dpscd.releases.training import Training
from dpscd.solvers.dp_scd import check_problem
from dpscd.solvers.shard import Reader, Total

LOST = object()
"""The reply of a shard whose shard is gone."""

# Shards that may be lost one after the other at one place before the fit is given up.
_PATIENCE = 10
# Numbers of the path that are sent at once to a new shard.
_PATH = 2**21
# Bytes of the whole path, which the coordinator keeps.
_LARGEST_PATH = 2**31
# Steps whose noise is drawn at once.
_CHUNK = 2**16


class ShardTransport(Protocol):
    """Carries questions to the shards, wherever they are."""

    def __len__(self) -> int:
        """Return the number of shards."""

    def call(self, asked: Sequence[int], method: str, args: Sequence[tuple[Any, ...]]) -> Any:
        """Ask shards by their numbers, all at once; return replies, LOST where one is gone."""

    def refill(self, number: int) -> None:
        """Replace a lost shard by a fresh one with the same records."""

    def read_with(self, reader: Reader) -> None:
        """Set the reader of shards that are created later."""


class ShardPool:
    """Shards that answer together, whichever are lost on the way.

    Guarantee: every shard takes part in every step: a slow one is waited for, a lost one is
    built anew. Its number of records and the sum of all that it contributed are compared to the
    last bit; if one differs, the fit fails and what it reserved is spent.
    """

    def __init__(self, transport: ShardTransport) -> None:
        self._transport = transport
        self._begun: list[tuple[Any, ...]] | None = None
        self._path: list[Floats] = []
        # Of each shard, the sum of its totals in this training, modulo 2^64.
        self._so_far: list[Any] = [0] * len(transport)

    def ask(self, method: str, *args: Any) -> list[Any]:
        """Return the replies of all shards to the same question."""
        return self._ask(method, [args] * len(self._transport))

    def read_with(self, reader: Reader) -> None:
        """Set the reader of all shards, present and later ones."""
        self._transport.read_with(reader)
        self.ask("read_with", reader)

    def begin(
        self, problem: Problem, plan: Training, lots: LotsSource, counts: Sequence[int],
        residuals: Residuals | None,
    ) -> None:  # fmt: skip
        """Let all shards begin a training, with the counts of records of the first reading."""
        begun = [
            (problem, plan, lots, start, count, residuals)
            for start, count in zip(accumulate(counts, initial=0), counts, strict=False)
        ]
        self._begun, self._path, self._so_far = None, [], [0] * len(self._transport)
        self._ask("begin", begun)
        self._begun = begun

    def step(self, shared: Floats) -> Total:
        """Return the sum of the next step's lot over all shards."""
        number = len(self._path)
        totals = self.ask("step", number, shared)
        # Kept before the next vector is made: it is never sent without its path.
        self._path.append(shared.copy())
        self._so_far = [
            known + total.astype(np.int64)
            for known, total in zip(self._so_far, totals, strict=True)
        ]
        return cast(Total, sum(totals[1:], start=totals[0].copy()))

    def _ask(self, method: str, args: Sequence[tuple[Any, ...]]) -> list[Any]:
        everybody = range(len(self._transport))
        replies = list(self._transport.call(everybody, method, args))
        for number in everybody:
            losses = 0
            while replies[number] is LOST:
                losses += 1
                if losses > _PATIENCE:
                    raise WorkerError(f"a worker was lost {_PATIENCE} times at the same place.")
                self._transport.refill(number)
                if self._rebuilt(number):
                    (replies[number],) = self._transport.call([number], method, [args[number]])
        return replies

    def _rebuilt(self, number: int) -> bool:
        """Bring a fresh shard to the others' state; return whether it is still there."""
        if self._begun is None:
            return True
        if self._transport.call([number], "begin", [self._begun[number]])[0] is LOST:
            return False
        if not self._path:
            return True
        found: Any = None
        length = max(1, _PATH // self._path[0].size)
        for first in range(0, len(self._path), length):
            path = np.stack(self._path[first : first + length])
            (found,) = self._transport.call([number], "replay", [(first, path)])
            if found is LOST:
                return False
        if not np.array_equal(found, self._so_far[number]):
            raise WorkerError(
                "a part of the records is not what it was when it was first read, or its new "
                "worker computes otherwise than the lost one; the fit cannot be finished."
            )
        return True


class Sharded:
    """Records of a pool, for :func:`~dpscd.model.fit.run`.

    Guarantee: what is released, from here on or by :meth:`train`, is the mechanism of
    docs/proofs/shared_vector.md, "Shards". Noise comes from a source that no shard has.
    """

    def __init__(self, pool: ShardPool, counts: Sequence[int], reader: Reader) -> None:
        self._pool = pool
        self._counts = counts
        self._reader = reader
        self.dense = not reader.sparse

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all shards."""
        check_capacity(query.n, sum(self._counts))
        totals = self._pool.ask("total", query)
        if {np.shape(total) for total in totals} != {query.shape}:
            raise WorkerError("a total does not have the shape of its query.")
        return cast(Floats, np.sum(totals, axis=0))

    def bound(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Let all shards read with released bounds from now on."""
        self._reader = self._reader.with_bounds(pairs)
        self._pool.read_with(self._reader)

    def train(
        self,
        problem: Problem,
        plan: Training,
        source: Source,
        residuals: Residuals | None,
        progress: Callable[[int], None] | None,
        observer: Observer | None,
    ) -> Floats:
        """Return the shared vector of a training, on labels or on a pilot's residuals.

        Guarantee: as for :func:`dpscd.solvers.dp_scd.dp_scd`; the noise of a step is added to
        the sum of all shards, on every coordinate.
        """
        check_problem(problem, plan)
        check_capacity(plan.n, sum(self._counts))
        if observer is not None:
            raise ParameterError("the path of a training on workers is not observed.")
        self._pool.begin(problem, plan, LotsSource.of(source), self._counts, residuals)
        packed = self.dense and plan.fixed_point
        constants = plan.constants(problem.strength, fixed_point=packed)
        shared = np.zeros((problem.outputs, problem.width))
        average = np.zeros_like(shared)
        chunk = max(1, _CHUNK // plan.size)
        for first in range(0, plan.steps, chunk):
            steps = min(chunk, plan.steps - first)
            normals = plan.noise.draw(source, first, steps, plan.size)
            for i in range(steps):
                _move(self._pool.step(shared), normals[i], constants, shared)
                if first + i >= plan.average_from:
                    average += shared
                if progress is not None:
                    progress(1)
        return average / (plan.steps - plan.average_from)


def check_path(plan: Training) -> None:
    """Refuse, from public numbers, a training whose path the coordinator could not keep."""
    if 8 * plan.size * plan.steps > _LARGEST_PATH:
        raise ParameterError(
            f"{plan.steps} steps of {plan.size} numbers are more than the coordinator keeps "
            f"({_LARGEST_PATH} bytes) to replace lost workers; give a larger lot_size or fewer "
            "epochs."
        )


def _move(total: Total, normals: Floats, constants: StepConstants, shared: Floats) -> None:
    """Add a lot's sum and its noise to the shared vector, whole numbers or floats."""
    bits = math.frexp(constants.grid / constants.cell)[1] - 1
    width = shared.shape[1]
    for k, own in enumerate(shared):
        noise = normals[k * width : (k + 1) * width]
        if total.dtype == np.int64:
            release_cells(total[k], noise, constants, bits, own)
        else:
            release(total[k], noise, constants, own)
