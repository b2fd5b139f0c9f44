"""A release: what is accounted, how it is asked, what is learnt, its words and its proof.

Queries are exact sums over all records, which a record store answers.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from dpscd.errors import ParameterError, WorkerError
from dpscd.kernels.passes import predictions
from dpscd.kernels.rows import MARGIN, Rows
from dpscd.link import Link
from dpscd.persons import PersonRows
from dpscd.planning.facts import Facts
from dpscd.privacy.accounting import SampledGaussian
from dpscd.privacy.cost import Cost
from dpscd.privacy.draws import lattice_step, noisy_sum
from dpscd.privacy.random import Purpose, Source
from dpscd.problem import DeferredRows, Floats, Model, Problem, labels_of

if TYPE_CHECKING:
    from dpscd.planning.plan import Plan


class SomeRecords(Protocol):
    """All records, or a part of them, as a query sees them."""

    @property
    def X(self) -> Any:  # noqa: N802 - as everywhere
        """Rows, dense or CSR, in the user's units."""

    @property
    def labels(self) -> Floats:
        """Labels in the user's units."""

    @property
    def weights(self) -> Floats:
        """Weight of each record."""

    @property
    def columns(self) -> Sequence[Floats]:
        """Values of the columns of a table whose bounds are not declared."""

    @property
    def persons(self) -> PersonRows | None:
        """The rows of each person; None if every record is a unit by itself."""


@dataclass(frozen=True)
class Query(ABC):
    """A sum over records; it holds public facts only, and may be sent to the records.

    Requires: a record, or a person with all its rows, adds to ``step * total`` a vector of
    length at most 1, whatever it holds. Each query states why; tests try it on neighbouring
    data sets.
    """

    # Whether it is asked of columns as they are, before rows can be made.
    reads_columns: ClassVar[bool] = False
    n: int  # public number of records: sets the step, and the capacity of sums

    @property
    def step(self) -> float:
        """The step of the lattice: the power of two whose multiples totals are."""
        return lattice_step(self.n, 1.0)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of the total: a public fact."""

    @abstractmethod
    def total(self, records: SomeRecords) -> Floats:
        """Return the exact sum over records, in steps of the lattice: not yet noisy."""


#: What means of persons, and of their further rows, are multiplied by: squares add up to 1.
FIRST, FURTHER = 0.6, 0.8


def whole_sums(
    each: Floats, usable: Any, records: SomeRecords, step: float, rows: float | None = None
) -> Floats:
    """Return exact sums of numbers of records, in steps of the lattice.

    Requires: `each`, of shape (numbers, rows), is no longer than 1 in every usable row. Proof:
    docs/proofs/persons.md, "Other releases".
    """
    # Rows of weight 0 do not count, a person gives the mean of its rows. With `rows` twice as
    # many numbers are summed: these means, and the same times ``(min(m, rows) - 1) / rows`` for
    # a person with m rows, both shortened so that together they are no longer than 1.
    used, persons = records.weights > 0.0, records.persons
    each = np.where(usable & used, each, 0.0)
    if persons is not None:
        each = persons.means(each, used)
    if rows is not None:
        further = 0.0 if persons is None else persons.further(used, rows)
        each = np.concatenate([FIRST * each, FURTHER * further * each])
    whole = np.trunc(each * (MARGIN / step))
    sums: Floats = whole.sum(axis=1)  # whole numbers below 2^53: exact in any order
    return sums


def sum_over(query: Query, parts: Any) -> Floats:
    """Return the total of a query over parts of the records, checked to be a sum."""
    total = np.zeros(query.shape)
    for part in parts:
        found = query.total(part)
        if found.shape != query.shape:
            raise WorkerError("a total does not have the shape of its query.")
        total += only_sums(found)
    return total


def only_sums(reply: Any) -> Any:
    """Return what may leave the records: None, or whole numbers; refuse a row or a dual."""
    if reply is None or type(reply) is int:
        return reply
    numbers = np.asarray(reply)
    if type(reply) not in (float, np.ndarray) or numbers.dtype not in (np.float64, np.int64):
        raise WorkerError("no sum, and it was about to leave the records.")
    if not (np.isfinite(numbers).all() and np.array_equal(numbers, np.trunc(numbers))):
        raise WorkerError("no whole number, and it was about to leave the records.")
    return reply


@dataclass(frozen=True)
class Residuals:
    """Residuals of a pilot, times `factor`; public, except each record's own."""

    pilot: Problem  # the pilot's problem
    shared: Floats  # its released shared vector
    factor: float  # residuals are multiplied by this

    def labels(self, rows: Rows | DeferredRows, labels: Floats) -> Floats:
        """Return the residuals of labels in the user's units."""
        left = labels_of(self.pilot, rows, labels) - _predicted(self.pilot, rows, self.shared)
        return left * self.factor


def inner_labels(
    problem: Problem, residuals: Residuals | None, rows: Rows | DeferredRows, labels: Floats
) -> Floats:
    """Return what a training is fitted to: labels in its units, or a pilot's residuals."""
    if residuals is None:
        return labels_of(problem, rows, labels)
    return residuals.labels(rows, labels)


def _predicted(problem: Problem, rows: Rows | DeferredRows, shared: Floats) -> Floats:
    if isinstance(rows, DeferredRows):
        parts = [_predicted(problem, block, shared) for block in map(rows.read, rows.blocks)]
        return np.concatenate([np.empty(0), *parts])
    out = np.empty(len(rows.norm))
    # A copy, because one that was sent is read-only: another compiled kernel.
    predictions(rows, shared[0].copy(), problem.strength, out)
    return out


class RecordStore(Protocol):
    """Records that a fit may sum over but never sees.

    Guarantee: :meth:`total` is the one way to a sum outside a training; it is exact, over no
    more records than sums can hold, and nothing else leaves.
    """

    # They also have `train`, which gives the shared vector of a training, and `bound`, after
    # which they are read with released bounds of columns.

    def total(self, query: Query) -> Floats:
        """Return the exact sum of a query over all records."""


@dataclass(frozen=True)
class State:
    """Public state at some point of a fit."""

    plan: "Plan"
    # The problem before anything was released about labels and rows; labels in its scale lie
    # within [-1, 1] of its centre.
    declared: Problem
    problem: Problem  # as it is now: releases on rows and labels change it
    centre: float = 0.0  # released centre of the labels, in the declared problem's scale
    bounds: tuple[tuple[float, float], ...] = ()  # released bounds of columns
    pilot: tuple[Model, Residuals] | None = None  # a pilot's model and its residuals
    start: Model | None = None  # the pilot's model, if the main training is fitted to residuals
    residuals: Residuals | None = None  # what it is fitted to then
    model: Model | None = None  # result of training; later releases may change it
    shared: Floats | None = None  # released shared vector of the main training
    information: Floats | None = None  # noisy sums for standard errors (:mod:`dpscd.inference`)
    # map from decisions to probabilities, where a release after training needed it
    link: Link | None = None

    @property
    def facts(self) -> Facts:
        """What was public before anything was released."""
        return self.plan.facts

    @property
    def labels(self) -> Any:
        """Encoding of labels, by declared or released bounds."""
        return self.facts.labels_with(self.bounds)

    @property
    def trained(self) -> Model:
        """The model, once there is one."""
        if self.model is None:
            raise ParameterError("the plan has no training before this release.")
        return self.model


class Observer(Protocol):
    """Sees the released path of a training: copies of public numbers."""

    pause: int | None  # steps between two looks; None is an epoch, as where noise is lazy

    def begins(self, problem: Problem, training: Any) -> None:
        """Take the public problem of a training that begins."""

    def moved(self, steps: int, shared: Floats) -> None:
        """Take the shared vector after so many steps of it."""


@dataclass(frozen=True, repr=False)
class Stores:
    """Where answers come from: records and randomness."""

    store: Any  # a RecordStore: only sums leave it
    source_of: Callable[[str], Source]  # another source of randomness for every text
    # called with the number of steps done, and nothing else
    progress: Callable[[int], None] | None = None
    observer: Observer | None = None


@dataclass(frozen=True)
class Release(ABC):
    """One thing that is computed from the records and made public."""

    what: ClassVar[str]  # its name on cards
    words: ClassVar[str]  # what it is, for readers of a report
    proof: ClassVar[str]  # the page of docs/proofs that proves it
    # Times at which it is asked, rising; each draws from its stream once.
    at: ClassVar[range] = range(1)

    facts: Facts = field(repr=False)

    @property
    def n(self) -> int:
        """Public number of records."""
        return self.facts.n

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """What it costs: all that is accounted."""

    @abstractmethod
    def query(self, state: State) -> Any:
        """Return what is asked: a function of the public state."""

    @abstractmethod
    def learn(self, state: State, answer: Floats) -> State:
        """Return the public state after an answer: a function of the plan, state and answer."""

    @abstractmethod
    def answered(self, query: Any, stores: Stores, time: int) -> Floats:
        """Return the noisy answer: the only method that reads records.

        Guarantee: one of the steps of :attr:`cost`, for no two calls have the same time.
        """


@dataclass(frozen=True)
class SumRelease(Release):
    """A release of sums over all records, each with noise once."""

    # Which stream its noise is of; SUM is one of a source that it has for itself.
    purpose: ClassVar[Purpose] = Purpose.SUM
    # Standard deviation of the noise over the length of the longest vector of a record.
    noise_multiplier: float

    def __post_init__(self) -> None:
        noise = self.noise_multiplier
        if not (math.isfinite(noise) and noise > 0.0):
            raise ParameterError(f"the noise of {self.what!r}, {noise!r}, must be positive.")

    @property
    @abstractmethod
    def size(self) -> int:
        """Count of numbers in each sum."""

    @property
    def cost(self) -> Cost:
        """What it costs: a Gaussian release over all records, of clip 1, each time."""
        event = SampledGaussian(1.0, self.noise_multiplier, len(self.at))
        return Cost(self.what, event, 1.0, self.size, self.n)

    def answered(self, query: Query, stores: Stores, time: int) -> Floats:
        """Return the sum of a query with noise, in its shape.

        Guarantee: one of the steps of :attr:`cost`, for no two calls have the same time.
        Requires: the query's, and that it has :attr:`size` numbers.
        """
        planned = math.prod(query.shape) == self.size and query.n == self.n
        if not planned or time not in self.at:
            raise ParameterError(f"the query of {self.what!r} is not the one that is planned.")
        source = stores.source_of(self.what if self.purpose is Purpose.SUM else "")
        total = stores.store.total(query).ravel()
        noisy = noisy_sum(self.noise_multiplier, query.step, total, source, self.purpose, time)
        return noisy.reshape(query.shape)
