"""A release: what is accounted, how it is asked, what is learnt, its words and its proof."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from dpscd.errors import ParameterError
from dpscd.link import Link
from dpscd.planning.facts import Facts
from dpscd.privacy.accounting import SampledGaussian
from dpscd.privacy.cost import Cost
from dpscd.privacy.noise import noisy_sum
from dpscd.privacy.random import Purpose, Source
from dpscd.problem import Floats, Model, Problem
from dpscd.releases.query import Query, Residuals

if TYPE_CHECKING:
    from dpscd.planning.plan import Plan


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

    what: ClassVar[str]
    """Its name on cards."""
    words: ClassVar[str]
    """What it is, for readers of a report."""
    proof: ClassVar[str]
    """Name of the page of docs/proofs that proves it."""

    at: ClassVar[range] = range(1)
    """Times at which it is asked, rising; each draws from its stream once."""

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

    purpose: ClassVar[Purpose] = Purpose.SUM
    """Which stream its noise is of; SUM is one of a source that it has for itself."""

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
