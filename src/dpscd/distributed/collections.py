"""Dask: connections to a cluster, and collections as partitions that can be made again."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
import numpy.typing as npt
import pandas as pd
from dask.base import compute, is_dask_collection, optimize
from dask.delayed import delayed
from dask.local import get_sync
from dask.optimization import cull
from distributed import Client, LocalCluster, Security, Worker, WorkerPlugin
from distributed.client import futures_of
from scipy import sparse

from dpscd.errors import DataError, DataTypeError, ParameterError

Ints = npt.NDArray[np.int64]


LOCAL = "local"
"""The name of a cluster of processes on this machine, one for each core."""


def connected(address: str, *, timeout: float = 30.0) -> AbstractContextManager[Client]:
    """Make a cluster, by its address or ``local``, the one that fits on Dask use meanwhile."""
    if address == LOCAL:
        return _on_this_machine()
    try:
        return Client(address, direct_to_workers=True, timeout=timeout)
    except (OSError, TypeError, ValueError):
        raise ParameterError(
            f"no Dask scheduler answers at {address!r}; give its address, such as "
            f"tcp://host:8786, or {LOCAL!r}."
        ) from None


@contextmanager
def _on_this_machine() -> Iterator[Client]:
    """Start a cluster that nobody but this process and its children can reach.

    Guarantee: scheduler and workers listen on 127.0.0.1 alone and answer only those who have a
    certificate, made here for this cluster. Others on this machine could otherwise read the
    records, or run code as us. Dask's web servers, which answer anybody, show nothing and are
    stopped.
    """
    silent: dict[str, list[str]] = {
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with (
        dask.config.set(silent),
        LocalCluster(
            host="127.0.0.1",
            protocol="tls://",
            security=Security.temporary(),
            threads_per_worker=1,
            silence_logs=logging.CRITICAL,  # what matters to a fit is raised here
            # Not None, which would be port 8787 and a warning where that is taken.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        cluster.loop.add_callback(cluster.scheduler.http_server.stop)
        client.register_plugin(_WithoutWebServer())
        yield client


class _WithoutWebServer(WorkerPlugin):
    """Stops the web server of every worker, also of restarted ones."""

    name = "dpscd-without-web-server"

    def setup(self, worker: Worker) -> None:
        worker.http_server.stop()


def parquet(paths: Sequence[str]) -> Any:
    """Return Parquet files, which every worker can open, in order, as a Dask dataframe."""
    from dask.dataframe import read_parquet  # workers that read a partition need it not

    # Types of the files, which do not depend on what is missing in a partition.
    return read_parquet(list(paths), dtype_backend="pyarrow")


@dataclass(frozen=True, repr=False)
class Partition:
    """The tasks that make one partition, and the keys of their results."""

    graph: Any  # tasks; they may hold records, so this is never printed
    keys: Any  # of the result: one key, or a list with None for a collection that is absent
    count: int | None = None  # number of records, if it is known

    def load(self) -> Any:
        """Compute the partition here and now, in this thread."""
        if not isinstance(self.keys, list):
            return get_sync(self.graph, self.keys)
        values = iter(get_sync(self.graph, [key for key in self.keys if key is not None]))
        return [None if key is None else next(values) for key in self.keys]


def partitions_of(X: Any, *others: Any) -> list[Partition]:
    """Return the partitions of collections that are divided alike; with `others`, of lists."""
    given = [X, *(other for other in others if other is not None)]
    if not all(map(is_dask_collection, given)):
        raise DataTypeError(
            "X, y, sample_weight and exposure must all be Dask collections, or none."
        )
    if futures_of(given):
        raise ParameterError(
            "a persisted collection cannot be read again when a worker is lost; give the "
            "collection as it was before persist()."
        )
    # Optimised one by one, tables with other columns may be cut at other places.
    columns = [_delayed(each, optimised=len(given) == 1) for each in given]
    if len({len(column) for column in columns}) != 1 or not _alike(given):
        raise DataError("X, y and sample_weight must be divided into the same partitions.")
    ready = optimize(*(part for column in columns for part in column))
    graph = dict(ready[0].__dask_graph__()) if ready else {}
    keys = [part.key for part in ready]
    size = len(columns[0])
    counts: list[Any] = _lengths(X) or [None] * size
    found: list[Partition] = []
    for number in range(size):
        own = keys[number::size]
        tasks, _ = cull(graph, own)
        left = iter(own)
        places = [None if each is None else next(left) for each in (X, *others)]
        found.append(Partition(tasks, places if others else own[0], counts[number]))
    return found


def _delayed(collection: Any, *, optimised: bool = True) -> list[Any]:
    if not _is_array(collection):
        return list(collection.to_delayed(optimize_graph=optimised))
    whole = collection.rechunk({1: -1}) if collection.ndim > 1 else collection
    return list(whole.to_delayed(optimize_graph=optimised).ravel())


def _is_array(collection: Any) -> bool:
    return hasattr(collection, "chunks")


def _lengths(collection: Any) -> list[int] | None:
    """Return the number of records in each partition, if it is known."""
    if not _is_array(collection) or any(size != size for size in collection.chunks[0]):
        return None
    return list(collection.chunks[0])


def _alike(given: list[Any]) -> bool:
    """Return whether arrays, as far as their lengths are known, are cut at the same rows."""
    known = [lengths for lengths in map(_lengths, given) if lengths is not None]
    return all(lengths == known[0] for lengths in known)


def columns_of(X: Any) -> tuple[list[str] | None, int, bool]:
    """Return the names of the features if they have any, their number, and whether sparse."""
    if _is_array(X):
        if X.ndim != 2 or X.shape[1] != X.shape[1]:
            raise DataError("X must have two dimensions, and a known number of columns.")
        return None, int(X.shape[1]), hasattr(X._meta, "indptr")
    names = list(X.columns)
    named = all(isinstance(name, str) for name in names)
    return names if named else None, len(names), False


def row_counts(X: Any) -> list[int]:
    """Return the number of records of each partition, counted where they are."""
    return [int(x) for x in compute(*(delayed(_count)(part) for part in _delayed(X)))]


def some_rows(X: Any, kept: Sequence[Ints]) -> Any:
    """Return a collection with these rows of each partition, by number, where they are."""
    from dask import array, dataframe  # workers that read a partition need neither

    parts = [delayed(_taken)(part, rows) for part, rows in zip(_delayed(X), kept, strict=True)]
    if not _is_array(X):
        return dataframe.from_delayed(parts, meta=X._meta, verify_meta=False)
    shapes = [(len(rows), *X.shape[1:]) for rows in kept]
    return array.concatenate(
        [
            array.from_delayed(part, shape=shape, dtype=X.dtype, meta=X._meta)
            for part, shape in zip(parts, shapes, strict=True)
        ]
    )


def fetched_rows(X: Any, kept: Sequence[Ints]) -> Any:
    """Return these rows of each partition in the memory of this process; a secret."""
    found = compute(
        *(delayed(_taken)(part, rows) for part, rows in zip(_delayed(X), kept, strict=True))
    )
    if isinstance(found[0], pd.DataFrame | pd.Series):
        return pd.concat(found)
    if sparse.issparse(found[0]):
        return sparse.vstack(found, format="csr")
    return np.concatenate(found)


def _count(part: Any) -> int:
    return int(part.shape[0])


def _taken(part: Any, rows: Ints) -> Any:
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]
