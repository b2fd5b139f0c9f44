"""The unit of privacy, in words: a record, or a person with all their records."""

import math
import re
from dataclasses import dataclass

from dpscd.errors import ParameterError
from dpscd.privacy.relation import Relation

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
                "told apart in one way."
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
            found = cls(person=_unquoted(text.removeprefix(_PERSON)))
            if found.text == text:
                return found
        raise ParameterError("unit must be a record or a person, in the words of a card.")

    def words(self, relation: Relation) -> str:
        """Return what a relation protects of the unit, as a clause of a sentence."""
        return relation.person_words if self.is_person else relation.words

    def suspicion(self, relation: Relation) -> str:
        """Return what somebody may want to find out about a unit."""
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

    Guarantee: the numbers are an upper bound. Under replace-one a person is replaced by any
    other, with 1 record or more, so their number is protected as everything else is. Under
    zero-out and add-remove a person with 1 record and the same one with 5 are no neighbours:
    each is a neighbour of the table from which the person is absent, so both are two steps
    apart, and ``P(S) <= e^epsilon (e^epsilon Q(S) + delta) + delta``: 2 epsilon, and
    (1 + e^epsilon) delta. Which of 1 and 5 it was is one contribution in place of another, the
    pair of replace-one, so that `claim` for that relation computes it more tightly.
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


def _unquoted(quoted: str) -> str:
    """Return the printable text that repr quoted, or some other text if it is not quoted."""
    return re.sub(r"\\(.)", r"\1", quoted[1:-1])


def _up(number: float) -> str:
    """Return a positive number with three digits, rounded up."""
    place = 10.0 ** (math.floor(math.log10(number)) - 2)
    return f"{math.ceil(number / place) * place:.3g}"
