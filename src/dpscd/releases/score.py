"""A score of a model on held-out records: one noisy sum of vectors, and its estimate."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpscd.kernels.passes import fill_person_means
from dpscd.kernels.rows import MARGIN
from dpscd.privacy.accounting import SampledGaussian, gaussian_multiplier
from dpscd.privacy.cost import Cost, claim
from dpscd.privacy.draws import check_capacity, lattice_step
from dpscd.privacy.random import Purpose
from dpscd.privacy.relation import PrivacyTarget, Unit
from dpscd.problem import Floats
from dpscd.releases.base import Query, SumRelease
from dpscd.scores.measure import Answers, Measure, Sums
from dpscd.scores.registry import ScoreFacts

Ints = npt.NDArray[np.int64]

SCORE = "score"

_BLOCK = 1 << 22  # numbers of vectors that are held at once


def score_interval(epsilon: float) -> float:
    """Return the discretisation of the privacy loss with which scores are accounted."""
    return min(max(1e-4 * epsilon, 1e-10), 1e-3)


@lru_cache(maxsize=64)
def plan_score(target: PrivacyTarget, n: int, size: int = 1) -> Cost:
    """Return the release of a score of `size` numbers with the least noise for the target."""
    multiplier = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    while True:
        release = Cost(SCORE, SampledGaussian(1.0, multiplier, 1), 1.0, size, n)
        interval = score_interval(target.epsilon)
        found = claim([release], target.epsilon, target.delta, target.relation, interval)
        if found.epsilon <= target.epsilon:
            return release
        multiplier *= 1.002


def whole_score(each: Floats, n: int) -> Floats:
    """Return the exact sum of vectors of records, or persons, in steps of the lattice.

    Guarantee: a record, or a person, moves the sum, times the step, by at most 1.
    Proof: docs/proofs/score.md, "The release".
    """
    # Those longer than 1 are shortened to 1; one with a value that is no number counts as 0.
    inside = np.where(np.isfinite(each).all(axis=0), each, 0.0)
    with np.errstate(over="ignore"):  # a warning would reveal large numbers
        length = np.sqrt(np.square(inside).sum(axis=0))
        inside = inside / np.maximum(1.0, length)
    sums: Floats = np.trunc(inside * (MARGIN / lattice_step(n, 1.0))).sum(axis=1)
    return sums


def total_of(measure: Measure, answers: Answers, persons: Ints | None, n: int) -> Floats:
    """Return the exact sum of the vectors of records, or of the means of those of persons.

    Guarantee: a record, or a person with all its records, moves the sum, times the step, by at
    most 1.
    Proof: docs/proofs/score.md, "The release".
    """
    # `persons` is the number of each record's person, below 0 for records that do not count.
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


@dataclass(frozen=True)
class Estimate:
    """The estimate of a measure, and its intervals: numbers, or lists of numbers."""

    value: Any
    low: Any  # for the value in the population: noise and sampling error
    high: Any
    noise_low: Any  # for the value on these records: the noise alone
    noise_high: Any

    def arrays(self) -> dict[str, Floats]:
        """Return all of them as arrays, to be compared."""
        return {name: np.asarray(value, dtype=np.float64) for name, value in vars(self).items()}


@dataclass(frozen=True)
class ScoreQuery(Query):
    """The sum of the vectors of records, or of persons: docs/proofs/score.md, "The release"."""

    measure: Measure

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.measure.size,)

    def total(self, records: Any) -> Floats:
        """Return the exact sums over :class:`ScoredRecords`."""
        return total_of(self.measure, records.answers, records.persons, self.n)


@dataclass(frozen=True, repr=False)
class ScoredRecords:
    """Labels and predictions of held-out records, which are secret: only sums leave."""

    answers: Answers
    persons: npt.NDArray[np.int64] | None  # number of each record's person, if that is the unit
    count: int  # records, or persons

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all records."""
        check_capacity(query.n, self.count)
        found: Floats = query.total(self)  # type: ignore[arg-type]
        return found


@dataclass(frozen=True)
class Score(SumRelease):
    """The release "score". Proof: docs/proofs/score.md."""

    what: ClassVar[str] = SCORE
    words: ClassVar[str] = "how good the model is on held-out records"
    proof: ClassVar[str] = "score"
    purpose: ClassVar[Purpose] = Purpose.SCORE

    facts: ScoreFacts = field(repr=False)  # type: ignore[assignment]
    target: PrivacyTarget = field(repr=False)

    @classmethod
    def planned(cls, facts: ScoreFacts, target: PrivacyTarget) -> "Score":
        """Return the score with the least noise that reaches the target."""
        size = facts.measure(target).size
        event = plan_score(target, facts.n, size).event
        return cls(facts, event.noise_multiplier, target)

    @cached_property
    def measure(self) -> Measure:
        """What a record adds, and the estimate from the sum."""
        return self.facts.measure(self.target)

    @property
    def size(self) -> int:
        return self.measure.size

    def begins(self, plan: Any) -> None:
        """Return the state before it: nothing is known."""

    def query(self, state: Any) -> ScoreQuery:
        del state
        return ScoreQuery(self.n, self.measure)

    def sums(self, answer: Floats) -> Sums:
        """Return the released sums in the terms of the measure."""
        return self.measure.sums(answer, self.noise_multiplier, self.n)

    def learn(self, state: Any, answer: Floats) -> Estimate:  # type: ignore[override]
        """Return the estimate and its intervals."""
        del state
        value, whole, noise = self.measure.found(self.sums(answer), self.facts.level)
        parts = value, whole.low, whole.high, noise.low, noise.high
        return Estimate(*(np.asarray(x, dtype=np.float64).tolist() for x in parts))

    def shown(self) -> dict[str, Any]:
        """Return what was planned of it, to be read by people."""
        return self.measure.facts()

    def mechanism(self, unit: Unit) -> str:
        """Return what is released, in words."""
        return (
            f"one sum of {self.size} numbers per {unit.noun}, of length 1, noise multiplier "
            f"{self.noise_multiplier:.6g}."
        )
