"""The plan of a private search: public facts become candidates with their noise."""

from dataclasses import dataclass, replace
from typing import Any

from dpscd.errors import CalibrationError
from dpscd.estimators.search_candidates import Common, prepared
from dpscd.preprocessing.schema import schema_of
from dpscd.privacy.relation import PrivacyTarget
from dpscd.privacy.release import Release
from dpscd.privacy.score import plan_score
from dpscd.privacy.search import Search, planned_search, reaches, search_points
from dpscd.scores.measure import Measure

__all__ = ["SearchPlan", "plan_search"]

# Where a run does not reach the point at the larger delta, its epsilon is lowered by this.
_LOWER, _MOST_TIMES = 0.99, 200
_RAISE = 1.002


@dataclass(frozen=True)
class SearchPlan:
    """What is going to be done, all of it public.

    Attributes
    ----------
    candidates : list of estimators
        With the epsilon and the delta of a run.
    fits : list of tuples of Release
        What each of them releases.
    search : Search
        What is accounted for.
    metric : str
        By which runs are compared.
    measure : Measure
        Its sums.
    """

    candidates: list[Any]
    fits: list[tuple[Release, ...]]
    search: Search
    metric: str
    measure: Measure


def plan_search(
    asked: Any,
    candidates: list[Any],
    common: Common,
    parts: Any,
    target: PrivacyTarget,
    sizes: tuple[int, int],
) -> SearchPlan:
    """Return the plan of a search, from public facts alone.

    Parameters
    ----------
    asked : DPModelSearch
        Its parameters.
    candidates : list of estimators
        As given.
    common : Common
        What they share.
    parts : ArrayParts or TableParts
        The records, of which no cell is read.
    target : PrivacyTarget
        What the whole search is to reach.
    sizes : tuple of two ints
        Public numbers of units to train on, and to score on.

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
        if all(reaches(fit, search, relation) for fit in search.fits):
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
    if common_schema := getattr(found, "schema", None):
        found.set_params(schema=schema_of(common_schema))
    return found


def _noisier(release: Release) -> Release:
    event = release.event
    more = replace(event, noise_multiplier=_RAISE * event.noise_multiplier)
    return replace(release, event=more)
