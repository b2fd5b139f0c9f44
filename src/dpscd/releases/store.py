"""The store of the records: what a fit may ask of them, wherever they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpscd.kernels.dual import predictions
from dpscd.kernels.rows import Rows
from dpscd.privacy.random import Source
from dpscd.problem import DeferredRows, Floats, Problem, labels_of
from dpscd.releases.query import Query

if TYPE_CHECKING:
    from dpscd.releases.base import Observer
    from dpscd.releases.training import Training


@dataclass(frozen=True)
class Residuals:
    """Residuals of a pilot, times `factor`; public, except each record's own."""

    pilot: Problem  # the pilot's problem
    shared: Floats  # its released shared vector
    factor: float  # residuals are multiplied by this

    def labels(self, rows: Rows | DeferredRows, labels: Floats) -> Floats:
        """Return the residuals of labels in the user's units."""
        left = labels_of(self.pilot, rows, labels) - _predicted(self.pilot, rows, self.shared)
        return left * self.factor


def inner_labels(
    problem: Problem, residuals: Residuals | None, rows: Rows | DeferredRows, labels: Floats
) -> Floats:
    """Return what a training is fitted to: labels in its units, or a pilot's residuals."""
    if residuals is None:
        return labels_of(problem, rows, labels)
    return residuals.labels(rows, labels)


def _predicted(problem: Problem, rows: Rows | DeferredRows, shared: Floats) -> Floats:
    if isinstance(rows, DeferredRows):
        parts = [_predicted(problem, block, shared) for block in map(rows.read, rows.blocks)]
        return np.concatenate([np.empty(0), *parts])
    out = np.empty(len(rows.norm))
    # A copy, because one that was sent is read-only: another compiled kernel.
    predictions(rows, shared[0].copy(), problem.strength, out)
    return out


class RecordStore(Protocol):
    """Records that a fit may sum over but never sees.

    Guarantee: :meth:`total` is the one way to a sum outside a training; it is exact, in
    units, over no more records than sums can hold, and nothing else leaves.
    """

    @property
    def dense(self) -> bool:
        """Whether rows are dense: a public fact of their layout."""

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all records."""

    def bound(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Read records with released bounds of columns from now on."""

    def train(
        self,
        problem: Problem,
        plan: "Training",
        source: Source,
        residuals: Residuals | None,
        progress: Callable[[int], None] | None,
        observer: "Observer | None",
    ) -> Floats:
        """Return the shared vector of a training, on labels or on a pilot's residuals."""
