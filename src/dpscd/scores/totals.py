"""The exact sum of the contributions of held-out records, or persons, to a measure."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.kernels.moments import fill_person_means
from dpscd.privacy.score import whole_score
from dpscd.scores.measure import Answers, Measure

__all__ = ["total_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BLOCK = 1 << 22  # numbers of vectors that are held at once


def total_of(measure: Measure, answers: Answers, persons: Ints | None, n: int) -> Floats:
    """Return the exact sum of the vectors of records, or of persons.

    `answers` are secret. `persons` is the number of each record's person, below 0 for records
    without one, which do not count; a person adds the mean of its records' vectors. `n` is the
    public number of records, or of persons.

    Notes
    -----
    Guarantee: a record, or a person with all its records, moves the sum by at most 1 in units,
    for a mean of vectors is no longer than the longest.
    Proof: docs/proofs/score.md, "The release".
    """
    total = np.zeros(measure.size)
    for rows, starts in _blocks(len(answers.labels), persons, max(1, _BLOCK // measure.size)):
        each = measure.vectors(answers.at(rows))
        if starts is not None:
            means = np.empty((measure.size, len(starts) - 1))
            fill_person_means(each, np.ones(each.shape[1], bool), starts, means)
            each = means
        total += whole_score(each, n)  # whole numbers below 2^53: exact in any order
    return total


def _blocks(count: int, persons: Ints | None, most: int) -> Iterator[tuple[Any, Ints | None]]:
    """Yield blocks of about `most` records, and where persons begin; none is split."""
    if persons is None:
        for first in range(0, count, most):
            yield slice(first, first + most), None
        return
    known = np.flatnonzero(persons >= 0)
    order = known[np.argsort(persons[known], kind="stable")]
    starts = np.concatenate([np.zeros(1, np.int64), np.bincount(persons[known]).cumsum()])
    person = 0
    while person < len(starts) - 1:
        reached = int(np.searchsorted(starts, starts[person] + most, side="right")) - 1
        end = max(person + 1, reached)
        own = starts[person : end + 1]
        yield order[own[0] : own[-1]], own - own[0]
        person = end
