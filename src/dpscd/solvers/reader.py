"""What a shard reads: records as they are stored, and what makes triples of them."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpscd.releases.store import LabelFacts

__all__ = ["Part", "Read", "Reader"]

Floats = npt.NDArray[np.float64]
Read = tuple[Any, Floats, Floats]


class Part(Protocol):
    """Some records as they are stored, which can be read again and again."""

    @property
    def count(self) -> int | None:
        """Their number, if it is known without reading them."""

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

    def count(self, part: Any) -> int:
        """Return the number of records."""

    def columns(self, part: Any) -> Sequence[Floats]:
        """Return the values of the columns whose bounds are not declared."""

    def records(self, part: Any) -> Read:
        """Return rows, labels in the user's units, and weights."""
