"""A shard as an actor on a Dask worker: the allowed questions and answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import psutil
from distributed import get_worker

from dpscd.distributed.builds import check_alike, own_build
from dpscd.distributed.collections import Partition
from dpscd.errors import DpscdError, WorkerError
from dpscd.releases.base import only_sums
from dpscd.solvers.shard import Reader, Shard

_METHODS = frozenset({"begin", "count", "keys", "read_with", "replay", "step", "total"})


class StaleShardError(Exception):
    """The actor that answered is not the shard that was met: that one is lost."""


class ShardActor:
    """A shard on a worker. Its errors say nothing about the records.

    `build` is that of the first workers; this one's must equal it, also in place of a lost one.

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
