"""What a fit has released, shown to an audit that watches: nothing else can be shown.

By the theorem everything here is public once it is released: each noisy sum, the shared vector
and the public facts of a training. An audit needs to see it from a real fit, and no estimator
has a parameter for that, so whoever watches is found in the context. The three places that
tell (:func:`~dpscd.privacy.sums.noisy_sum` and the two solvers) do so after noise was added,
and hand out copies.
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
    """Takes in what is released, in the order in which it is."""

    def summed(self, purpose: Purpose, time: int, values: Floats) -> None:
        """See a noisy sum over all records."""

    def trains(self, problem: object, plan: object) -> None:
        """See the public problem and plan of a training that begins."""

    def moved(self, steps: int, shared: Floats) -> None:
        """See the shared vector after so many steps of the training that runs."""


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
    """Return who watches, if anybody does."""
    return _WATCHER.get()


def tell_sum(purpose: Purpose, time: int, released: Floats) -> None:
    """Show a sum to which noise was added."""
    found = watcher()
    if found is not None:
        found.summed(purpose, time, released.copy())
