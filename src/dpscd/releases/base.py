"""What releases have in common, and what is public between one and the next."""

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
    """What is public at some point of a fit.

    Attributes
    ----------
    meaning : LabelFacts
        What labels mean, by declared or released bounds.
    declared : Problem
        The problem before anything was released about labels and rows; labels in its scale
        lie within [-1, 1] of its centre.
    problem : Problem
        The problem as the main training will see it.
    centre : float
        Released centre of the labels, in the declared problem's scale.
    bounds : tuple of pairs
        Released bounds of columns.
    pilot : tuple of Model and Residuals, optional
        A pilot's model, and what it leaves.
    start : Model, optional
        The pilot's model, if the main training starts from it.
    residuals : Residuals, optional
        What the main training is fitted to then.
    model : Model, optional
        The result of training; what is released after it may still change it.
    shared : array, optional
        The shared vector of the main training, as released.
    information : array, optional
        Noisy sums from which standard errors are computed (:mod:`dpscd.inference`).
    link : Link, optional
        How probabilities follow from decisions, where a release after training needed it.
    plan : Plan, optional
        What is being run.
    loss_of : callable, optional
        Given what labels mean, returns the loss for labels in the user's units.
    """

    meaning: LabelFacts
    declared: Problem
    problem: Problem
    centre: float = 0.0
    bounds: tuple[tuple[float, float], ...] = ()
    pilot: tuple[Model, Residuals] | None = None
    start: Model | None = None
    residuals: Residuals | None = None
    model: Model | None = None
    shared: Floats | None = None
    information: Floats | None = None
    link: Link | None = None
    plan: "Plan | None" = None
    loss_of: Callable[[Any], Loss] | None = None


class Parties(NamedTuple):
    """Who takes part in a fit.

    Attributes
    ----------
    store : RecordStore
        The records; only sums leave it.
    source_of : callable
        Returns the source of randomness of a part of the fit, another one for every text.
    source : Source
        That of the empty text.
    progress : callable, optional
        Called with the number of steps done, and with nothing else.
    """

    store: RecordStore
    source_of: Callable[[str], Source]
    source: Source
    progress: Callable[[int], None] | None


class PlannedRelease(ABC):
    """A release that a plan lists: what is accounted for, and how it is made and used."""

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
        """Take a kind that has a place of its own into the list of all kinds."""
        super().__init_subclass__(**more)
        if "place" in vars(cls) and cls.kinds.setdefault(cls.place, cls) is not cls:
            raise TypeError(f"another release than {cls.what!r} has place {cls.place}.")

    @classmethod
    def check_listed(cls, listed: Release | None, public: Mapping[str, Any]) -> None:
        """Raise CardError if a card's public facts contradict that it is listed, or is not."""
        del listed, public  # most kinds contradict nothing

    @abstractmethod
    def release(self) -> Release:
        """Return what is accounted for."""

    def check_fits(self, plan: "Plan") -> None:
        """Raise ParameterError if a plan cannot list it."""
        if self.release().n != plan.n:
            raise ParameterError("all releases of a plan must have its n.")

    @abstractmethod
    def run(self, state: State, parties: Parties) -> State:
        """Release it, and return what is public from then on."""


def in_order(
    first: Sequence[PlannedRelease | type[PlannedRelease]],
    after: Sequence[PlannedRelease | type[PlannedRelease]] = (),
) -> bool:
    """Return whether releases may stand so around a training: each once, in their order."""
    places = [*(one.place for one in first), TRAINING_PLACE, *(one.place for one in after)]
    names = [*(one.what for one in first), TRAINING, *(one.what for one in after)]
    return places == sorted(set(places)) and all(
        (one.needs is None or one.needs in names[:number])
        and (one.followed_by is None or one.followed_by == names[number + 1])
        for number, one in enumerate(first)
    )


@dataclass(frozen=True)
class SumRelease(PlannedRelease):
    """A release of sums over all records, each with noise once.

    Attributes
    ----------
    n : int
        Public number of records.
    noise_multiplier : float
        Standard deviation of the noise, a record moving a sum by at most 1.
    """

    purpose: ClassVar[Purpose] = Purpose.SUM
    """Which stream its noise is of; SUM is one of a source that it has for itself."""
    times: ClassVar[int] = 1
    """Number of sums, one after the other."""
    begins: ClassVar[int] = 0
    """At which time of its stream the first of them is drawn."""

    n: int
    noise_multiplier: float

    def __post_init__(self) -> None:
        noise = self.noise_multiplier
        if not (math.isfinite(noise) and noise > 0.0):
            raise ParameterError(f"the noise of {self.what!r}, {noise!r}, must be positive.")

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers each sum has."""

    @property
    def at(self) -> range:
        """The times at which its sums are drawn: each once, or the stream is refused."""
        return range(self.begins, self.begins + self.times)

    def release(self) -> Release:
        """Return what is accounted for: Gaussian releases over all records, of clip 1."""
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
