"""Which data sets are neighbours, and the privacy that is asked for."""

import math
from dataclasses import dataclass
from enum import StrEnum

from dpscd.errors import ParameterError

__all__ = ["PrivacyTarget", "Relation"]


class Relation(StrEnum):
    """Two data sets are neighbours when they differ in one record, in this way."""

    ZERO_OUT = "zero-out"
    """One record is replaced by one that contributes nothing; n is public."""

    REPLACE_ONE = "replace-one"
    """One record is replaced by any other; n is public. About twice the noise."""

    ADD_REMOVE = "add-remove"
    """One record is there or not; needs a declared n, the true one stays secret."""

    @property
    def words(self) -> str:
        """What the relation protects, as a clause of a sentence."""
        return {
            "zero-out": "whether a record took part or was replaced by an empty one",
            "replace-one": "whether a record was this one or any other",
            "add-remove": "whether a record was in the data at all",
        }[self.value]

    @property
    def reach(self) -> int:
        """How far neighbours can be apart, in contributions of one record."""
        return 2 if self is Relation.REPLACE_ONE else 1

    @classmethod
    def parse(cls, name: str) -> "Relation":
        """Return the relation called `name`, or raise ParameterError."""
        try:
            return cls(name)
        except ValueError:
            pass
        allowed = ", ".join(repr(r.value) for r in cls)
        raise ParameterError(f"relation={name!r} must be one of {allowed}.")


@dataclass(frozen=True)
class PrivacyTarget:
    """The guarantee to reach: (epsilon, delta) under a relation."""

    epsilon: float
    delta: float
    relation: Relation = Relation.ZERO_OUT

    def __post_init__(self) -> None:
        if not self.epsilon > 0.0:
            raise ParameterError(
                f"epsilon={self.epsilon!r} must be greater than 0 "
                "(float('inf') trains without privacy)."
            )
        if not 0.0 < self.delta < 1.0:
            raise ParameterError(f"delta={self.delta!r} must lie strictly between 0 and 1.")

    @property
    def private(self) -> bool:
        """Whether there is anything to protect: epsilon is finite."""
        return math.isfinite(self.epsilon)
