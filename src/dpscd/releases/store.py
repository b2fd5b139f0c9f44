"""The store of the records: what a fit may ask of them, wherever they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from dpscd.kernels.dual import predictions
from dpscd.kernels.rows import Rows
from dpscd.privacy.random import Source
from dpscd.problem import DeferredRows, Problem, labels_of
from dpscd.releases.query import Query

if TYPE_CHECKING:
    from dpscd.plan import Plan

__all__ = ["LabelFacts", "RecordStore", "Residuals"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Residuals:
    """Residuals of a pilot, in units of `factor`; public, except each record's own."""

    pilot: Problem  # the pilot's problem
    shared: Floats  # its released shared vector
    factor: float  # residuals are multiplied by this

    def labels(self, rows: Rows | DeferredRows, labels: Floats) -> Floats:
        """Return the residuals of labels in the user's units."""
        left = labels_of(self.pilot, rows, labels) - _predicted(self.pilot, rows, self.shared)
        return left * self.factor


def _predicted(problem: Problem, rows: Rows | DeferredRows, shared: Floats) -> Floats:
    if isinstance(rows, DeferredRows):
        parts = [_predicted(problem, block, shared) for block in map(rows.read, rows.blocks)]
        return np.concatenate([np.empty(0), *parts])
    out = np.empty(len(rows.norm))
    # A copy, because one that was sent is read-only: another compiled kernel.
    predictions(rows, shared[0].copy(), problem.strength, out)
    return out


class LabelFacts(Protocol):
    """Encoding of labels, by declared or released facts."""

    def scaling(self, *, centred: bool) -> tuple[float, float]:
        """Return the public centre and scale of the labels."""


class RecordStore(Protocol):
    """Records that a fit may sum over but never sees.

    Notes
    -----
    Guarantee: :meth:`total` is the one way to a sum outside a training; it is exact, in
    units, over no more records than sums can hold, and nothing else leaves.
    """

    @property
    def dense(self) -> bool:
        """Whether rows are dense: a public fact of their layout."""

    @property
    def meaning(self) -> LabelFacts:
        """Encoding of labels."""

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all records."""

    def bound(self, pairs: Sequence[tuple[float, float]]) -> LabelFacts:
        """Take released bounds of columns; return the encoding of labels with them."""

    def train(
        self,
        problem: Problem,
        plan: "Plan",
        source: Source,
        residuals: Residuals | None,
        progress: Callable[[int], None] | None,
    ) -> Floats:
        """Return the shared vector of a training, on labels or on a pilot's residuals."""
