"""Moments of the features: noisy means and mean squares, to standardise rows."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpscd.errors import DataError
from dpscd.kernels.moments import add_moments, add_person_moments
from dpscd.kernels.rows import Rows, row_width
from dpscd.persons import PersonRows
from dpscd.privacy.random import Purpose
from dpscd.problem import Floats, Problem
from dpscd.releases.base import State, SumRelease
from dpscd.releases.query import Query, SomeRecords
from dpscd.standard import standard_of


@dataclass(frozen=True)
class MomentsQuery(Query):
    """Sums of features and of their squares, of rows of length at most 1.

    A record adds ``(x, x * x) / sqrt(2)``, a person the mean of what its rows would:
    docs/proofs/moments.md, docs/proofs/persons.md.
    """

    problem: Problem  # how rows are scaled; neither standardised nor with a constant column

    @property
    def shape(self) -> tuple[int, ...]:
        return (2, self.problem.d)

    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sums."""
        rows = self.problem.plain_rows(records.X)
        return self.total_of(rows, records.weights, records.persons)

    def total_of(
        self, rows: Rows, weights: Floats, persons: PersonRows | None = None
    ) -> Floats:
        """Return the exact sums of rows; records of weight 0 do not count."""
        if row_width(rows) != self.problem.d or rows.tail != 0.0:
            raise DataError("the rows do not have the plan's columns.")
        if not len(weights) == len(rows.factor) == len(rows.norm):
            raise DataError("rows and weights are not equally many.")
        total = np.zeros(self.shape)
        if persons is None:
            add_moments(rows, weights, self.step, total)
        else:
            add_person_moments(rows, weights, persons.starts, self.step, total)
        return total


@dataclass(frozen=True)
class Moments(SumRelease):
    """The release "moments". Proof: docs/proofs/moments.md."""

    what: ClassVar[str] = "moments"
    words: ClassVar[str] = "means and mean squares of the features"
    proof: ClassVar[str] = "moments"
    purpose: ClassVar[Purpose] = Purpose.MOMENTS

    @property
    def size(self) -> int:
        return 2 * self.facts.d

    def query(self, state: State) -> MomentsQuery:
        return MomentsQuery(self.n, state.problem)

    def learn(self, state: State, answer: Floats) -> State:
        """Standardise with the moments."""
        facts = self.facts
        standard = standard_of(
            *self.estimates(answer),
            centred=facts.dense and facts.intercept,
            turned=facts.dense and not facts.intercept,
            levels=state.problem.levels,
        )
        return replace(state, problem=replace(state.problem, standard=standard))

    def estimates(self, noisy: Floats) -> tuple[Floats, Floats, float]:
        """Return estimates of the means and mean squares, and the standard error of each."""
        means, squares = noisy * (np.sqrt(2.0) / self.n)
        return means, squares, error_of_means(self.noise_multiplier, self.n)


def error_of_means(noise_multiplier: float, n: int) -> float:
    """Return the standard error of released means and mean squares."""
    return float(np.sqrt(2.0) * noise_multiplier / n)
