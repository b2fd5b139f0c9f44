"""The records of a table in memory; rows are made when the bounds of columns are known."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.plan import Plan
from dpscd.preprocessing.parsing import Parsed
from dpscd.privacy.random import Source
from dpscd.privacy.sums import check_capacity
from dpscd.problem import Problem
from dpscd.records.door import TableDoor
from dpscd.records.redaction import redact_errors
from dpscd.releases.query import Query, sum_over
from dpscd.releases.store import LabelFacts, Residuals
from dpscd.solvers.local import LocalRecords

__all__ = ["TableRecords"]

Floats = npt.NDArray[np.float64]


class TableRecords:
    """Parsed records: a :class:`~dpscd.releases.store.RecordStore`.

    `parsed` is a secret. `persons` holds each person's rows, all of weight 1; None if every
    record is a unit by itself. Rows are made at once where all bounds are declared, else when
    they were released; no error of this class says anything about a record either way.
    """

    def __init__(self, door: TableDoor, parsed: Parsed, threads: int) -> None:
        self._door, self._parsed, self._threads = door, parsed, threads
        self._engine = "numba"
        self.persons = redact_errors(lambda: door.grouped(parsed)[1])
        self._rows = None if door.schema.private else self._encoded()

    def _encoded(self) -> LocalRecords:
        triples = redact_errors(lambda: self._door.records(self._parsed))
        return LocalRecords(
            *triples[:3], self._door.labels, self._threads, triples.persons, self._engine
        )

    def on(self, engine: str) -> "TableRecords":
        """Return the same records, to be trained on by another engine."""
        self._engine = engine
        self._rows = self._rows and self._rows.on(engine)
        return self

    @property
    def rows(self) -> LocalRecords:
        """The records as training rows."""
        if self._rows is None:
            self._rows = self._encoded()
        return self._rows

    @property
    def X(self) -> Any:  # noqa: N802 - as everywhere
        """Rows, dense or CSR."""
        return self.rows.X

    @property
    def labels(self) -> Floats:
        """Labels in the user's units."""
        return self.rows.labels

    @property
    def weights(self) -> Floats:
        """Weight of each record."""
        return self.rows.weights

    @property
    def training_weights(self) -> Floats:
        """Weight of each row in training."""
        return self.rows.training_weights

    @property
    def dense(self) -> bool:
        """Whether rows are dense."""
        return not self._door.sparse

    @property
    def meaning(self) -> LabelFacts:
        """Encoding of the target."""
        return self._door.labels

    @property
    def columns(self) -> Sequence[Floats]:
        """Values of the columns whose bounds are not declared."""
        return redact_errors(lambda: self._door.columns(self._parsed)[0])

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all records."""
        check_capacity(query.n, len(self._parsed) if not self.persons else self.persons.count)
        return sum_over(query, [self])

    def bound(self, pairs: Sequence[tuple[float, float]]) -> LabelFacts:
        """Take released bounds of columns; return the encoding of the target with them."""
        self._door, self._rows = self._door.with_bounds(pairs), None
        return self.meaning

    def train(
        self,
        problem: Problem,
        plan: Plan,
        source: Source,
        residuals: Residuals | None,
        progress: Callable[[int], None] | None,
    ) -> Floats:
        """Return the shared vector of a training, on labels or on a pilot's residuals."""
        return self.rows.train(problem, plan, source, residuals, progress)
