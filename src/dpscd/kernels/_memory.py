"""Prefetch and atomics: what they do in Python, and compiled (:mod:`dpscd.kernels._llvm`)."""

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.late import when_loaded

#: Bytes that memory hands out at once.
LINE = 64


def prefetch(matrix: npt.NDArray[Any], row: int, size: int) -> None:
    """Prefetch the first `size` bytes of a row; only time depends on it."""


def look(shared: npt.NDArray[np.int64], place: int) -> int:
    """Load an entry that other threads change, with acquire order."""
    return int(shared[place])


def put(shared: npt.NDArray[np.int64], place: int, value: int) -> None:
    """Store an entry with release order: a thread that reads it sees all earlier writes."""
    shared[place] = value


def count_up(shared: npt.NDArray[np.int64], place: int, more: int) -> None:
    """Add to an entry atomically."""
    shared[place] += more


def swap(shared: npt.NDArray[np.int64], place: int, before: int, after: int) -> bool:
    """Set an entry from `before` to `after` atomically; return whether it was `before`."""
    if shared[place] != before:
        return False
    shared[place] = after
    return True


when_loaded(lambda _: import_module("dpscd.kernels._llvm"))
