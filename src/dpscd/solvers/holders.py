"""Who holds the records: what a whole training asks of them, and the one in memory here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpscd.kernels.dual import Records, predictions
from dpscd.kernels.rows import Rows
from dpscd.plan import Plan
from dpscd.privacy.random import Source
from dpscd.problem import DeferredRows, Problem
from dpscd.solvers.dp_scd import dp_scd
from dpscd.solvers.moments import distance_total, label_total, moments_total, spread_total

__all__ = ["Held", "Holder", "Left", "rows_of"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Left:
    """What a pilot leaves of the labels, in units of `factor`: public, a record's own part not.

    Attributes
    ----------
    pilot : Problem
        The pilot's problem.
    shared : array
        Its shared vector, released.
    factor : float
        What is left is multiplied by this.
    """

    pilot: Problem
    shared: Floats
    factor: float

    def labels(self, rows: Rows | DeferredRows, labels: Floats) -> Floats:
        """Return what is left of labels in the user's units."""
        left = self.pilot.labels(labels) - _predicted(self.pilot, rows, self.shared)
        return left * self.factor


class Holder(Protocol):
    """Records that a training may sum over but never sees. All totals are exact, in cells."""

    @property
    def dense(self) -> bool:
        """Whether rows are dense: a public fact of their layout."""

    def label_total(self, problem: Problem, plan: Plan) -> float:
        """Return the sum of the labels."""

    def distance_total(self, problem: Problem, plan: Plan, centre: float) -> float:
        """Return the sum of half the labels' distances from a released centre."""

    def moments_total(self, problem: Problem, plan: Plan) -> Floats:
        """Return the sums of features and of their squares."""

    def left_total(self, plan: Plan, left: Left) -> float:
        """Return the sum of half the sizes of what a pilot leaves."""

    def train(
        self,
        problem: Problem,
        plan: Plan,
        source: Source,
        left: Left | None,
        progress: Callable[[int], None] | None,
    ) -> Floats:
        """Return the shared vector of a training, on labels or on what a pilot left."""


@dataclass(frozen=True)
class Held:
    """Records in the memory of this process.

    Attributes
    ----------
    X, labels, weights
        The records, labels in the user's units.
    threads : int
        How many to use at most for training.
    """

    X: Any
    labels: Floats
    weights: Floats
    threads: int = 1

    @property
    def dense(self) -> bool:
        """Whether rows are dense."""
        return not hasattr(self.X, "indptr")

    def label_total(self, problem: Problem, plan: Plan) -> float:
        """Return the sum of the labels."""
        return label_total(plan, problem.labels(self.labels), self.weights)

    def distance_total(self, problem: Problem, plan: Plan, centre: float) -> float:
        """Return the sum of half the labels' distances from a released centre."""
        return distance_total(plan, problem.labels(self.labels), centre, self.weights)

    def moments_total(self, problem: Problem, plan: Plan) -> Floats:
        """Return the sums of features and of their squares."""
        return moments_total(plan, problem.plain_rows(self.X), self.weights)

    def left_total(self, plan: Plan, left: Left) -> float:
        """Return the sum of half the sizes of what a pilot leaves."""
        distances = left.labels(rows_of(left.pilot, self.X), self.labels)
        return spread_total(plan, distances, self.weights)

    def train(
        self,
        problem: Problem,
        plan: Plan,
        source: Source,
        left: Left | None,
        progress: Callable[[int], None] | None,
    ) -> Floats:
        """Return the shared vector of a training, on labels or on what a pilot left."""
        rows = rows_of(problem, self.X)
        inner = problem.labels(self.labels) if left is None else left.labels(rows, self.labels)
        records = Records(inner, self.weights)
        return dp_scd(
            problem, plan, rows, records, source, threads=self.threads, progress=progress
        )


def rows_of(problem: Problem, X: Any) -> Rows | DeferredRows:
    """Return rows to train on: sparse ones measured, dense ones when they are read."""
    return problem.rows(X) if hasattr(X, "indptr") else DeferredRows(problem, X)


def _predicted(problem: Problem, rows: Rows | DeferredRows, shared: Floats) -> Floats:
    if isinstance(rows, DeferredRows):
        parts = [_predicted(problem, block, shared) for _, block in rows.blocks()]
        return np.concatenate([np.empty(0), *parts])
    out = np.empty(len(rows.norm))
    # A copy, because one that was sent is read-only: another compiled kernel.
    predictions(rows, shared[0].copy(), problem.strength, out)
    return out
