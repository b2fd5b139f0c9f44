"""Readers: the only way from the user's data to the triples that are trained on.

Every theorem of docs/proofs begins with triples (row, label, weight), each a function of one
record and of public facts. This is ensured here. The container of the records, its type, its
order in memory and its number of records choose the route, never the result. Readers hold
public facts only, so they may be sent to the workers of a cluster.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dpscd.errors import DataError, ParameterError
from dpscd.persons import PersonFacts, PersonRows, training_weights
from dpscd.preprocessing.column_features import width_of
from dpscd.preprocessing.schema import Schema
from dpscd.records import refusals
from dpscd.records.encoding import encode, is_sparse
from dpscd.records.identifiers import (
    count_of,
    keyed_hashes,
    order_of,
    person_codes,
    person_keys,
)
from dpscd.records.labels import (
    ClassLabels,
    CountLabels,
    NumberLabels,
    exposures_in,
    label_column,
    trained_labels,
    weights_of,
)
from dpscd.records.parsing import Parsed, parse
from dpscd.records.rows import Unread, open_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Triples(NamedTuple):
    """Rows, labels in the user's units, weights: a secret. A person's rows are adjacent."""

    X: Any
    labels: Floats
    weights: Floats
    persons: PersonRows | None = None


@dataclass(frozen=True)
class RowReader:
    """Rows of numbers with labels and weights, in any container."""

    labels: ClassLabels | NumberLabels  # encoding of labels
    features: int  # number of features
    sparse: bool  # whether rows are sparse
    persons: PersonFacts | None = None  # if persons are the unit of privacy

    def triples(
        self, X: Any, y: Any, sample_weight: Any, exposure: Any = None, codes: Any = None
    ) -> Triples:
        """Return the triples, or raise DataError with one of the fixed texts.

        `codes`, with `persons`, is the number of each row's person, below 0 if it has none.

        Guarantee: the triple of a record is a function of its own cells, label, weight and
        exposure. How much a row counts in training is one of the rows of the same person.
        Proof: docs/proofs/records.md, docs/proofs/persons.md.
        """
        source = X if isinstance(X, Unread) else open_rows(X)
        rows = source.read(stored=True)
        if source.features != self.features or source.sparse != self.sparse:
            raise DataError(refusals.NOT_AS_ANNOUNCED)
        given = weights_of(sample_weight, source.count)
        labels, weights = self.labels.coded(label_column(y))
        if len(labels) != source.count:
            raise DataError(refusals.UNEQUAL)
        if exposure is not None and isinstance(self.labels, CountLabels):
            labels, weights = self.labels.exposed(labels, weights, exposure, source.count)
        persons = None
        if self.persons is not None:
            if len(codes) != source.count:
                raise DataError(refusals.UNEQUAL)
            order, starts = order_of(codes)
            if order is not None:
                rows, labels = rows[order], labels[order]
                given, weights = given[order], weights[order]
            elif not self.sparse:
                rows = rows[:]  # parts of persons are not read by themselves
            own = training_weights(starts, given, weights, self.persons.weight)
            persons = PersonRows(starts, own, self.persons.most)
        with np.errstate(all="ignore"):  # a warning would tell of large weights
            both = np.minimum(given * weights, np.finfo(np.float64).max)
        return Triples(rows, labels, both, persons)

    def whole(
        self, X: Any, y: Any, sample_weight: Any, exposure: Any = None, codes: Any = None
    ) -> Triples:
        """Return the triples of all records, at least one with positive weight."""
        found = self.triples(X, y, sample_weight, exposure, codes)
        if not found.weights.any():
            raise DataError(refusals.NO_WEIGHT)
        return found

    def count(self, part: Sequence[Any]) -> int:
        """Return the number of persons, or of records, of a partition."""
        if self.persons is not None:
            return count_of(person_codes(part[-1]))
        return int(part[0].shape[0])

    def keys(self, part: Sequence[Any], key: bytes) -> Ints:
        """Return a keyed hash of every person's identifier, in the order of their numbers."""
        return keyed_hashes(person_keys(part[-1])[1], key)

    def columns(self, part: Sequence[Any]) -> tuple[Sequence[Floats], PersonRows | None]:
        """Return no column: only columns of tables can have private bounds."""
        del part
        return (), None

    def with_bounds(self, pairs: Sequence[tuple[float, float]]) -> "RowReader":
        """Refuse: arrays have no columns with private bounds."""
        raise ParameterError(f"there are no columns for {len(pairs)} released bounds.")

    def records(self, part: Sequence[Any]) -> Triples:
        """Return the triples of a partition."""
        if int(part[0].shape[0]) == 0:
            empty = (0, self.features)
            rows = sparse.csr_array(empty, dtype=np.float32) if self.sparse else np.empty(empty)
            nobody = PersonRows(np.zeros(1, np.int64), np.empty(0), 1)
            persons = None if self.persons is None else nobody
            return Triples(rows, np.empty(0), np.empty(0), persons)
        given = (own for own in part if own is not None)
        sizes = {own.shape[0] if sparse.issparse(own) else len(own) for own in given}
        if len(sizes) != 1:
            raise DataError("X, y, sample_weight and groups are not divided alike.")
        if self.persons is None:
            found = self.triples(*part)
        else:
            X, y, sample_weight, exposure, groups = part
            found = self.triples(X, y, sample_weight, exposure, person_codes(groups))
        # A shard has all its rows at hand.
        return found if self.sparse else found._replace(X=found.X[:])


@dataclass(frozen=True)
class TableReader:
    """Records of a table, by its schema."""

    labels: ClassLabels | NumberLabels  # encoding of targets
    schema: Schema  # encoding of columns
    # released bounds of columns with private ones, by name
    bounds: Mapping[str, tuple[float, float]]
    # if persons are the unit of privacy, identified by the schema's column
    persons: PersonFacts | None = None

    @property
    def features(self) -> int:
        """Number of features."""
        return sum(width_of(part) for part in self.schema.parts)

    @property
    def sparse(self) -> bool:
        """Whether rows are sparse."""
        return is_sparse(self.schema)

    def count(self, part: Any) -> int:
        """Return the number of persons, or of records, of a partition."""
        if self.persons is not None:
            return count_of(self._codes(part))
        return len(part)

    def keys(self, part: Any, key: bytes) -> Ints:
        """Return a keyed hash of every person's identifier, in the order of their numbers."""
        missing = self.schema.layout.missing
        return keyed_hashes(person_keys(self._identifiers(part), missing)[1], key)

    def columns(self, part: Any) -> tuple[Sequence[Floats], PersonRows | None]:
        """Return the values of the columns with private bounds, in the schema's order."""
        parsed, persons = self.grouped(part)
        values = [
            parsed.target if column is self.schema.target else parsed.columns[column.name]
            for column in self.schema.private
        ]
        return values, persons

    def with_bounds(self, pairs: Sequence[tuple[float, float]]) -> "TableReader":
        """Return the reader with released bounds, in the schema's order."""
        names = [column.name for column in self.schema.private]
        bounds = dict(zip(names, pairs, strict=True))
        target = bounds.get(self.schema.target.name)
        labels = self.labels if target is None else NumberLabels(*target)
        return TableReader(labels, self.schema, bounds, self.persons)

    def records(self, part: Any) -> Triples:
        """Return the triples of a table, or of a partition of one.

        Guarantee: the triple of a record is a function of its own cells. No cell refuses
        anything.
        Proof: docs/proofs/records.md.
        """
        parsed, persons = self.grouped(part)
        rows = encode(self.schema, parsed, self.bounds, as_sparse=self.sparse)
        labels, weights = self.labels.weighed(trained_labels(self.schema.target, parsed.target))
        if isinstance(self.labels, CountLabels) and self.schema.target.exposure is not None:
            exposures, known = exposures_in(self.schema.target, parsed.columns)
            weights = np.where(known, weights, 0.0)
            labels, weights = self.labels.exposed(labels, weights, exposures, len(parsed))
        if persons is not None and self.persons is not None:
            own = training_weights(persons.starts, None, weights, self.persons.weight)
            persons = replace(persons, weights=own)
        return Triples(rows, labels, weights, persons)

    def grouped(self, part: Any) -> tuple[Parsed, PersonRows | None]:
        """Return the numbers of a table, and the persons' rows, if any, all with weight 1."""
        given = isinstance(part, Parsed)
        parsed = part if given else parse(self.schema, part)
        if self.persons is None:
            return parsed, None
        codes = part.persons if given else self._codes(part)
        order, starts = order_of(codes)
        parsed = parsed if order is None else parsed.taken(order)
        return parsed, PersonRows(starts, np.ones(len(parsed)), self.persons.most)

    def _codes(self, part: Any) -> Ints:
        return person_codes(self._identifiers(part), self.schema.layout.missing)

    def _identifiers(self, part: Any) -> Any:
        return part.set_axis([str(name) for name in part.columns], axis=1)[self.schema.person]
