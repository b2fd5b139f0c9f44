"""Connections to a cluster by its address, or to one on this machine."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import dask
from dask.dataframe import read_parquet
from distributed import Client, LocalCluster, Security, Worker, WorkerPlugin

from dpscd.errors import ParameterError

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
    # Types of the files, which do not depend on what is missing in a partition.
    return read_parquet(list(paths), dtype_backend="pyarrow")
