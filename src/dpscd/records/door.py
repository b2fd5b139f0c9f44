"""The door: the one way from what users give to the triples that are trained on.

Every theorem of docs/proofs begins with triples (row, label, weight), each a function of one
record and of public facts. Here that is made so. Whatever container the records come in, its
type, its order in memory or its number of records choose the route, never the result.

Doors carry public facts only, so they may be sent to the workers of a cluster.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.errors import DataError, ParameterError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.containers import RowSource
from dpscd.preprocessing.encoding import encode, is_sparse, width_of
from dpscd.preprocessing.parsing import Parsed, parse
from dpscd.preprocessing.schema import Schema
from dpscd.records.labels import (
    ClassLabels,
    CountLabels,
    NumberLabels,
    check_some,
    label_column,
    weights_of,
)

__all__ = ["ArrayDoor", "TableDoor", "Triples"]

Floats = npt.NDArray[np.float64]


class Triples(NamedTuple):
    """Rows, labels in the user's units, and weights of records: a secret."""

    X: Any
    labels: Floats
    weights: Floats


@dataclass(frozen=True)
class ArrayDoor:
    """Rows of numbers with labels and weights, in any container.

    Attributes
    ----------
    labels : ClassLabels or NumberLabels
        What labels mean.
    features : int
        Number of features.
    sparse : bool
        Whether rows are sparse.
    """

    labels: ClassLabels | NumberLabels
    features: int
    sparse: bool

    def triples(self, X: Any, y: Any, sample_weight: Any, exposure: Any = None) -> Triples:
        """Return the triples, or raise DataError with one of the fixed texts.

        Notes
        -----
        Guarantee: the triple of a record is a function of its own cells, label, weight and
        exposure.
        Proof: docs/proofs/door.md.
        """
        source = X if isinstance(X, RowSource) else RowSource(X)
        rows = source.read()
        if source.features != self.features or source.sparse != self.sparse:
            raise DataError(refusals.NOT_AS_ANNOUNCED)
        given = weights_of(sample_weight, source.count)
        labels, weights = self.labels.coded(label_column(y))
        if len(labels) != source.count:
            raise DataError(refusals.UNEQUAL)
        if exposure is not None and isinstance(self.labels, CountLabels):
            labels, weights = self.labels.exposed(labels, weights, exposure, source.count)
        with np.errstate(all="ignore"):  # a warning would tell of large weights
            both = np.minimum(given * weights, np.finfo(np.float64).max)
        return Triples(rows, labels, both)

    def whole(self, X: Any, y: Any, sample_weight: Any, exposure: Any = None) -> Triples:
        """Return the triples of all records, of which at least one must count."""
        found = self.triples(X, y, sample_weight, exposure)
        check_some([found.weights])
        return found

    def count(self, part: Sequence[Any]) -> int:
        """Return the number of records of a partition."""
        return int(part[0].shape[0])

    def columns(self, part: Sequence[Any]) -> Sequence[Floats]:
        """Return none: only columns of tables can have private bounds."""
        del part
        return ()

    def with_bounds(self, pairs: Sequence[tuple[float, float]]) -> "ArrayDoor":
        """Refuse: arrays have no columns with private bounds."""
        raise ParameterError(f"there are no columns for {len(pairs)} released bounds.")

    def records(self, part: Sequence[Any]) -> Triples:
        """Return the triples of a partition."""
        if self.count(part) == 0:
            empty = (0, self.features)
            rows = sparse.csr_array(empty, dtype=np.float32) if self.sparse else np.empty(empty)
            return Triples(rows, np.empty(0), np.empty(0))
        if len({_length(piece) for piece in part if piece is not None}) != 1:
            raise DataError("X, y and sample_weight are not divided alike.")
        return self.triples(*part)


@dataclass(frozen=True)
class TableDoor:
    """Records of a table, by its schema.

    Attributes
    ----------
    labels : ClassLabels or NumberLabels
        What targets mean.
    schema : Schema
        What the columns mean.
    bounds : dict
        Released bounds of columns that have private ones, by name.
    """

    labels: ClassLabels | NumberLabels
    schema: Schema
    bounds: Mapping[str, tuple[float, float]]

    @property
    def features(self) -> int:
        """Number of features."""
        return sum(width_of(part) for part in self.schema.parts)

    @property
    def sparse(self) -> bool:
        """Whether rows are sparse."""
        return is_sparse(self.schema)

    def count(self, part: Any) -> int:
        """Return the number of records of a partition."""
        return len(part)

    def columns(self, part: Any) -> Sequence[Floats]:
        """Return the values of the columns with private bounds, in the schema's order."""
        parsed = self._parsed(part)
        return [
            parsed.target if column is self.schema.target else parsed.columns[column.name]
            for column in self.schema.private
        ]

    def with_bounds(self, pairs: Sequence[tuple[float, float]]) -> "TableDoor":
        """Return the door with released bounds, in the schema's order."""
        names = [column.name for column in self.schema.private]
        bounds = dict(zip(names, pairs, strict=True))
        target = bounds.get(self.schema.target.name)
        labels = self.labels if target is None else NumberLabels(*target)
        return TableDoor(labels, self.schema, bounds)

    def records(self, part: Any) -> Triples:
        """Return the triples of a table, or of a partition of one.

        Notes
        -----
        Guarantee: the triple of a record is a function of its own cells. No cell refuses
        anything.
        Proof: docs/proofs/door.md.
        """
        parsed = self._parsed(part)
        rows = encode(self.schema, parsed, self.bounds, as_sparse=self.sparse)
        return Triples(rows, *self.labels.weighed(parsed.target))

    def _parsed(self, part: Any) -> Parsed:
        return part if isinstance(part, Parsed) else parse(self.schema, part)


def _length(piece: Any) -> int:
    """Return the number of records; a sparse matrix has no length."""
    return int(piece.shape[0]) if sparse.issparse(piece) else len(piece)
