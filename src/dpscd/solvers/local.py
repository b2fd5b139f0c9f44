"""Records in the memory of this process."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records
from dpscd.persons import PersonRows
from dpscd.privacy.draws import check_capacity
from dpscd.privacy.random import Source
from dpscd.problem import Floats, Problem, rows_of
from dpscd.releases.base import Observer, Query, Residuals, inner_labels, sum_over
from dpscd.releases.training import Training
from dpscd.solvers.dp_scd import dp_scd
from dpscd.solvers.on_device import device_scd

_BLOCK = 4096  # rows that are read at once


@dataclass(frozen=True, repr=False)
class LocalRecords:
    """Records in memory: a :class:`~dpscd.releases.base.RecordStore`."""

    X: Any
    labels: Floats  # in the user's units
    weights: Floats
    threads: int = 1  # largest number of threads in training
    # rows of each person; None if every record is a unit by itself
    persons: PersonRows | None = None
    engine: str = "numba"  # one of :data:`~dpscd.solvers.on_device.ENGINES`

    @property
    def dense(self) -> bool:
        """Whether rows are dense."""
        return not hasattr(self.X, "indptr")

    @property
    def columns(self) -> Sequence[Floats]:
        """Only a table has columns whose bounds are not declared."""
        return ()

    @property
    def count(self) -> int:
        """Number of persons, or of records."""
        return len(self.weights) if self.persons is None else self.persons.count

    @property
    def training_weights(self) -> Floats:
        """Weight of each row in training."""
        return self.weights if self.persons is None else self.persons.weights

    def on(self, engine: str) -> "LocalRecords":
        """Return the same records, to be trained on by another engine."""
        return replace(self, engine=engine)

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all records."""
        check_capacity(query.n, self.count)
        return sum_over(query, self._parts())

    def _parts(self) -> "Iterator[LocalRecords]":
        """Yield all records, dense rows in blocks: their sums are exact anyway."""
        if not self.dense or self.persons is not None:
            yield self
            return
        for first in range(0, self.count, _BLOCK):
            block = slice(first, first + _BLOCK)
            yield replace(
                self, X=self.X[block], labels=self.labels[block], weights=self.weights[block]
            )

    def bound(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Only a table has columns whose bounds are released."""
        raise ParameterError(f"there are no columns for {len(pairs)} released bounds.")

    def train(
        self,
        problem: Problem,
        plan: Training,
        source: Source,
        residuals: Residuals | None,
        progress: Callable[[int], None] | None,
        observer: Observer | None,
    ) -> Floats:
        """Return the shared vector of a training, on labels or on a pilot's residuals."""
        rows = rows_of(problem, self.X)
        inner = inner_labels(problem, residuals, rows, self.labels)
        records = Records(inner, self.training_weights)
        if self.engine == "jax":
            return device_scd(
                problem, plan, rows, records, source, progress=progress, observer=observer
            )
        return dp_scd(
            problem, plan, rows, records, source,
            persons=self.persons, threads=self.threads, progress=progress,
            observer=observer,
        )  # fmt: skip
