"""The plan of a private search: public facts become candidates with their noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from dpscd.errors import CalibrationError, ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.table import TableModel
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.schema import schema_of
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.cost import Cost
from dpscd.privacy.relation import PrivacyTarget
from dpscd.privacy.search import Search, planned_search, reaches, search_claim, search_points
from dpscd.releases.score import Score
from dpscd.scores.registry import ScoreFacts, usual_metric

_NO_NUMBER = ("confusion", "recall")
# What the search sets, so that a candidate must have its default.
_SET = {"ledger": None, "dataset": None, "random_state": None, "n": None}


@dataclass(frozen=True)
class Common:
    """What all candidates share, all of it public."""

    target: str | None  # the column that is predicted; None for arrays
    person: str | None  # the column of persons, of tables
    layout: Layout | None  # how the table is written; None for arrays
    classes: tuple[str, ...]  # empty for a regression
    bounds: tuple[float, float] | None  # of the target of a regression, in its own unit
    chances: bool  # whether all of them give probabilities

    def scored(self, metric: str, bound: float | None, n: int) -> ScoreFacts:
        """Return the facts of the score by which runs are compared, of `n` units."""
        name = usual_metric(classifies=bool(self.classes)) if metric == "auto" else metric
        if name in _NO_NUMBER:
            raise ParameterError(
                f"metric={metric!r} is more than one number: runs cannot be ordered by it."
            )
        low, high = self.bounds or (None, None)
        return ScoreFacts(n, name, self.classes, low, high, self.chances, bound)

    @property
    def table(self) -> bool:
        """Whether they are models of tables."""
        return self.target is not None


def made_candidates(candidates: Any, param_grid: Any) -> list[Any]:
    """Return the candidates, one by one: clones that may be changed."""
    given = list(candidates) if isinstance(candidates, Sequence) else [candidates]
    for one in given:
        if not isinstance(one, TableModel | DPLinearModel):
            raise ParameterError(
                "candidates must be TableModels or this library's estimators, not "
                f"{type(one).__name__}: what a run costs must be known beforehand."
            )
    grid = [{}] if param_grid is None else _grid(param_grid)
    found = [clone(one).set_params(**values) for one in given for values in grid]
    if len(found) < 2:
        raise ParameterError(
            "candidates must be two or more, or one with a param_grid of two or more: of one "
            "there is nothing to choose."
        )
    return found


def _grid(param_grid: Any) -> list[Mapping[str, Any]]:
    try:
        return list(ParameterGrid(param_grid))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"param_grid: {error}") from None


def inner_of(candidate: Any) -> Any:
    """Return the estimator of a candidate, which for one of tables is inside."""
    if isinstance(candidate, TableModel):
        return candidate._unfitted(schema_of(candidate.schema))
    return candidate


def common_of(candidates: Sequence[Any], relation: str) -> Common:
    """Return what unfitted candidates share, or raise ParameterError where they differ."""
    facts = [_facts(number, one, relation) for number, one in enumerate(candidates)]
    first = facts[0]
    for number, other in enumerate(facts):
        for name, words in _WORDS.items():
            if getattr(other, name) != getattr(first, name):
                raise ParameterError(
                    f"candidate {number} differs from candidate 0 in {words}: scores could not "
                    "be compared."
                )
    return replace(first, chances=all(x.chances for x in facts))


_WORDS = {
    "target": "its target, or in whether it is a TableModel",
    "person": "the schema's person",
    "layout": "what its schema says under [table]",
    "classes": "its classes",
    "bounds": "the bounds of its target",
}


def _facts(number: int, candidate: Any, relation: str) -> Common:
    inner, name = inner_of(candidate), f"candidate {number}"
    for parameter, usual in _SET.items():
        if getattr(inner, parameter) is not usual:
            raise ParameterError(
                f"{name} has {parameter}={getattr(inner, parameter)!r}: give it to the search, "
                "which trains all candidates under one guarantee."
            )
    if getattr(inner, "inference", False):
        raise ParameterError(
            f"{name} has inference={inner.inference!r}: intervals of a model that was chosen "
            "by its score do not hold. Search without, then fit on other records."
        )
    if getattr(inner, "exposure_bounds", None) is not None:
        raise ParameterError(f"{name} has exposure_bounds, which a search cannot score.")
    if inner.relation not in ("zero-out", relation):
        raise ParameterError(
            f"{name} has relation={inner.relation!r}, the search {relation!r}: give the search "
            "the one that is meant."
        )
    chances = hasattr(inner, "predict_proba")
    if isinstance(candidate, TableModel):
        schema = schema_of(candidate.schema)
        target = schema.target
        if target.private_bounds:
            raise ParameterError(
                f"target {target.name!r} of {name} has private bounds: scores of different "
                "runs would have different units. Declare its bounds."
            )
        bounds = None if target.classes else cast("tuple[float, float]", target.bounds)
        shared = target.name, schema.person, schema.layout, tuple(target.classes)
        return Common(*shared, bounds, chances)
    if not inner._kind.classifies:
        low, high = inner.y_bounds or (None, None)
        if low is None or high is None:
            raise ParameterError(f"{name} has no y_bounds.")
        return Common(None, None, None, (), (float(low), float(high)), chances)
    if inner.classes is None:
        raise ParameterError(
            f"{name} has classes=None: its labels would be read before they are paid for; give "
            "classes=."
        )
    return Common(None, None, None, tuple(sorted(map(repr, inner.classes))), None, chances)


def prepared(candidate: Any, values: Mapping[str, Any]) -> Any:
    """Return a fresh candidate with parameters that the search sets on its estimator."""
    prefix = "estimator__" if isinstance(candidate, TableModel) else ""
    named = {prefix + name: value for name, value in values.items()}
    return clone(candidate).set_params(**named)


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

    `stop` is the probability that a run is the last, `sizes` the units to train and score on.
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
    fits: list[tuple[Cost, ...]]  # what each of them releases
    search: Search  # what is accounted for
    score: Score  # by which runs are compared


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

    Guarantee: ``search_claim`` of what is returned is at most ``target.epsilon``.
    """
    stop, relation = asked.stop_of(len(candidates)), target.relation
    points = search_points(target, stop)
    for _ in range(_MOST_TIMES):
        own = PrivacyTarget(points["far_epsilon"], points["far_delta"], relation)
        score = Score.planned(common.scored(asked.metric, asked.bound, sizes[1]), own)
        ready = [_ready(one, own, sizes[0]) for one in candidates]
        fits = [parts.planned(one, sizes[0]).costs for one in ready]
        search = planned_search(target, points, stop, fits, score.cost)
        while not reaches((search.score,), search, relation):
            score = replace(score, noise_multiplier=_RAISE * score.noise_multiplier)
            search = replace(search, score=score.cost)
        if search_claim(search, target.delta, relation).epsilon <= target.epsilon:
            return SearchPlan(ready, fits, search, score)
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
