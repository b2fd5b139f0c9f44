"""Base of all releases, and the public state between them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.link import Link
from dpscd.losses import Loss
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.release import Release
from dpscd.privacy.sums import noisy_sum
from dpscd.problem import Model, Problem
from dpscd.releases.query import Query
from dpscd.releases.store import LabelFacts, RecordStore, Residuals

if TYPE_CHECKING:
    from dpscd.plan import Plan

__all__ = [
    "TRAINING",
    "TRAINING_PLACE",
    "WRONG_SIZE",
    "Parties",
    "PlannedRelease",
    "State",
    "SumRelease",
    "in_order",
]

TRAINING, TRAINING_PLACE = "shared vector", 100
"""Name and place of the release that every fit makes."""

WRONG_SIZE = "the size of the card's release {!r} fits no such model."
"""What is said of a listed release of more or fewer numbers than public facts make it."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class State:
    """Public state at some point of a fit."""

    meaning: LabelFacts  # encoding of labels, by declared or released bounds
    # The problem before anything was released about labels and rows; labels in its scale lie
    # within [-1, 1] of its centre.
    declared: Problem
    problem: Problem  # the problem of the main training
    centre: float = 0.0  # released centre of the labels, in the declared problem's scale
    bounds: tuple[tuple[float, float], ...] = ()  # released bounds of columns
    pilot: tuple[Model, Residuals] | None = None  # a pilot's model and its residuals
    start: Model | None = None  # the pilot's model, if the main training starts from it
    residuals: Residuals | None = None  # what the main training is fitted to then
    model: Model | None = None  # result of training; later releases may change it
    shared: Floats | None = None  # released shared vector of the main training
    information: Floats | None = None  # noisy sums for standard errors (:mod:`dpscd.inference`)
    # map from decisions to probabilities, where a release after training needed it
    link: Link | None = None
    plan: "Plan | None" = None  # the plan that is run
    # returns the loss in the user's units for an encoding of labels
    loss_of: Callable[[Any], Loss] | None = None


class Parties(NamedTuple):
    """Store, randomness and progress of a fit."""

    store: RecordStore  # only sums leave it
    source_of: Callable[[str], Source]  # another source of randomness for every text
    source: Source  # `source_of("")`
    # called with the number of steps done, and nothing else
    progress: Callable[[int], None] | None


class PlannedRelease(ABC):
    """A release that a plan lists: its accounting, its query and its use."""

    what: ClassVar[str]
    """Its name on cards; pages of docs/proofs are found by it."""
    words: ClassVar[str]
    """What it is, for readers of a report."""
    proof: ClassVar[str]
    """The page of docs/proofs that proves it."""

    place: ClassVar[int]
    """Where it stands among the releases of a fit, before or after the training's own place;
    no two kinds share one."""
    needs: ClassVar[str | None] = None
    """The release that must come before it, if there is one."""
    followed_by: ClassVar[str | None] = None
    """The release that must come right after it, if there is one."""
    kinds: ClassVar[dict[int, "type[PlannedRelease]"]] = {}
    """All kinds that were defined, by their place."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Register a kind that has a place of its own."""
        super().__init_subclass__(**more)
        if "place" in vars(cls) and cls.kinds.setdefault(cls.place, cls) is not cls:
            raise TypeError(f"another release than {cls.what!r} has place {cls.place}.")

    @classmethod
    def check_listed(cls, listed: Release | None, public: Mapping[str, Any]) -> None:
        """Raise CardError if a card's public facts contradict that it is listed, or is not."""
        del listed, public  # most kinds contradict nothing

    @abstractmethod
    def release(self) -> Release:
        """Return the accounted release."""

    def check_fits(self, plan: "Plan") -> None:
        """Raise ParameterError if a plan cannot list it."""
        if self.release().n != plan.n:
            raise ParameterError("all releases of a plan must have its n.")

    @abstractmethod
    def run(self, state: State, parties: Parties) -> State:
        """Make the release, and return the public state after it."""


def in_order(
    first: Sequence[PlannedRelease | type[PlannedRelease]],
    after: Sequence[PlannedRelease | type[PlannedRelease]] = (),
) -> bool:
    """Return whether releases may stand in this order around a training, each once."""
    places = [*(one.place for one in first), TRAINING_PLACE, *(one.place for one in after)]
    names = [*(one.what for one in first), TRAINING, *(one.what for one in after)]
    return places == sorted(set(places)) and all(
        (one.needs is None or one.needs in names[:number])
        and (one.followed_by is None or one.followed_by == names[number + 1])
        for number, one in enumerate(first)
    )


@dataclass(frozen=True)
class SumRelease(PlannedRelease):
    """A release of sums over all records, each with noise once."""

    purpose: ClassVar[Purpose] = Purpose.SUM
    """Which stream its noise is of; SUM is one of a source that it has for itself."""
    times: ClassVar[int] = 1
    """Number of sums, one after the other."""
    begins: ClassVar[int] = 0
    """At which time of its stream the first of them is drawn."""

    n: int  # public number of records
    # standard deviation of the noise; a record moves a sum by at most 1
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
    def at(self) -> range:
        """Times at which its sums are drawn: each once, or the stream is refused."""
        return range(self.begins, self.begins + self.times)

    def release(self) -> Release:
        """Return the accounted release: Gaussian, over all records, of clip 1."""
        event = SampledGaussian(1.0, self.noise_multiplier, self.times)
        return Release(self.what, event, 1.0, self.size, self.n)

    def noisy(self, query: Query, parties: Parties, time: int = 0) -> Floats:
        """Return the sum of a query with noise, in its shape.

        Notes
        -----
        Guarantee: one step of :meth:`release`, for no two calls have the same time.
        Requires: the query's, and that it has :attr:`size` numbers.
        """
        planned = math.prod(query.shape) == self.size and query.n == self.n
        if not planned or time not in self.at:
            raise ParameterError(f"the query of {self.what!r} is not the one that is planned.")
        own = self.purpose is Purpose.SUM
        source = parties.source_of(self.what) if own else parties.source
        total = parties.store.total(query).ravel()
        noisy = noisy_sum(self.noise_multiplier, query.unit, total, source, self.purpose, time)
        return noisy.reshape(query.shape)
