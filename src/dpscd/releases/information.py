"""Noisy Hessian and score covariance at the trained model, for standard errors."""

import math
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import ClassVar, cast

import numpy as np

from dpscd.errors import ParameterError
from dpscd.inference import Measure, measure_of, released_size
from dpscd.kernels.passes import fill_probabilities, predictions
from dpscd.kernels.rows import MARGIN, DenseRows
from dpscd.problem import DeferredRows, Floats, Problem
from dpscd.releases.base import Query, Residuals, SomeRecords, State, SumRelease, inner_labels

# A record with a slope beyond this counts for nothing: its square must be a number.
_LARGEST = 1e100


@dataclass(frozen=True)
class InformationQuery(Query):
    """Sums of the second derivatives of records' losses, and of their squared slopes.

    A record with row z, slope s and second derivative c adds c z z^T and s^2 z z^T (or its
    trace), both packed and shortened where they are longer than 1 together; a person adds the
    means over its rows, slopes times rows before they are squared: docs/proofs/intervals.md.
    """

    problem: Problem  # as trained: standardised, of one output
    theta: Floats  # the trained model, of shape (width,), in the problem's units
    measure: Measure  # how rows and slopes are cut
    residuals: Residuals | None = None  # of a pilot, if training was on them

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.measure.size,)

    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sums; values that are not numbers do not count.

        Guarantee: a record, or a person, adds a vector of length at most 1. This rests on
        `factor` alone. Proof: docs/proofs/intervals.md.
        """
        with np.errstate(all="ignore"):
            return self._total(_Units(self, records))

    def _total(self, units: "_Units") -> Floats:
        measure, width = self.measure, self.measure.width
        first, second = measure.parts
        curvature, variance = first / (measure.curved * measure.row**2), second / measure.cap**2
        pulls = [units.pull(j) for j in range(width)]
        long = units.of(units.curves * units.norm * units.norm) * curvature
        trace = sum(pull * pull for pull in pulls) * variance
        factor = 1.0 / np.maximum(1.0, np.sqrt(long * long + trace * trace))
        found = []
        for j, k in combinations_with_replacement(range(width), 2):
            each = units.of(units.curves * units.column(j) * units.column(k)) * factor
            found.append(np.where(units.inside, each * (curvature * _twice(j, k)), 0.0))
        if measure.robust:
            for j, k in combinations_with_replacement(range(width), 2):
                found.append(pulls[j] * pulls[k] * factor * (variance * _twice(j, k)))
        elif second:
            found.append(trace * factor)
        # Each cut toward zero, so that sums are whole numbers: exact in any order.
        return np.array([np.trunc(x * (MARGIN / self.step)).sum() for x in found])

    def slopes(self, rows: DenseRows, records: SomeRecords) -> tuple[Floats, Floats]:
        """Return minus the slope and the second derivative of each record's loss."""
        found = np.empty((2, len(rows.norm)))
        if self.measure.logistic:
            whole = np.ones(len(rows.norm))
            fill_probabilities(
                rows, whole, self.theta, 0.0, 1.0, np.ones(2), found[0], found[1]
            )
            return (records.labels > 0.0) - found[0], found[1]
        deferred = DeferredRows(self.problem, records.X)
        labels = inner_labels(self.problem, self.residuals, deferred, records.labels)
        predictions(rows, self.theta, 1.0, found[0])
        found[1] = 1.0
        return labels - found[0], found[1]


class _Units:
    """Contributions of records, or persons, to the two matrices."""

    def __init__(self, query: InformationQuery, records: SomeRecords) -> None:
        self._rows = query.problem.block(records.X)
        self._persons, self._counted = records.persons, records.weights > 0.0
        self._d, cap = query.problem.d, query.measure.cap
        slopes, curved = query.slopes(self._rows, records)
        norm = self._rows.norm
        usable = self._counted & (norm > 0.0) & (norm <= 1.0 + 2.0**-30)
        usable &= (np.abs(slopes) < _LARGEST) & np.isfinite(curved)
        self._usable = usable
        self.norm = np.where(usable, norm, 1.0)
        self._short = np.minimum(1.0, query.measure.row / self.norm)
        self._slopes = np.where(usable, slopes, 0.0)
        self.curves = np.where(usable, curved, 0.0) * self._short * self._short
        pulled = np.abs(self._slopes) * self.norm
        if self._persons is not None:
            each = (self.of(self._slopes * self.column(j)) for j in range(query.measure.width))
            pulled = np.sqrt(sum(x * x for x in each))
        self.inside = pulled < cap
        self._cut = cap / np.maximum(pulled, cap)

    def column(self, j: int) -> Floats:
        """Return one entry of all rows, the constant column being the last."""
        entry = self._rows.tail if j == self._d else self._rows.values[:, j] * self._rows.factor
        return np.where(self._usable, entry, 0.0)

    def of(self, each: Floats) -> Floats:
        """Return numbers per record, or their means over each person's rows."""
        if self._persons is None:
            return each
        found: Floats = self._persons.means(each[None], self._counted)[0]
        return found

    def pull(self, j: int) -> Floats:
        """Return one entry of slopes times shortened rows, cut as training cuts a unit."""
        pull: Floats = self.of(self._slopes * self._short * self.column(j)) * self._cut
        return pull


def _twice(j: int, k: int) -> float:
    """Return the factor of an entry: one off the diagonal stands for two."""
    return 1.0 if j == k else math.sqrt(2.0)


@dataclass(frozen=True)
class Information(SumRelease):
    """The release "information", for standard errors. Proof: docs/proofs/intervals.md."""

    what: ClassVar[str] = "information"
    words: ClassVar[str] = "how exactly the records determine the coefficients"
    proof: ClassVar[str] = "intervals"

    @property
    def size(self) -> int:
        facts = self.facts
        return released_size(facts.width, logistic=facts.classifies, robust=facts.robust)

    def query(self, state: State) -> InformationQuery:
        if not self.facts.dense:
            raise ParameterError("inference needs dense rows.")
        problem, training = state.problem, state.plan.training
        measure = measure_of(problem, training.travel, training.averaging, self.facts.robust)
        theta = cast("Floats", state.shared)[0] / problem.strength
        return InformationQuery(self.n, problem, theta, measure, state.residuals)

    def learn(self, state: State, answer: Floats) -> State:
        """Keep it for intervals; the model stays."""
        return replace(state, information=answer)
