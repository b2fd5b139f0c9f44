"""Persons as unit of privacy: whose rows are whose, and how much each counts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpscd.kernels.moments import fill_person_means
from dpscd.kernels.persons import MOST_ROWS, Persons

__all__ = [
    "MOST_ROWS",
    "SHARE",
    "SUM",
    "PersonFacts",
    "PersonRows",
    "training_weights",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SUM, SHARE = "sum", "share"
"""What rows of a person count in training: one each, up to the clip, or one together."""


@dataclass(frozen=True)
class PersonFacts:
    """What is public about persons as unit.

    Attributes
    ----------
    column : str or None
        The column that identifies persons; None if identifiers were given to `fit`.
    weight : {'sum', 'share'}
        What rows of a person count in training.
    most : int
        Rows of a person that step together.
    """

    column: str | None = None
    weight: str = SUM
    most: int = 100

    @property
    def rows(self) -> int:
        """How many rows of a person may count, each like a row of another person."""
        return self.most if self.weight == SUM else 1


@dataclass(frozen=True, repr=False)
class PersonRows:
    """The rows of persons, those of one after those of another: a secret but for `most`.

    Attributes
    ----------
    starts : array of int, of length persons + 1
        The rows of person g are those from ``starts[g]`` to ``starts[g + 1]``.
    weights : array of float, one a row
        How much each row counts in training.
    most : int
        Rows of a person that step together.

    Notes
    -----
    Requires: what a row holds is a function of this row and of public facts; `weights` of the
    rows of the same person. Proof: docs/proofs/persons.md.
    """

    starts: Ints
    weights: Floats
    most: int

    @property
    def count(self) -> int:
        """Number of persons."""
        return len(self.starts) - 1

    def drawn(self) -> Persons:
        """Return what a training's kernel reads, all persons beginning with their first row."""
        return Persons(self.starts, np.zeros(self.count, np.int64), self.most)

    def means(self, each: Floats, usable: npt.NDArray[np.bool_], rows: float = 1.0) -> Floats:
        """Return every person's mean of numbers of its usable rows, less of few rows.

        Parameters
        ----------
        each : array of shape (numbers, rows)
            Finite; 0 where a row adds nothing.
        usable : array of bool, one a row
            Which rows the mean is over.
        rows : float
            At least 1: the mean over m rows is multiplied by ``min(m, rows) / rows``, so that
            up to so many rows of a person count one each. With 1 persons count one each.

        Returns
        -------
        array of shape (numbers, persons)
            0 of a person without such a row.
        """
        found = np.empty((len(each), self.count))
        fill_person_means(each, usable, self.starts, found)
        if rows == 1.0:
            return found
        person = np.repeat(np.arange(self.count), np.diff(self.starts))
        many = np.bincount(person, weights=usable, minlength=self.count)
        return found * (np.minimum(many, rows) / rows)


def training_weights(starts: Ints, given: Floats | None, others: Floats, how: str) -> Floats:
    """Return how much each row counts in training.

    Parameters
    ----------
    starts : array of int
        Where the rows of each person begin.
    given : array of float or None
        Weights that users gave their rows, finite and 0 or more: how rows of one person
        compare. None if all are alike.
    others : array of float
        What else rows are multiplied by: weights of classes, exposures.
    how : {'sum', 'share'}
        Whether given weights of a person's usable rows are made to be 1 on average, or to
        sum to 1.

    Notes
    -----
    Guarantee: a function of the person's own rows.
    """
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
    with np.errstate(all="ignore"):  # a warning would tell of large weights
        weights: Floats = np.minimum(given * others, np.finfo(np.float64).max)
    return weights
