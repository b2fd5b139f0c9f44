"""Released numbers of a fit, shown to an audit.

By the theorem everything here is public once it is released: each noisy sum, the shared vector
and the public facts of a training. An audit sees them from a real fit; as no estimator has a
parameter for that, the watcher is found in the context. The three places that report
(:func:`~dpscd.privacy.sums.noisy_sum` and the two solvers) do so after noise was added, and
pass copies.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dpscd.privacy.random import Purpose

__all__ = ["Watcher", "tell_sum", "watcher", "watching"]

Floats = npt.NDArray[np.float64]


class Watcher(Protocol):
    """Receives releases in their order."""

    def summed(self, purpose: Purpose, time: int, values: Floats) -> None:
        """Receive a noisy sum over all records."""

    def trains(self, problem: object, plan: object) -> None:
        """Receive the public problem and plan of a training that begins."""

    def moved(self, steps: int, shared: Floats) -> None:
        """Receive the shared vector after `steps` steps of the current training."""


_WATCHER: ContextVar[Watcher | None] = ContextVar("dpscd_watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Show to `watcher` what fits release while this context lasts."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def watcher() -> Watcher | None:
    """Return the current watcher, if there is one."""
    return _WATCHER.get()


def tell_sum(purpose: Purpose, time: int, released: Floats) -> None:
    """Report a sum to which noise was added."""
    found = watcher()
    if found is not None:
        found.summed(purpose, time, released.copy())
