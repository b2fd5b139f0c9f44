"""Neighbouring relations, the unit of privacy, and the guarantee that is asked for."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from dpscd.errors import CardError, ParameterError

FORMAL = 10.0
"""Above this epsilon a record is protected in a formal sense only."""


def remedies(epsilon: float, *others: str) -> str:
    """Return remedies against noise; a larger epsilon only while it is small."""
    own = (*others, "a larger epsilon") if epsilon < FORMAL else others
    return f"{', '.join(own[:-1])} or {own[-1]}"


class RelationFacts(StrEnum):
    """A relation with its facts; :class:`Relation` lists the members."""

    words: str  # what it protects, as a clause of a sentence
    suspicion: str  # what an adversary may want to find out about a record
    person_words: str  # the same where the unit is a person with all their records
    person_suspicion: str
    # in a record's place: 'empty' (contributes nothing), 'other' (any record), 'nothing'
    absent: str
    reach: int  # how far neighbours can be apart, in contributions of one record
    # Pairs whose divergences bound a step: 'remove' and 'add' for a record that is present or
    # empty, 'replace' for one record or another.
    directions: tuple[str, ...]
    accountants: tuple[str, ...]  # the valid ones of 'PLD' and 'RDP'
    library: str  # name in dp-accounting
    needs_n: bool  # whether n is secret, so that it must be declared

    def __new__(cls, value: str, facts: Mapping[str, Any] | None = None) -> Self:
        """Return the member; only its value is compared, hashed, pickled and written."""
        member = str.__new__(cls, value)
        member._value_ = value
        vars(member).update(facts or {})
        return member

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the relation called `name`, or raise ParameterError."""
        try:
            return cls(name)
        except ValueError:
            pass
        allowed = ", ".join(repr(r.value) for r in cls)
        raise ParameterError("{relation} must be one of {}.", allowed, relation=name)


class Relation(RelationFacts):
    """Two data sets are neighbours when they differ in one record, in this way."""

    ZERO_OUT = (
        "zero-out",
        {
            "words": "whether a record took part or was replaced by an empty one",
            "suspicion": "a certain record took part or was left empty",
            "person_words": "whether a person took part, with all their records, or was "
            "replaced by an empty one",
            "person_suspicion": "a certain person took part or all their records were left "
            "empty",
            "absent": "empty",
            "reach": 1,
            "directions": ("remove", "add"),
            "accountants": ("PLD", "RDP"),
            "library": "REPLACE_SPECIAL",
            "needs_n": False,
        },
    )
    """One record is replaced by one that contributes nothing; n is public."""

    REPLACE_ONE = (
        "replace-one",
        {
            "words": "whether a record was this one or any other",
            "suspicion": "a certain record was in the data or another in its place",
            "person_words": "whether a person, with all their records, was this one or any "
            "other",
            "person_suspicion": "a certain person was in the data or another in their place",
            "absent": "other",
            "reach": 2,
            "directions": ("replace",),
            "accountants": ("PLD",),
            "library": "REPLACE_ONE",
            "needs_n": False,
        },
    )
    """One record is replaced by any other; n is public. About twice the noise."""

    ADD_REMOVE = (
        "add-remove",
        {
            "words": "whether a record was in the data at all",
            "suspicion": "a certain record was in the data or not",
            "person_words": "whether a person, with all their records, was in the data at all",
            "person_suspicion": "a certain person was in the data or not",
            "absent": "nothing",
            "reach": 1,
            "directions": ("remove", "add"),
            "accountants": ("PLD", "RDP"),
            "library": "ADD_OR_REMOVE_ONE",
            "needs_n": True,
        },
    )
    """One record is there or not; needs a declared n, the true one stays secret."""


@dataclass(frozen=True)
class PrivacyTarget:
    """The guarantee to reach: (epsilon, delta) under a relation."""

    epsilon: float
    delta: float
    relation: Relation = Relation.ZERO_OUT

    def __post_init__(self) -> None:
        if not self.epsilon > 0.0:
            raise ParameterError("{epsilon} must be greater than 0.", epsilon=self.epsilon)
        if not 0.0 < self.delta < 1.0:
            raise ParameterError("{delta} must lie strictly between 0 and 1.", delta=self.delta)

    @property
    def private(self) -> bool:
        """Whether there is anything to protect: epsilon is finite."""
        return math.isfinite(self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return the target as plain JSON values; an infinite epsilon is "inf"."""
        epsilon = self.epsilon if self.private else "inf"
        return {"epsilon": epsilon, "delta": self.delta, "relation": self.relation.value}

    @classmethod
    def from_dict(cls, values: Any) -> "PrivacyTarget":
        """Return the target that `to_dict` wrote, or raise CardError."""
        good = isinstance(values, dict) and set(values) == {"epsilon", "delta", "relation"}
        if not good:
            raise CardError("the target is malformed.")
        epsilon = math.inf if values["epsilon"] == "inf" else values["epsilon"]
        if type(epsilon) is not float or type(values["delta"]) is not float:
            raise CardError("epsilon and delta must be numbers with a point.")
        return cls(epsilon, values["delta"], Relation.parse(values["relation"]))


_RECORD = "a record; a person with several records is protected only as a group of them"
_PERSON = "a person: all records with the same value of "
_GROUPS = "the groups given to fit"

_LONGEST = 200  # characters of the name of a column


@dataclass(frozen=True)
class Unit:
    """What one guarantee, or one budget, protects; a record by default."""

    # Units are equal if their texts are: persons by two columns are two units, and so are
    # persons by a column and by groups given to ``fit``, whether or not they are the same
    # people.

    person: str | None = None  # column of a table whose values identify persons
    groups: bool = False  # whether persons are the groups given to ``fit``

    def __post_init__(self) -> None:
        name = self.person
        if name is not None and not (
            isinstance(name, str) and 0 < len(name) <= _LONGEST and name.isprintable()
        ):
            raise ParameterError(
                f"person must be the name of a column, of 1 to {_LONGEST} printable characters."
            )
        if type(self.groups) is not bool or (self.groups and name is not None):
            raise ParameterError(
                "groups must be True or False, and False if person names a column: persons are "
                "identified in one way."
            )

    @property
    def is_person(self) -> bool:
        """Whether persons are protected, not single records."""
        return self.groups or self.person is not None

    @property
    def noun(self) -> str:
        """The unit that n counts: 'record' or 'person'."""
        return "person" if self.is_person else "record"

    @property
    def text(self) -> str:
        """The unit as cards and ledgers state it."""
        if not self.is_person:
            return _RECORD
        return _PERSON + (_GROUPS if self.person is None else repr(self.person))

    @classmethod
    def parse(cls, text: str) -> "Unit":
        """Return the unit with this text, or raise ParameterError."""
        if text == _RECORD:
            return cls()
        if text == _PERSON + _GROUPS:
            return cls(groups=True)
        if isinstance(text, str) and text.startswith(_PERSON):
            # What repr quoted; some other text if it is not quoted.
            name = re.sub(r"\\(.)", r"\1", text.removeprefix(_PERSON)[1:-1])
            found = cls(person=name)
            if found.text == text:
                return found
        raise ParameterError("unit must be a record or a person, in the words of a card.")

    def words(self, relation: Relation) -> str:
        """Return what a relation protects of the unit, as a clause of a sentence."""
        return relation.person_words if self.is_person else relation.words

    def suspicion(self, relation: Relation) -> str:
        """Return what an adversary may want to find out about a unit."""
        return relation.person_suspicion if self.is_person else relation.suspicion


RECORD = Unit()


def assumptions(what: str, records: str, *more: str) -> tuple[str, ...]:
    """Return what every guarantee assumes; `what` leaves, and `records` are protected."""
    return (
        "the data are finite and well typed: that an error occurs depends on the data",
        f"everything listed as public was known without looking at the {records}",
        *more,
        f"only the {what} leaves: neither the time taken nor the memory of the process is seen",
    )


def about_record_count(relation: Relation, epsilon: float, delta: float) -> str:
    """Return what a guarantee for persons says about a person's number of records.

    Guarantee: the numbers are an upper bound.
    Proof: docs/proofs/persons.md, "Theorem".
    """
    if relation.absent == "other":
        return (
            "how many records a person has is protected as all else about them: they may be "
            "replaced by somebody with any number of records, 1 or more"
        )
    first = (
        "epsilon protects whether a person took part; how many records somebody who took part "
        "has is "
    )
    more = (1.0 + math.exp(min(epsilon, 700.0))) * delta
    if more >= 1.0:
        return f"{first}not protected"
    return f"{first}protected less, at epsilon {2.0 * epsilon:g} and delta {_up(more)}"


def _up(number: float) -> str:
    """Return a positive number with three digits, rounded up."""
    place = 10.0 ** (math.floor(math.log10(number)) - 2)
    return f"{math.ceil(number / place) * place:.3g}"
