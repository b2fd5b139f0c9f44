"""The plan of a private search: public facts become candidates with their noise."""

from dataclasses import dataclass, replace
from typing import Any

from dpscd.errors import CalibrationError
from dpscd.estimators.search_candidates import Common, prepared
from dpscd.preprocessing.schema import schema_of
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.relation import PrivacyTarget
from dpscd.privacy.release import Release
from dpscd.privacy.score import plan_score
from dpscd.privacy.search import (
    Search,
    planned_search,
    reaches,
    search_claim,
    search_points,
)
from dpscd.scores.measure import Measure

__all__ = ["SearchPlan", "SearchPrice", "plan_search", "search_price"]

# Where a run does not reach the point at the larger delta, its epsilon is lowered by this.
_LOWER, _MOST_TIMES = 0.99, 200
_RAISE = 1.002
# Standard deviation of a score's noise, of its whole range, beyond which runs are hardly told
# apart: candidates that differ by twice as much are rare.
_HIDDEN = 0.01


@dataclass(frozen=True)
class SearchPrice:
    """What a search costs, from public numbers; it prints as advice."""

    epsilon_of_run: float  # left to each run, as is delta_of_run
    delta_of_run: float
    mean_runs: float  # runs on average
    seen: float  # probability that a given candidate is drawn at least once
    trained: int  # records, or persons, to train on; `scored`, to score on
    scored: int
    score_noise: float  # standard deviation of a score's noise, over the range of the measure

    @property
    def worth_it(self) -> bool:
        """Whether scores can tell candidates apart that differ by a few hundredths."""
        return self.score_noise <= _HIDDEN

    def __str__(self) -> str:
        text = (
            f"{self.mean_runs:g} runs on average, each with epsilon {self.epsilon_of_run:.4g} "
            f"at delta {self.delta_of_run:.3g} on {self.trained:,} records; a candidate is "
            f"drawn at all in {self.seen:.0%} of searches; scores on {self.scored:,} records "
            f"have noise of {self.score_noise:.2g} of their range."
        )
        if self.worth_it:
            return text
        return (
            f"{text} The noise hides what candidates differ by: do not search, train the one "
            "that seems best beforehand with the whole epsilon."
        )


def search_price(
    target: PrivacyTarget, stop: float, candidates: int, sizes: tuple[int, int]
) -> SearchPrice:
    """Return what a search costs, from public numbers.

    `stop` is the probability that a run is the last, `sizes` are the units to train and score
    on.
    """
    points = search_points(target, stop)
    own = points["far_epsilon"], points["far_delta"]
    others = 1.0 - 1.0 / candidates
    return SearchPrice(
        *own,
        1.0 / stop,
        1.0 - stop * others / (1.0 - (1.0 - stop) * others),
        *sizes,
        gaussian_multiplier(*own, target.relation) / sizes[1],
    )


@dataclass(frozen=True)
class SearchPlan:
    """What is going to be done, all of it public."""

    candidates: list[Any]  # with the epsilon and the delta of a run
    fits: list[tuple[Release, ...]]  # what each of them releases
    search: Search  # what is accounted for
    metric: str  # by which runs are compared
    measure: Measure  # its sums


def plan_search(
    asked: Any,
    candidates: list[Any],
    common: Common,
    parts: Any,
    target: PrivacyTarget,
    sizes: tuple[int, int],
) -> SearchPlan:
    """Return the plan of a search, from public facts alone.

    No cell of `parts` is read; `sizes` are the public numbers of units to train and score on.

    Notes
    -----
    Guarantee: ``search_claim`` of what is returned is at most ``target.epsilon``.
    """
    stop, relation = asked.stop_of(len(candidates)), target.relation
    points = search_points(target, stop)
    for _ in range(_MOST_TIMES):
        own = PrivacyTarget(points["far_epsilon"], points["far_delta"], relation)
        metric, measure = common.measure(asked.metric, asked.bound, sizes[1], own)
        score = plan_score(own, sizes[1], measure.size)
        ready = [_ready(one, own, sizes[0]) for one in candidates]
        fits = [parts.planned_releases(one, sizes[0]) for one in ready]
        search = planned_search(points, stop, fits, score, relation)
        while not reaches((search.score,), search, relation):
            search = replace(search, score=_noisier(search.score))
        if search_claim(search, target.delta, relation).epsilon <= target.epsilon:
            return SearchPlan(ready, fits, search, metric, measure)
        points = {**points, "far_epsilon": _LOWER * points["far_epsilon"]}
    raise CalibrationError(
        f"no noise was found with which a search reaches epsilon={target.epsilon!r} at "
        f"delta={target.delta!r}; ask for a larger epsilon."
    )


def _ready(candidate: Any, target: PrivacyTarget, n: int) -> Any:
    """Return a candidate with the guarantee of a run; its schema is read once."""
    values: dict[str, Any] = {
        "epsilon": target.epsilon,
        "delta": target.delta,
        "relation": target.relation.value,
        "n": n if target.relation.needs_n else None,
        "verbose": 0,
    }
    found = prepared(candidate, values)
    if hasattr(found, "schema"):
        found.set_params(schema=schema_of(found.schema))
    return found


def _noisier(release: Release) -> Release:
    event = release.event
    more = replace(event, noise_multiplier=_RAISE * event.noise_multiplier)
    return replace(release, event=more)
