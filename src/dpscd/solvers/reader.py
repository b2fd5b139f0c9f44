"""What a shard reads: records as they are stored, and what makes triples of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dpscd.persons import PersonFacts, PersonRows
from dpscd.releases.store import LabelFacts

__all__ = ["Part", "Read", "Reader"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Read(NamedTuple):
    """Records that were read: rows, labels, weights, and whose rows are whose."""

    X: Any
    labels: Floats
    weights: Floats
    persons: PersonRows | None = None


class Part(Protocol):
    """Some records as they are stored, which can be read again and again."""

    @property
    def count(self) -> int | None:
        """Their number of rows, if it is known without reading them."""

    def load(self) -> Any:
        """Return the records as they are stored."""


class Reader(Protocol):
    """What turns stored records into rows, labels and weights: public facts only."""

    @property
    def features(self) -> int:
        """Number of features."""

    @property
    def sparse(self) -> bool:
        """Whether rows are sparse."""

    @property
    def labels(self) -> LabelFacts:
        """What labels mean."""

    def with_bounds(self, pairs: Sequence[tuple[float, float]]) -> "Reader":
        """Return what reads with released bounds of columns."""

    @property
    def persons(self) -> PersonFacts | None:
        """What is public about persons, if they are the unit of privacy."""

    def count(self, part: Any) -> int:
        """Return the number of persons, or of records."""

    def keys(self, part: Any, key: bytes) -> Ints:
        """Return a keyed hash of every person's identifier, two whole numbers each."""

    def columns(self, part: Any) -> tuple[Sequence[Floats], PersonRows | None]:
        """Return the values of the columns whose bounds are not declared, and of whom."""

    def records(self, part: Any) -> Any:
        """Return rows, labels in the user's units, weights, and whose rows are whose."""
