"""Stored records, and the reader that turns them into triples."""

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
    """Records that were read: rows, labels, weights, and the rows of each person."""

    X: Any
    labels: Floats
    weights: Floats
    persons: PersonRows | None = None


class Part(Protocol):
    """Stored records that can be read repeatedly."""

    @property
    def count(self) -> int | None:
        """Number of rows, if it is known without reading them."""

    def load(self) -> Any:
        """Return the records as they are stored."""


class Reader(Protocol):
    """Turns stored records into rows, labels and weights; it holds public facts only."""

    @property
    def features(self) -> int:
        """Number of features."""

    @property
    def sparse(self) -> bool:
        """Whether rows are sparse."""

    @property
    def labels(self) -> LabelFacts:
        """Encoding of labels."""

    def with_bounds(self, pairs: Sequence[tuple[float, float]]) -> "Reader":
        """Return the reader with released bounds of columns."""

    @property
    def persons(self) -> PersonFacts | None:
        """Public facts about persons, if they are the unit of privacy."""

    def count(self, part: Any) -> int:
        """Return the number of persons, or of records."""

    def keys(self, part: Any, key: bytes) -> Ints:
        """Return a keyed hash of every person's identifier, two whole numbers each."""

    def columns(self, part: Any) -> tuple[Sequence[Floats], PersonRows | None]:
        """Return the values of the columns whose bounds are not declared, and their persons."""

    def records(self, part: Any) -> Any:
        """Return rows, labels in the user's units, weights, and the rows of each person."""
