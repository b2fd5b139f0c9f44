"""Moments: noisy means of features and their squares, and location and scale of labels."""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpscd import losses
from dpscd.errors import DataError, ParameterError
from dpscd.kernels.passes import add_moments, add_person_moments
from dpscd.kernels.rows import Rows, row_width
from dpscd.persons import PersonRows
from dpscd.privacy.random import Purpose
from dpscd.problem import Floats, Model, Problem, rows_of
from dpscd.releases.base import Query, Residuals, SomeRecords, State, SumRelease, whole_sums
from dpscd.standard import standard_of

# A mean distance whose error is more than this, in halves of the declared range, is not asked
# for, but the mean of so many octaves: its error is relative, whatever part of that range
# labels use. For normal labels the distance at the mean octave is about this part of the mean
# one, if few distances lie below the last octave.
_FINE = 0.005
_OCTAVES = 8.0
_OF_MEAN = 0.668

# What a pilot leaves must be less than this part of the spread before it, to start from it.
_MUCH = 0.85


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
        return means, squares, self.error

    @property
    def error(self) -> float:
        """Standard error of the released means and mean squares."""
        return float(np.sqrt(2.0) * self.noise_multiplier / self.n)


@dataclass(frozen=True)
class OneNumberQuery(Query):
    """A sum of one number of size at most 1 per record."""

    shape: ClassVar = (1,)

    @abstractmethod
    def each(self, records: SomeRecords) -> Floats:
        """Return one number per record, between -1 and 1, or NaN."""

    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sum; records of weight 0 do not count."""
        each = self.each(records)
        if len(each) != len(records.weights):
            raise DataError("labels and weights are not equally many.")
        return whole_sums(each[None], np.isfinite(each), records, self.step)


@dataclass(frozen=True)
class LabelQuery(OneNumberQuery):
    """The sum of the labels."""

    problem: Problem  # as declared; sets the unit of labels

    def each(self, records: SomeRecords) -> Floats:
        """Return labels, clipped to the declared bounds."""
        return np.clip(self.problem.labels(records.labels), -1.0, 1.0)


@dataclass(frozen=True)
class DistanceQuery(LabelQuery):
    """The sum of half the distances of labels from a released centre."""

    centre: float  # between -1 and 1

    def each(self, records: SomeRecords) -> Floats:
        """Return half the distances, each at most 1."""
        return _half(super().each(records) - self.centre)


@dataclass(frozen=True)
class OctaveQuery(DistanceQuery):
    """The sum of the octaves of labels' distances from a released centre."""

    # A half distance of 1 is in octave 1, of ``2^-k`` in octave ``1 - k / 8``, and of ``2^-8``
    # or less in octave 0; between powers of two octaves grow in a straight line.

    def each(self, records: SomeRecords) -> Floats:
        """Return the octaves, each between 0 and 1."""
        # From mantissa and exponent: logarithms of whole arrays may round equal numbers
        # differently.
        half = super().each(records)
        mantissa, exponent = np.frexp(half)
        found: Floats = 1.0 + (exponent + 2.0 * mantissa - 2.0) / _OCTAVES
        found[half == 0.0] = 0.0  # whose exponent says nothing
        return np.maximum(found, 0.0)


@dataclass(frozen=True)
class ResidualQuery(OneNumberQuery):
    """The sum of half the sizes of a pilot's residuals, cut at 2 in declared units."""

    residuals: Residuals

    def each(self, records: SomeRecords) -> Floats:
        """Return half the sizes, each at most 1."""
        rows = rows_of(self.residuals.pilot, records.X)
        return _half(self.residuals.labels(rows, records.labels))


def _half(distances: Floats) -> Floats:
    found: Floats = np.minimum(np.abs(distances), 2.0) / 2.0
    return found


@dataclass(frozen=True)
class MeanRelease(SumRelease):
    """The mean of one number per record."""

    proof: ClassVar[str] = "moments"
    size: ClassVar = 1

    def mean(self, answer: Floats) -> float:
        """Return the noisy mean over the public n."""
        return float(answer[0] / self.n)


@dataclass(frozen=True)
class LabelMean(MeanRelease):
    """The release "label mean", where there is an intercept. Proof: docs/proofs/moments.md."""

    what: ClassVar[str] = "label mean"
    words: ClassVar[str] = "mean of what is predicted"
    purpose: ClassVar[Purpose] = Purpose.LABEL_MEAN

    def query(self, state: State) -> LabelQuery:
        return LabelQuery(self.n, state.declared)

    def learn(self, state: State, answer: Floats) -> State:
        """Take the mean; a centre outside the bounds is moved to them."""
        centre = min(1.0, max(-1.0, self.mean(answer)))
        return replace(state, centre=centre, problem=state.problem.with_mean(centre))


@dataclass(frozen=True)
class LabelSpread(MeanRelease):
    """The release "label spread", which scales labels. Proof: docs/proofs/moments.md."""

    # The mean distance from the centre; regressions with much noise release the mean octave.

    what: ClassVar[str] = "label spread"
    words: ClassVar[str] = "typical distance of what is predicted from its centre"
    purpose: ClassVar[Purpose] = Purpose.LABEL_SPREAD

    def query(self, state: State) -> DistanceQuery:
        kind = DistanceQuery if self._fine(state) else OctaveQuery
        return kind(self.n, state.declared, state.centre)

    def learn(self, state: State, answer: Floats) -> State:
        """Scale labels with the spread."""
        mean, declared = self.mean(answer), state.declared
        spread = self.seen(2.0 * mean) if self._fine(state) else self.at_octave(mean)
        unit = declared.label_scale
        problem = state.problem.with_labels(
            declared.label_centre + unit * state.centre, unit * spread
        )
        return replace(state, problem=problem)

    def _fine(self, state: State) -> bool:
        """Return whether a mean distance is exact enough; counts have no octaves."""
        fine = 2.0 * self.noise_multiplier / self.n <= _FINE
        return fine or not losses.is_of_errors(state.declared.loss)

    def at_octave(self, mean: float) -> float:
        """Return the approximate mean distance of normal labels at a mean octave."""
        whole, part = divmod(_OCTAVES * min(1.0, max(0.0, mean)), 1.0)
        half = math.ldexp(1.0 + part, int(whole - _OCTAVES))
        return min(1.0, 2.0 * half / _OF_MEAN)

    def seen(self, spread: float) -> float:
        """Return the expected spread, given that it is positive and the released one."""
        # The mean of a normal number around `spread` with the release's error, if it is known
        # to be positive: about `spread` where the error is relatively small, about an error
        # where it is not. Too large a spread costs more than one that is too small.
        error = 2.0 * self.noise_multiplier / self.n
        ratio = max(-30.0, spread / error)
        density = math.exp(-0.5 * ratio * ratio) / math.sqrt(2.0 * math.pi)
        probability = 0.5 * math.erfc(-ratio / math.sqrt(2.0))
        return min(1.0, max(error * ratio + error * density / probability, 1e-3))


@dataclass(frozen=True)
class ResidualSpread(LabelSpread):
    """The release "label spread" again, of residuals. Proof: docs/proofs/moments.md."""

    at: ClassVar[range] = range(1, 2)

    def query(self, state: State) -> ResidualQuery:  # type: ignore[override]
        return ResidualQuery(self.n, self._pilot(state)[1])

    def learn(self, state: State, answer: Floats) -> State:
        """Fit the residuals of the pilot, if it explains much."""
        model, left = self._pilot(state)
        scale, unit = state.problem.label_scale, state.declared.label_scale
        spread = self.seen(2.0 * self.mean(answer))
        if not spread * unit < _MUCH * scale:
            return state
        return replace(
            state,
            start=model,
            residuals=replace(left, factor=scale / (spread * unit)),
            problem=state.problem.with_labels(0.0, spread * unit),
        )

    def _pilot(self, state: State) -> tuple[Model, Residuals]:
        if state.pilot is None:
            raise ParameterError("the plan has no pilot before this release.")
        return state.pilot
