"""Connecting to a cluster by its address, or to one on this machine."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dask.dataframe import read_parquet
from distributed import Client, LocalCluster

from dpscd.errors import ParameterError

__all__ = ["LOCAL", "connected", "parquet"]

LOCAL = "local"
"""The name of a cluster of processes on this machine, one for each core."""


@contextmanager
def connected(address: str, *, timeout: float = 30.0) -> Iterator[Client]:
    """Make a cluster the one that fits on Dask collections use while the block runs.

    Parameters
    ----------
    address : str
        ``local``, or the address of a Dask scheduler such as ``tls://host:8786``.
    timeout : float
        Seconds to wait for the scheduler.
    """
    if address == LOCAL:
        with (
            LocalCluster(threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster, direct_to_workers=True) as client,
        ):
            yield client
        return
    try:
        client = Client(address, direct_to_workers=True, timeout=timeout)
    except (OSError, TypeError, ValueError):
        raise ParameterError(
            f"no Dask scheduler answers at {address!r}; give its address, such as "
            f"tcp://host:8786, or {LOCAL!r}."
        ) from None
    with client:
        yield client


def parquet(paths: Sequence[str]) -> Any:
    """Return Parquet files as a Dask dataframe, to be read by the workers.

    Parameters
    ----------
    paths : list of str
        Files that every worker can open by these names, in the order of the records.
    """
    # Types of the files, which do not depend on what is missing in a partition.
    return read_parquet(list(paths), dtype_backend="pyarrow")
