"""Dask collections as partitions, each a recipe that any worker can repeat."""

from dataclasses import dataclass
from typing import Any

from dask.base import is_dask_collection, optimize
from dask.local import get_sync
from dask.optimization import cull
from distributed.client import futures_of

from dpscd.errors import DataError, DataTypeError, ParameterError

__all__ = ["Partition", "columns_of", "partitions_of"]


@dataclass(frozen=True, repr=False)
class Partition:
    """The tasks that make one partition, and the keys of their results."""

    graph: Any  # tasks; they may hold records, so this is never printed
    keys: Any  # result of :meth:`load`: one key, or a list of keys
    count: int | None = None  # number of records, if it is known

    def load(self) -> Any:
        """Compute the partition here and now, in this thread."""
        return get_sync(self.graph, self.keys)


def partitions_of(X: Any, *others: Any) -> list[Partition]:
    """Return the partitions of collections that are divided alike.

    An array is divided by rows only. With `others` a partition loads as a list, with None for
    an absent collection.
    """
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
        if others:
            left = iter(own)
            places = [next(left) if each is not None else None for each in (X, *others)]
            found.append(_WithGaps(tasks, tuple(places), counts[number]))
        else:
            found.append(Partition(tasks, own[0], counts[number]))
    return found


class _WithGaps(Partition):
    """A partition of several collections, of which some are absent."""

    def load(self) -> list[Any]:
        wanted = [key for key in self.keys if key is not None]
        values = iter(get_sync(self.graph, wanted))
        return [None if key is None else next(values) for key in self.keys]


def _delayed(collection: Any, *, optimised: bool) -> list[Any]:
    if _is_array(collection):
        if collection.ndim > 1:
            collection = collection.rechunk({1: -1})
        return list(collection.to_delayed(optimize_graph=optimised).ravel())
    return list(collection.to_delayed(optimize_graph=optimised))


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
    if not all(isinstance(name, str) for name in names):
        return None, len(names), False
    return names, len(names), False
