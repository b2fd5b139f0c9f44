"""The plan of a private search, and its records: a part to train on and a part to score on."""

import copy
import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from dpscd.errors import CalibrationError, DataError, ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.table import TableModel
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.schema import Schema, schema_of
from dpscd.privacy.cost import Cost
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.relation import RECORD, PrivacyTarget, Relation, Unit
from dpscd.privacy.search import Search, planned_search, reaches, search_claim, search_points
from dpscd.records import refusals
from dpscd.records.files import names_of
from dpscd.records.labels import label_column
from dpscd.records.opening import codes_of, units_in
from dpscd.records.refusals import redact_errors
from dpscd.records.rows import is_dask, open_rows
from dpscd.records.tables import open_parsed
from dpscd.releases.score import Score
from dpscd.scores.registry import ScoreFacts, metric_called

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

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
        name = metric_called(metric, classifies=bool(self.classes))
        if name in _NO_NUMBER:
            raise ParameterError(
                f"metric={metric!r} is more than one number: runs cannot be ordered by it."
            )
        low, high = self.bounds or (None, None)
        return ScoreFacts(n, name, self.classes, low, high, self.chances, bound)

    def unit(self, groups: Any) -> Unit:
        """Return what is protected."""
        if self.person is None:
            return RECORD if groups is None else Unit(groups=True)
        if groups is not None:
            raise ParameterError(f"groups cannot be given: the person is {self.person!r}.")
        return Unit(self.person)


def made_candidates(candidates: Any, param_grid: Any) -> list[Any]:
    """Return the candidates, one by one: clones that may be changed."""
    given = list(candidates) if isinstance(candidates, Sequence) else [candidates]
    for one in given:
        if not isinstance(one, TableModel | DPLinearModel):
            raise ParameterError(
                "candidates must be TableModels or this library's estimators, not "
                f"{type(one).__name__}: what a run costs must be known beforehand."
            )
    try:
        grid: list[Mapping[str, Any]] = list(ParameterGrid(param_grid or {}))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"param_grid: {error}") from None
    found = [clone(one).set_params(**values) for one in given for values in grid]
    if len(found) < 2:
        raise ParameterError(
            "candidates must be two or more, or one with a param_grid of two or more: of one "
            "there is nothing to choose."
        )
    return found


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
    inner, name = candidate, f"candidate {number}"
    if isinstance(candidate, TableModel):
        inner = candidate._unfitted(schema_of(candidate.schema))
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
        target = (schema := schema_of(candidate.schema)).target
        if target.private_bounds:
            raise ParameterError(
                f"target {target.name!r} of {name} has private bounds: scores of different "
                "runs would have different units. Declare its bounds."
            )
        bounds = None if target.classes else cast("tuple[float, float]", target.bounds)
        shared = target.name, schema.person, schema.layout, tuple(target.classes)
        return Common(*shared, bounds, chances)
    if not inner.kind.classifies:
        return Common(None, None, None, (), inner._bounds(), chances)
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
    records: "SearchedRecords",
    target: PrivacyTarget,
    sizes: tuple[int, int],
) -> SearchPlan:
    """Return the plan of a search, from public facts; `sizes` are the units of both parts.

    Guarantee: ``search_claim`` of what is returned is at most ``target.epsilon``.
    """
    stop, relation = asked.stop_of(len(candidates)), target.relation
    points = search_points(target, stop)
    for _ in range(_MOST_TIMES):
        own = PrivacyTarget(points["far_epsilon"], points["far_delta"], relation)
        score = Score.planned(common.scored(asked.metric, asked.bound, sizes[1]), own)
        ready = [_ready(one, own, sizes[0]) for one in candidates]
        fits = [one.planned(*records.given, sizes[0]).costs for one in ready]
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
    relation = target.relation
    own = {"epsilon": target.epsilon, "delta": target.delta, "relation": relation.value}
    found = prepared(candidate, {**own, "n": n if relation.needs_n else None, "verbose": 0})
    if hasattr(found, "schema"):
        found.set_params(schema=schema_of(found.schema))
    return found


def part_sizes(n: int, holdout: float) -> tuple[int, int]:
    """Return how many of n units are trained on, and how many are kept apart."""
    apart = round(n * holdout)
    if not 0 < apart < n:
        raise DataError("there are too few records to keep some apart.")
    return n - apart, apart


def split_units(source: Source, count: int, holdout: float, relation: Relation) -> Flags:
    """Return which of `count` units, the true number, are kept apart: a part `holdout`.

    Guarantee: the bits do not depend on any record. Where the number of units is public they
    are a uniformly random set of a public size, so that their law is the same whatever the
    order of the units; where it is secret they are independent coins, so that a unit more or
    less leaves those of the others as they are.
    Proof: docs/proofs/search.md, "Two parts".
    """
    if relation.needs_n:
        words = source.words(Purpose.SPLIT, 0, count, 1)[:, 0]
        coins: Flags = words < np.uint64(int(holdout * 2.0**64))
        return coins
    attempts = itertools.count()
    while True:
        # Equal words would favour the unit that comes first: then all are drawn again.
        words = source.words(Purpose.SPLIT, next(attempts) * count, count, 1)[:, 0]
        if len(np.unique(words)) == count:
            break
    apart = np.zeros(count, dtype=bool)
    apart[np.argsort(words)[: part_sizes(count, holdout)[1]]] = True
    return apart


def searched_records(X: Any, y: Any, groups: Any, candidates: list[Any]) -> "SearchedRecords":
    """Return the records of a search, unread, for unfitted candidates of one kind."""
    table = isinstance(candidates[0], TableModel)
    for one in candidates if table else ():
        if (schema := schema_of(one.schema)).patterns:
            one.set_params(schema=schema.resolved(names_of(X, schema.layout)))
    if is_dask(X, y, groups):
        if groups is not None or (table and schema_of(candidates[0].schema).person is not None):
            raise ParameterError(
                "a search on Dask protects single records: persons are for records in memory."
            )
        return DaskParts(X, y)
    if table:
        return TableParts(X, y, groups, schema_of(candidates[0].schema))
    return ArrayParts(X, y, groups)


class Parts(NamedTuple):
    """What `fit` and scores are given of some units: a secret."""

    X: Any
    y: Any
    groups: Any

    def __repr__(self) -> str:
        return "Parts()"  # records are not for a traceback


class SearchedRecords(ABC):
    """Unread records; only their layout, and the count of units, is known."""

    count: int
    given: Parts  # all of them

    def read(self, candidate: Any) -> None:
        """Read all cells by the schema of `candidate`, unless each fit reads its own."""
        del candidate

    @abstractmethod
    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units."""

    def scored(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units to score on."""
        return self.part(candidate, kept)


class ArrayParts(SearchedRecords):
    """Rows of numbers in memory."""

    def __init__(self, X: Any, y: Any, groups: Any) -> None:
        if y is None:
            raise ParameterError("y=None: estimators of arrays need labels.")
        self._rows, self._labels = open_rows(X), label_column(y)
        if len(self._labels) != self._rows.count:
            raise DataError(refusals.UNEQUAL)
        self.given = Parts(X, y, groups)
        self._codes = codes_of(groups, self._rows.count)
        self.count = units_in(self._codes, self._rows.count)

    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return some rows in a container of the same kind, whose cells are what they were."""
        del candidate
        rows, codes = _rows_of(self._codes, kept)
        labels, X = self._labels.iloc[rows], self._rows.X
        if isinstance(X, pd.DataFrame):
            return Parts(X.iloc[rows], labels, codes)
        if sparse.issparse(X) or isinstance(X, list | tuple):  # none of a list has no width
            X = redact_errors(lambda: self._rows.read(finite=False))
        return Parts(X[rows], labels, codes)


class TableParts(SearchedRecords):
    """A table in memory or in files, read once for all fits."""

    def __init__(self, table: Any, y: Any, groups: Any, schema: Schema) -> None:
        self.given = Parts(table, y, groups)
        self._person = schema.person is not None
        first = open_parsed(table, schema, y, person=self._person)
        self._codes = codes_of(groups, first.count)
        self.count = units_in(self._codes, first.count)
        self._parsed: list[tuple[Schema, Any, Ints | None]] = []

    def read(self, candidate: Any) -> None:
        """Read all cells, by the schema of `candidate`; a secret from here on."""
        schema: Schema = candidate.schema
        if any(schema == known for known, _, _ in self._parsed):
            return
        table, y, _ = self.given
        found = redact_errors(open_parsed(table, schema, y, person=self._person).read)
        codes = found.persons if self._person else self._codes
        if units_in(codes, len(found)) != self.count:
            raise DataError(refusals.CHANGED)
        self._parsed.append((schema, found, codes))

    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units."""
        found, codes = next(x[1:] for x in self._parsed if x[0] == candidate.schema)
        rows, codes = _rows_of(codes, kept)
        part = copy.copy(found.taken(rows))
        if self._person:
            part.persons, codes = codes, None
        return Parts(part, None, codes)


class DaskParts(SearchedRecords):
    """Records where the partitions of Dask collections are; those to score on are fetched."""

    def __init__(self, X: Any, y: Any) -> None:
        from dpscd.distributed.collections import row_counts

        self.given = Parts(X, y, None)
        self._ends = np.cumsum(row_counts(X))
        self.count = int(self._ends[-1])
        self._fetched: Parts | None = None

    def part(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units, where they are."""
        del candidate
        from dpscd.distributed.collections import some_rows

        return self._mapped(some_rows, kept)

    def scored(self, candidate: Any, kept: Flags) -> Parts:
        """Return the records of some units in the memory of this process, fetched once."""
        del candidate
        from dpscd.distributed.collections import fetched_rows

        self._fetched = self._fetched or redact_errors(lambda: self._mapped(fetched_rows, kept))
        return self._fetched

    def _mapped(self, take: Any, kept: Flags) -> Parts:
        rows = [np.flatnonzero(piece) for piece in np.split(kept, self._ends[:-1])]
        X, y, _ = self.given
        return Parts(take(X, rows), None if y is None else take(y, rows), None)


def _rows_of(codes: Ints | None, kept: Flags) -> tuple[Ints, Ints | None]:
    """Return the rows of some units, and the numbers of those that are persons, from 0 on."""
    if codes is None:
        return np.flatnonzero(kept), None
    rows = np.flatnonzero((codes >= 0) & kept[codes])
    numbers = np.cumsum(kept) - 1
    return rows, numbers[codes[rows]].astype(np.int64)
