"""Persons as unit of privacy: the rows of each, and their weights."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpscd.kernels.passes import fill_person_means
from dpscd.kernels.persons import Persons

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SUM, SHARE = "sum", "share"
"""What rows of a person count in training: one each, up to the clip, or one together."""


@dataclass(frozen=True)
class PersonFacts:
    """Public facts about persons as unit."""

    # the column that identifies persons; None if identifiers were given to `fit`
    column: str | None = None
    weight: str = SUM  # 'sum' or 'share': how the rows of a person count in training
    most: int = 100  # rows of a person that step together

    @property
    def rows(self) -> int:
        """Number of rows of a person that may count, each like a row of another person."""
        return self.most if self.weight == SUM else 1


@dataclass(frozen=True, repr=False)
class PersonRows:
    """The rows of persons, adjacent for each person: a secret except for `most`.

    Requires: what a row holds is a function of this row and of public facts; `weights` of the
    rows of the same person. Proof: docs/proofs/persons.md.
    """

    # of length persons + 1: the rows of person g are ``starts[g]`` to ``starts[g + 1]``
    starts: Ints
    weights: Floats  # training weight of each row
    most: int  # rows of a person that step together

    @property
    def count(self) -> int:
        """Number of persons."""
        return len(self.starts) - 1

    def drawn(self) -> Persons:
        """Return the kernel's view of the persons, each beginning with the first row."""
        return Persons(self.starts, np.zeros(self.count, np.int64), self.most)

    def means(self, each: Floats, usable: npt.NDArray[np.bool_]) -> Floats:
        """Return every person's mean of numbers of its usable rows; 0 where there is none."""
        # `each`, of shape (numbers, rows), is finite, and 0 where a row adds nothing.
        found = np.empty((len(each), self.count))
        fill_person_means(each, usable, self.starts, found)
        return found

    def further(self, usable: npt.NDArray[np.bool_], rows: float) -> Floats:
        """Return ``(min(m, rows) - 1) / rows`` for the m usable rows of every person."""
        # 0 for persons of one row or none, always below 1; `rows` is at least 1.
        person = np.repeat(np.arange(self.count), np.diff(self.starts))
        many = np.bincount(person, weights=usable, minlength=self.count)
        found: Floats = np.maximum(np.minimum(many, rows) - 1.0, 0.0) / rows
        return found


def training_weights(starts: Ints, given: Floats | None, others: Floats, how: str) -> Floats:
    """Return the training weight of each row.

    Guarantee: a function of the person's own rows.
    """
    # `given` are users' weights, which compare rows of one person: those of its usable rows are
    # made 1 on average, or to sum to 1. `others` are weights of classes, or exposures.
    given = np.ones(len(others)) if given is None else given
    sizes = np.diff(starts)
    person = np.repeat(np.arange(len(sizes)), sizes)
    usable = (given > 0.0) & (others > 0.0)
    given = np.where(usable, given, 0.0)
    largest = np.zeros(len(sizes))
    np.maximum.at(largest, person, given)
    given = given / np.where(largest > 0.0, largest, 1.0)[person]  # their sum is finite
    means = np.empty((1, len(sizes)))
    fill_person_means(given[None], usable, starts, means)
    given = given / np.where(means[0] > 0.0, means[0], 1.0)[person]
    if how == SHARE:
        counts = np.bincount(person, weights=usable, minlength=len(sizes))
        given = given / np.maximum(counts, 1.0)[person]
    with np.errstate(all="ignore"):  # a warning would reveal large weights
        weights: Floats = np.minimum(given * others, np.finfo(np.float64).max)
    return weights
