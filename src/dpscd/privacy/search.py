"""A private search: the best of a secret number of runs, and its cost in privacy.

A *run* draws one of several candidates, trains it on one part of the records and scores it,
with noise, on the other. A coin decides after each run whether it was the last. Only the run
with the best score is released.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpscd.errors import CardError
from dpscd.privacy.accounting import gaussian_delta, gaussian_multiplier
from dpscd.privacy.calibration import interval_for
from dpscd.privacy.cost import Claim, Cost, claim
from dpscd.privacy.relation import PrivacyTarget, Relation

#: The smallest probability that a run is the last. Every double from it up to 1 is a whole
#: multiple of 2^-64, so that a coin is one comparison with a random word.
LEAST_STOP = 2.0**-11

# What rounding of a few logarithms may take away from a bound is added to it.
_ROUNDING = 1e-12

# Real trainings are not exactly Gaussian: the point at the larger delta is placed so much
# higher than that of the Gaussian release that stands for them.
_NEAR_SLACK = 1.01

_POINTS = ("near_epsilon", "near_delta", "far_epsilon", "far_delta")
_NUMBERS = ("stop", *_POINTS, "near_interval", "far_interval")

# What a card may state, as of other cards.
_LARGEST, _FINEST = 100.0, 1e-10


@dataclass(frozen=True)
class Search:
    """Public facts of a search; the number of runs and the losers are secret."""

    target: PrivacyTarget  # the guarantee of the whole search
    stop: float  # probability that a run is the last: one over the mean number of runs
    near_epsilon: float  # satisfied by each run, at a delta that is not small
    near_delta: float
    far_epsilon: float  # satisfied by each run too, at a smaller delta than the search's
    far_delta: float
    # intervals of the privacy loss with which the two points are recomputed
    near_interval: float
    far_interval: float
    # releases of the candidates in training, each list once
    fits: tuple[tuple[Cost, ...], ...]
    score: Cost  # release of a run on the records that are kept apart

    def __post_init__(self) -> None:
        numbers = [getattr(self, name) for name in _NUMBERS]
        good = all(type(x) is float and 0.0 < x < math.inf for x in numbers)
        good = good and LEAST_STOP <= self.stop <= 1.0
        good = good and max(self.near_delta, self.far_delta) < 1.0
        good = good and all(
            epsilon <= _LARGEST and max(_FINEST, 1e-6 * epsilon) <= interval <= 1.0
            for epsilon, _, interval in self.points
        )
        if not (good and self.fits and all(self.fits)):
            raise CardError("the card's search is malformed.")

    @property
    def points(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Epsilon, delta and interval of the two points of each run: far, then near."""
        return (
            (self.far_epsilon, self.far_delta, self.far_interval),
            (self.near_epsilon, self.near_delta, self.near_interval),
        )

    def lists(self) -> Iterator[tuple[Cost, ...]]:
        """Yield the releases of a run about one record, one list for each part."""
        yield from self.fits
        yield (self.score,)

    def to_dict(self) -> dict[str, Any]:
        """Return the search as plain JSON values."""
        return asdict(self) | {"target": self.target.to_dict()}


def total_epsilon(stop: float, near_epsilon: float, near_delta: float, far: float) -> float:
    """Return the epsilon of a search whose runs satisfy (near_epsilon, near_delta) and far.

    `far` is the epsilon of one run at `stop` times the delta of the search.

    Guarantee: the best of all runs is (returned epsilon, delta)-private, in all relations.
    Requires: runs are independent, the number of them is geometric with this probability, and
    outcomes are compared by an order that does not depend on the records.
    Proof: docs/proofs/search.md.
    """
    go_on = 1.0 - stop
    ratio = max(
        stop + go_on * (math.exp(near_epsilon) + near_delta), 1.0 + go_on * near_delta / stop
    )
    return far + 2.0 * math.log(ratio) * (1.0 + _ROUNDING) + _ROUNDING


def search_points(target: PrivacyTarget, stop: float) -> dict[str, float]:
    """Return the two points that each run should reach, as fields of :class:`Search`."""
    # Any points are valid; these leave the most to each run. For a Gaussian release: the
    # largest strength at which the best point at a larger delta and the one at ``stop * delta``
    # together meet the target of the whole search.
    far_delta = stop * target.delta * (1.0 - _ROUNDING)

    def near(strength: float) -> tuple[float, float]:
        # The two bounds on the ratio fall and rise with epsilon: they are least where equal.
        low, high = 0.0, 20.0 * strength + strength**2
        for _ in range(80):
            middle = 0.5 * (low + high)
            mass = gaussian_delta(middle, strength)
            go_on = 1.0 - stop
            first = stop + go_on * (math.exp(middle) + mass)
            low, high = (middle, high) if first < 1.0 + go_on * mass / stop else (low, middle)
        return high * _NEAR_SLACK, gaussian_delta(high, strength)

    most = 1.0 / gaussian_multiplier(target.epsilon, far_delta, target.relation)
    low, high = 0.0, most * target.relation.reach
    for _ in range(80):
        middle = 0.5 * (low + high)
        left = target.epsilon - total_epsilon(stop, *near(middle), 0.0)
        good = left > 0.0 and gaussian_delta(left, middle) <= far_delta
        low, high = (middle, high) if good else (low, middle)
    near_epsilon, near_delta = near(low)
    far = target.epsilon - total_epsilon(stop, near_epsilon, near_delta, 0.0)
    far *= 1.0 - _ROUNDING
    return dict(zip(_POINTS, (near_epsilon, near_delta, far, far_delta), strict=True))


def planned_search(
    target: PrivacyTarget,
    points: Mapping[str, float],
    stop: float,
    fits: Sequence[tuple[Cost, ...]],
    score: Cost,
) -> Search:
    """Return the planned search, with each list of releases kept once."""
    relation = target.relation
    lists = tuple(dict.fromkeys(fits))
    parts = [tuple((x.event.rate, x.event.steps) for x in one) for one in (*lists, (score,))]

    def finest(epsilon: float, delta: float) -> float:
        return min(interval_for(epsilon, delta, relation, part) for part in parts)

    return Search(
        target=target,
        stop=stop,
        **points,
        near_interval=finest(points["near_epsilon"], points["near_delta"]),
        far_interval=finest(points["far_epsilon"], points["far_delta"]),
        fits=lists,
        score=score,
    )


def reaches(releases: Sequence[Cost], search: Search, relation: Relation) -> bool:
    """Return whether releases satisfy both points of a search, finite precision included."""
    return all(
        claim(releases, epsilon, delta, relation, interval).epsilon <= epsilon
        for epsilon, delta, interval in search.points
    )


def search_claim(search: Search, delta: float, relation: Relation) -> Claim:
    """Return the epsilon of a search.

    Guarantee: the search is (epsilon of the claim, delta)-private; infinite if a list of
    releases does not satisfy a point that the search states.
    Proof: docs/proofs/search.md.
    """
    far, far_delta, interval = search.points[0]
    found = [claim(x, far, far_delta, relation, interval) for x in search.lists()]
    worst = max(found, key=lambda x: x.epsilon)
    good = far_delta <= search.stop * delta
    good = good and all(reaches(x, search, relation) for x in search.lists())
    return Claim(
        epsilon=total_epsilon(search.stop, search.near_epsilon, search.near_delta, far)
        if good
        else math.inf,
        accountant=worst.accountant,
        interval=interval,
        precision_epsilon=max(x.precision_epsilon for x in found),
        precision_delta=max(x.precision_delta for x in found),
    )
