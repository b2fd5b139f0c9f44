"""The candidates of a private search: what they must share, and what is set on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from dpscd.errors import ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.table import TableModel
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.schema import schema_of
from dpscd.privacy.relation import PrivacyTarget
from dpscd.scores.measure import Measure
from dpscd.scores.registry import Scored, measure_for, usual_metric

__all__ = ["Common", "common_of", "inner_of", "made_candidates", "prepared"]

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

    def measure(
        self, metric: str, bound: float | None, n: int, target: PrivacyTarget
    ) -> tuple[str, Measure]:
        """Return the name of the measure by which runs are compared, and the measure."""
        scored = Scored(len(self.classes), self.bounds, self.chances, n, target)
        name = usual_metric(scored) if metric == "auto" else metric
        if name in _NO_NUMBER:
            raise ParameterError(
                f"metric={metric!r} is more than one number: runs cannot be ordered by it."
            )
        return name, measure_for(scored, name, bound)

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
    if param_grid is None:
        found = [clone(one) for one in given]
    else:
        found = [
            clone(one).set_params(**values) for one in given for values in _grid(param_grid)
        ]
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
    return Common(
        first.target,
        first.person,
        first.layout,
        first.classes,
        first.bounds,
        all(x.chances for x in facts),
    )


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
        target = schema_of(candidate.schema).target
        if target.private_bounds:
            raise ParameterError(
                f"target {target.name!r} of {name} has private bounds: scores of different "
                "runs would have different units. Declare its bounds."
            )
        bounds = None if target.classes else cast("tuple[float, float]", target.bounds)
        schema = schema_of(candidate.schema)
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
    if isinstance(candidate, TableModel):
        named = {f"estimator__{name}": value for name, value in values.items()}
        return clone(candidate).set_params(**named)
    return clone(candidate).set_params(**values)
