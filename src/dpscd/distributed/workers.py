"""Shards on the workers of a Dask cluster: one actor each, replaced when it is lost.

Dask schedules, carries and restarts. A worker is sent public facts (problem, plan, shared
vectors, the schema) or a key, for the bits of its records or for hashes of identifiers; its
answers pass :func:`~dpscd.releases.base.only_sums`.
"""

import asyncio
import pydoc
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
import psutil
from distributed import Client, KilledWorker, get_worker
from distributed.client import default_client

from dpscd._version import __version__
from dpscd.distributed.collections import Partition
from dpscd.errors import DataError, DpscdError, ParameterError, WorkerError
from dpscd.kernels._jit import own_build
from dpscd.records import refusals
from dpscd.releases.base import only_sums
from dpscd.solvers.shard import Reader, Shard
from dpscd.solvers.sharded import LOST, Sharded, ShardPool

# How often to look whether a worker that does not answer is still there, in seconds.
_LOOK = 1.0
# How long to wait for a worker when none is left.
_WAIT = 300
# What Dask's scheduler makes of an actor whose worker is gone.
_GONE = "Worker holding Actor was lost"


# What a shard may be asked for.
_METHODS = frozenset({"begin", "count", "keys", "read_with", "replay", "step", "total"})


def check_alike(one: Mapping[str, str], other: Mapping[str, str]) -> None:
    """Refuse two workers that may round differently.

    Guarantee: what a record contributes has the same bits on both, as
    docs/proofs/shared_vector.md, "Shards", requires. The coordinator adds whole numbers and the
    noise: it may differ.
    """
    for name, here in one.items():
        there = other.get(name, "none")
        if here != there:
            if name == "features":
                here, there = _apart(here, there)
            raise WorkerError(
                f"workers differ: {name} {here} on one and {there} on another, so a record's "
                "contribution may not have the same bits on both; install the same versions "
                "on all workers and use equal processors, or start all workers with the same "
                "NUMBA_CPU_NAME and NUMBA_CPU_FEATURES."
            )


def _apart(one: str, other: str) -> tuple[str, str]:
    """Return the features that only one of the texts has."""
    here, there = set(one.split(",")), set(other.split(","))
    first, second = (",".join(sorted(some)) or "none" for some in (here - there, there - here))
    return first, second


class StaleShardError(Exception):
    """The actor that answered is not the shard that was met: that one is lost."""


class ShardActor:
    """A shard on a worker, of the others' `build`. Its errors say nothing about records.

    Guarantee: answers only whom it met. Dask may build an actor again by itself, from what it
    was built from: the first reader, and no steps. Nobody has met that one.
    """

    def __init__(
        self, parts: Sequence[Partition], reader: Reader, build: Mapping[str, str]
    ) -> None:
        check_alike(build, own_build())
        self._shard = Shard(parts, reader, *_room())
        self._token: str | None = None

    async def meet(self, token: str) -> None:
        """Take `token` as the shard's name."""
        if self._token is not None:
            raise StaleShardError
        self._token = token

    async def knows(self, token: str) -> int:
        """Return 1 if `token` is this shard's name, else 0; at once."""
        return int(self._token is not None and token == self._token)

    def ask(self, token: str, method: str, *args: Any) -> Any:
        """Return the shard's answer, if it may leave."""
        if self._token is None or token != self._token:
            raise StaleShardError
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
    """Return the memory limit of a shard here, None without limit, and a folder on disk."""
    try:
        worker = get_worker()
    except ValueError:  # not on a worker
        return None, None
    limit, folder = worker.memory_manager.memory_limit, worker.local_directory
    if not limit:
        return None, folder
    return max(1, int(limit) - psutil.Process().memory_info().rss), folder


@dataclass(eq=False, repr=False)
class _ShardPlace:
    """The partitions of a shard, and the actor that holds them now."""

    parts: Sequence[Partition]
    address: str = ""
    token: str = ""
    future: Any = None
    actor: Any = None


class _DaskTransport:
    """Actors on a client's workers: a :class:`dpscd.solvers.sharded.ShardTransport`."""

    def __init__(self, client: Client, parts: Sequence[Partition], reader: Reader) -> None:
        self._client = client
        self._reader = reader
        addresses = self._addresses() or _waited_for(client)
        # Public; the number of shards is not: it may follow the data, as partitions do.
        self.workers = len(addresses)
        _check_versions(client)
        self._build = _common_build(client)
        groups = np.array_split(np.arange(len(parts)), min(len(parts), len(addresses)))
        self._shards = [_ShardPlace([parts[i] for i in group]) for group in groups]
        for number, address in zip(range(len(self._shards)), addresses, strict=False):
            self._fill(number, address)

    def __len__(self) -> int:
        return len(self._shards)

    def call(self, asked: Sequence[int], method: str, args: Sequence[tuple[Any, ...]]) -> Any:
        """Ask shards by their numbers, all at once; return replies, LOST where one is gone."""

        async def every() -> list[Any]:
            calls = [
                self._call(self._shards[number], method, own)
                for number, own in zip(asked, args, strict=True)
            ]
            return await asyncio.gather(*calls)

        return self._client.sync(every)

    async def _call(self, shard: _ShardPlace, method: str, args: tuple[Any, ...]) -> Any:
        try:
            if shard.actor is None:
                await self._meet(shard)
            return await self._reply(shard, shard.actor.ask(shard.token, method, *args))
        except DpscdError:
            raise
        except Exception:  # Dask has several for a worker that went away; ours are above
            return LOST

    async def _meet(self, shard: _ShardPlace) -> None:
        """Wait until a shard exists, and give it a token."""
        failure: WorkerError | None = None
        try:
            shard.actor = await shard.future
        except (DpscdError, KilledWorker):
            raise
        except Exception as error:
            if shard.future.status != "error" or str(error) == _GONE:
                raise
            failure = WorkerError(
                f"a worker could not make a shard: {type(error).__name__}. Is dpscd installed "
                "there, in the same version as here?"
            )
        if failure is not None:
            raise failure
        (shard.address,) = await self._places(shard)
        await self._reply(shard, shard.actor.meet(shard.token))

    async def _reply(self, shard: _ShardPlace, asked: Any) -> Any:
        """Return an answer; a slow worker is awaited as long as its shard is there."""
        reply = asyncio.ensure_future(_awaited(asked))
        while not (await asyncio.wait({reply}, timeout=_LOOK))[0]:
            if not await self._there(shard):
                reply.cancel()
                raise StaleShardError
        return reply.result()

    async def _there(self, shard: _ShardPlace) -> bool:
        """Return whether the shard that was asked is still there, as far as can be seen."""
        # Dask drops a call of an actor that is not there without an answer, and an actor that
        # was made again in the meantime, here or elsewhere, looks as if it were computing.
        if shard.future.status != "finished" or shard.address not in await self._places(shard):
            return False
        known = asyncio.ensure_future(_awaited(shard.actor.knows(shard.token)))
        if not (await asyncio.wait({known}, timeout=_LOOK))[0]:
            known.cancel()
            return True  # slow in everything
        return bool(known.result())

    async def _places(self, shard: _ShardPlace) -> Sequence[str]:
        """Return the addresses where the scheduler sees an actor: one or none."""
        key = shard.future.key
        scheduler: Any = self._client.scheduler
        places: dict[str, Sequence[str]] = await scheduler.who_has(keys=[key])
        return places.get(key, ())

    def refill(self, number: int) -> None:
        """Replace a lost shard by a fresh one with the same partitions."""
        lost = self._shards[number].address
        taken = Counter(shard.address for shard in self._shards)
        left = [address for address in self._addresses() if address != lost]
        left = left or _waited_for(self._client)
        self._fill(number, min(left, key=lambda address: taken[address]))

    def read_with(self, reader: Reader) -> None:
        """Set the reader of shards that are created later."""
        self._reader = reader

    def close(self) -> None:
        """Free the workers' memory."""
        for shard in self._shards:
            shard.future.release()
            shard.actor = None

    def _addresses(self) -> list[str]:
        return sorted(self._client.nthreads())

    def _fill(self, number: int, address: str) -> None:
        shard = self._shards[number]
        shard.address, shard.actor, shard.token = address, None, uuid4().hex
        shard.future = self._client.submit(
            ShardActor,
            shard.parts,
            self._reader,
            self._build,
            key=f"dpscd-shard-{uuid4().hex}",
            workers=[address],
            allow_other_workers=True,
            actor=True,
        )


def _check_versions(client: Client) -> None:
    """Refuse workers that lack this library, or have it in another version."""
    # Asked by the standard library: a worker that cannot import what it is sent silently loses
    # its scheduler, and would be awaited in vain.
    asked = client.run(pydoc.locate, "dpscd._version.__version__", on_error="return")
    for found in asked.values():
        if found != __version__ and not isinstance(found, OSError):  # that one is just lost
            here = found if isinstance(found, str) else "none"
            raise WorkerError(
                f"a worker has another version of dpscd, {here}, than the coordinator, "
                f"{__version__}; install one version on all machines."
            )


def _common_build(client: Client) -> dict[str, str]:
    """Return the build of all workers; refuse a mixture, with or without shards."""
    asked = client.run(own_build, on_error="return").values()
    found = [build for build in asked if not isinstance(build, OSError)]  # that one is lost
    for build in found:
        if isinstance(build, Exception):
            raise WorkerError(f"a worker cannot load what dpscd needs: {type(build).__name__}.")
        check_alike(found[0], build)
    if not found:
        raise WorkerError("all workers were lost at the start; fit again.")
    first: dict[str, str] = found[0]
    return first


def _waited_for(client: Client) -> list[str]:
    """Return the workers of a cluster that has none, once it has one again."""
    with suppress(TimeoutError):
        client.wait_for_workers(1, timeout=_WAIT)
    found = sorted(client.nthreads())
    if not found:
        raise WorkerError(f"no worker is left, and none came within {_WAIT} seconds.")
    return found


async def _awaited(future: Any) -> Any:
    return await future


class Workers:
    """The records of a fit on a cluster; `count` is secret, `workers` their public number."""

    def __init__(self, transport: _DaskTransport, reader: Reader) -> None:
        self._pool = ShardPool(transport)
        self.workers = transport.workers
        self._reader = reader
        self._counts: list[int] = self._pool.ask("count")
        self.count = sum(self._counts)
        if reader.persons is not None:
            self._check_together()

    def _check_together(self) -> None:
        """Refuse persons whose rows lie in several partitions.

        Guarantee: each person's rows are in one partition: hashes under a key of this call are
        compared. With a chance of ``n^2 2^-129`` a fit of `n` persons is refused that need not
        be.
        """
        keys = np.concatenate(self._pool.ask("keys", secrets.token_bytes(32)))
        if len(np.unique(keys, axis=0)) != len(keys):
            raise DataError(refusals.APART)

    def read_with(self, reader: Reader) -> None:
        """Set the reader of all shards, with features that follow from their number."""
        self._reader = reader
        self._pool.read_with(reader)

    def held(self) -> Sharded:
        """Return the records as a store for a fit."""
        return Sharded(self._pool, self._counts, self._reader)


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
    transport = _DaskTransport(client, parts, reader)
    try:
        yield Workers(transport, reader)
    finally:
        transport.close()
