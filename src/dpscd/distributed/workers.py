"""Shards on the workers of a Dask cluster: one actor each, replaced when it is lost.

Dask schedules, carries and restarts. What is sent to a worker is public (problem, plan, shared
vectors, the schema) or a key for the bits of its records; what comes back passes
:func:`only_sums`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import psutil
from distributed import Client, get_worker
from distributed.client import default_client

from dpscd.distributed.collections import Partition
from dpscd.errors import DpscdError, ParameterError, WorkerError
from dpscd.plan import Plan
from dpscd.solvers.dp_scd import check_capacity
from dpscd.solvers.shard import Reader, Shard
from dpscd.solvers.sharded import LOST, Crew, Sharded

__all__ = ["ShardActor", "Workers", "only_sums", "workers_with"]

Floats = npt.NDArray[np.float64]

# How often to look whether a worker that does not answer is still there, in seconds.
_LOOK = 1.0
# How long to wait for a worker when none is left.
_WAIT = 300

_METHODS = frozenset(
    {
        "begin",
        "cells_total",
        "count",
        "distance_total",
        "label_total",
        "left_total",
        "moments_total",
        "read_with",
        "replay",
        "step",
    }
)


def only_sums(reply: Any) -> Any:
    """Return what a worker may send: nothing, a whole number, or an array of whole numbers.

    Notes
    -----
    Guarantee: whatever a shard returns by mistake that is not of this form, a row, a label, a
    dual, does not leave its worker.
    """
    if reply is None or type(reply) is int:
        return reply
    numbers = np.asarray(reply)
    if type(reply) not in (float, np.ndarray) or numbers.dtype not in (np.float64, np.int64):
        raise WorkerError("a worker was about to send something that is not a sum.")
    if not np.array_equal(numbers, np.trunc(numbers)):
        raise WorkerError("a worker was about to send something that is not a whole number.")
    return reply


class ShardActor:
    """A shard on a worker. Its errors say nothing about the records."""

    def __init__(self, parts: Sequence[Partition], reader: Reader) -> None:
        self._shard = Shard(parts, reader, *_room())

    def ask(self, method: str, *args: Any) -> Any:
        """Return the shard's answer, if it is one that may leave."""
        if method not in _METHODS:
            raise WorkerError(f"a shard is not asked for {method!r}.")
        try:
            return only_sums(getattr(self._shard, method)(*args))
        except DpscdError as error:
            failure: DpscdError = type(error)(*error.args)
        except Exception as error:  # of a reader or a file: its text may hold a cell
            failure = WorkerError(f"a partition could not be used: {type(error).__name__}.")
        raise failure


def _room() -> tuple[int | None, str | None]:
    """Return the memory that a shard here may use, None without limit, and a folder on disk."""
    try:
        worker = get_worker()
    except ValueError:  # not on a worker
        return None, None
    limit, folder = worker.memory_manager.memory_limit, worker.local_directory
    if not limit:
        return None, folder
    return max(1, int(limit) - psutil.Process().memory_info().rss), folder


class _Seat:
    """Where a shard is: its partitions, and the actor that holds them now."""

    def __init__(self, parts: Sequence[Partition]) -> None:
        self.parts = parts
        self.address = ""
        self.future: Any = None
        self.actor: Any = None


class _Seats:
    """Actors on the workers of a client; see :class:`dpscd.solvers.sharded.Seats`."""

    def __init__(self, client: Client, parts: Sequence[Partition], reader: Reader) -> None:
        self._client = client
        self._reader = reader
        addresses = self._addresses()
        groups = np.array_split(np.arange(len(parts)), min(len(parts), len(addresses)))
        self._seats = [_Seat([parts[i] for i in group]) for group in groups]
        for number, address in zip(range(len(self._seats)), addresses, strict=False):
            self._fill(number, address)

    def __len__(self) -> int:
        return len(self._seats)

    def call(self, asked: Sequence[int], method: str, args: Sequence[tuple[Any, ...]]) -> Any:
        """Ask shards by their numbers, all at once; return replies, LOST where one is gone."""

        async def every() -> list[Any]:
            calls = [
                self._call(self._seats[number], method, own)
                for number, own in zip(asked, args, strict=True)
            ]
            return await asyncio.gather(*calls)

        return self._client.sync(every)

    async def _call(self, seat: _Seat, method: str, args: tuple[Any, ...]) -> Any:
        try:
            if seat.actor is None:
                seat.actor = await seat.future
            reply = asyncio.ensure_future(_awaited(seat.actor.ask(method, *args)))
            # A slow worker is waited for, as long as the scheduler knows it.
            while not (await asyncio.wait({reply}, timeout=_LOOK))[0]:
                if seat.future.status != "finished":
                    reply.cancel()
                    return LOST
            return reply.result()
        except DpscdError:
            raise
        except Exception:  # Dask has several for a worker that went away; ours are above
            return LOST

    def refill(self, number: int) -> None:
        """Put a fresh shard with the same partitions in the place of a lost one."""
        lost = self._seats[number].address
        taken = Counter(seat.address for seat in self._seats)
        left = [address for address in self._addresses() if address != lost]
        if not left:
            self._client.wait_for_workers(1, timeout=_WAIT)
            left = self._addresses()
        self._fill(number, min(left, key=lambda address: taken[address]))

    def read_with(self, reader: Reader) -> None:
        """Let shards that are put in later have this reader."""
        self._reader = reader

    def close(self) -> None:
        """Give the workers their memory back."""
        for seat in self._seats:
            seat.future.release()
            seat.actor = None

    def _addresses(self) -> list[str]:
        return sorted(self._client.nthreads())

    def _fill(self, number: int, address: str) -> None:
        seat = self._seats[number]
        seat.address, seat.actor = address, None
        seat.future = self._client.submit(
            ShardActor,
            seat.parts,
            self._reader,
            key=f"dpscd-shard-{uuid4().hex}",
            workers=[address],
            allow_other_workers=True,
            actor=True,
        )


async def _awaited(future: Any) -> Any:
    return await future


class Workers:
    """The records of a fit on the workers of a cluster.

    Attributes
    ----------
    count : int
        Number of records; secret under add-remove.
    """

    def __init__(self, seats: _Seats, *, dense: bool) -> None:
        self._crew = Crew(seats)
        self._size = len(seats)
        self._dense = dense
        self._counts: list[int] = self._crew.ask("count")
        self.count = sum(self._counts)

    def __len__(self) -> int:
        return self._size

    def read_with(self, reader: Reader) -> None:
        """Let all workers read their partitions so from now on."""
        self._crew.read_with(reader)

    def counted(self, plan: Plan) -> Callable[[Sequence[Floats]], Floats]:
        """Return what counts values between limits over all workers."""
        check_capacity(plan, self.count)
        return lambda limits: np.sum(self._crew.ask("cells_total", limits), axis=0)

    def held(self) -> Sharded:
        """Return the records as a training asks for them."""
        return Sharded(self._crew, self._counts, dense=self._dense)


@contextmanager
def workers_with(parts: Sequence[Partition], reader: Reader) -> Iterator[Workers]:
    """Divide partitions among the workers of the current Dask client while the block runs."""
    try:
        client = default_client()
    except ValueError:
        raise ParameterError(
            "there is no Dask client: start one, for instance with dask.distributed.Client() "
            "for the cores of this machine."
        ) from None
    if client.asynchronous:
        raise ParameterError("an asynchronous Dask client cannot be used; give a plain one.")
    if not client.nthreads():
        client.wait_for_workers(1, timeout=_WAIT)
    seats = _Seats(client, parts, reader)
    try:
        yield Workers(seats, dense=not reader.sparse)
    finally:
        seats.close()
