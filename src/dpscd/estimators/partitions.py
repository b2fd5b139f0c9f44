"""Readers: what partitions of a data set mean, sent to the workers that hold them.

They carry public parameters only, never a seed or the place of a ledger, and import nothing
of Dask: a partition is an array or a table like any other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.errors import DataError, ParameterError
from dpscd.estimators.validation import check_records
from dpscd.preprocessing.encoding import encode, is_sparse, width_of
from dpscd.preprocessing.parsing import Parsed, parse
from dpscd.preprocessing.private import count_cells
from dpscd.preprocessing.schema import Schema

__all__ = ["ArrayReader", "TableReader", "private_columns"]

Floats = npt.NDArray[np.float64]
Read = tuple[Any, Floats, Floats]


@dataclass(frozen=True)
class ArrayReader:
    """Reads partitions of rows, labels and weights.

    Attributes
    ----------
    model : estimator
        Unfitted, without its secrets.
    classes : array or None
        The declared classes.
    features : int
        Number of features.
    sparse : bool
        Whether rows are sparse.
    """

    model: Any
    classes: Any
    features: int
    sparse: bool

    def count(self, part: Sequence[Any]) -> int:
        """Return the number of records."""
        counts = {int(piece.shape[0]) for piece in part if piece is not None}
        if len(counts) != 1:
            raise DataError("X, y and sample_weight are not divided alike.")
        return counts.pop()

    def cells(self, part: Sequence[Any], limits: Sequence[Floats]) -> Floats:
        """Refuse: arrays have no columns with private bounds."""
        del part, limits
        raise ParameterError("only the columns of tables can have private bounds.")

    def records(self, part: Sequence[Any]) -> Read:
        """Return rows, labels in the user's units, and weights."""
        X, y, sample_weight = part
        if self.count(part) == 0:
            empty = (0, self.features)
            rows = sparse.csr_array(empty, dtype=np.float32) if self.sparse else np.empty(empty)
            return rows, np.empty(0), np.empty(0)
        X, y = check_records(self.model, X, y)
        if X.shape[1] != self.features or sparse.issparse(X) != self.sparse:
            raise DataError("a partition of X is not of the announced form.")
        return self.model._records(X, y, sample_weight, self.classes, part=True)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class TableReader:
    """Reads partitions of a table by its schema.

    Attributes
    ----------
    model : estimator
        Unfitted, with the schema's classes or bounds and without its secrets.
    classes : array or None
        Numbers of the classes.
    schema : Schema
        What the columns mean.
    bounds : dict
        Released bounds of columns that have private ones, by name.
    """

    model: Any
    classes: Any
    schema: Schema
    bounds: Mapping[str, tuple[float, float]]

    @property
    def features(self) -> int:
        """Number of features."""
        return sum(width_of(column) for column in self.schema.features)

    @property
    def sparse(self) -> bool:
        """Whether rows are sparse."""
        return is_sparse(self.schema)

    def count(self, part: Any) -> int:
        """Return the number of records."""
        return len(part)

    def cells(self, part: Any, limits: Sequence[Floats]) -> Floats:
        """Return how many values of each column with private bounds lie between limits."""
        return count_cells(private_columns(self.schema, self._parsed(part)), limits)

    def records(self, part: Any, *, whole: bool = False) -> Read:
        """Return rows, labels in the user's units, and weights; of a part or the `whole`."""
        parsed = self._parsed(part)
        X = encode(self.schema, parsed, self.bounds, as_sparse=self.sparse)
        y, weights = parsed.target, None
        if not self.schema.target.classes:
            known = np.isfinite(parsed.target)
            y, weights = np.where(known, parsed.target, 0.0), known.astype(np.float64)
        return self.model._records(X, y, weights, self.classes, part=not whole)  # type: ignore[no-any-return]

    def _parsed(self, part: Any) -> Parsed:
        return part if isinstance(part, Parsed) else parse(self.schema, part)


def private_columns(schema: Schema, parsed: Parsed) -> list[Floats]:
    """Return the values of the columns that have private bounds, in the schema's order."""
    return [
        parsed.target if part is schema.target else parsed.columns[part.name]
        for part in schema.private
    ]
