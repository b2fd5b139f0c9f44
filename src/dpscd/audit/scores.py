"""Private scores and private searches as users call them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from dpscd.audit.audit import Bools, Floats, Statistic, World
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.classification import DPLinearSVC, DPLogisticRegression
from dpscd.estimators.model_search import DPModelSearch
from dpscd.estimators.private_score import PrivateScore, private_score
from dpscd.estimators.regression import DPRidge
from dpscd.estimators.table import TableModel
from dpscd.model.card import PrivacyCard
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.random import Source
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.scores.measure import Answers
from dpscd.scores.registry import NUMBER_METRICS

_LOSSES = ("log_loss", "brier", "mae", "mse")  # small ones are good
_CONFIDENT = 1e-4  # a lam with which a model is all but certain of the rows it was fitted to
_NOBODY = -1  # a label that is no class
_SEARCHED = 40  # records of a search, the canary among them


@dataclass(frozen=True)
class ScoreCase:
    """``private_score`` of a model that is fitted once, on held-out records.

    Measures that count records in cells allow many canaries, each with a cell of its own; the
    others, whose numbers all records share, allow one.
    """

    name: str  # shown in results
    metric: str
    # epsilon, delta and relation, as :func:`dpscd.private_score` takes them
    claim: dict[str, Any] = field(default_factory=dict)
    classes: int = 2  # how many the model tells apart; of measures of numbers it has none
    canaries: int = 1  # or as many as there are pairs of a true and a predicted class
    ordinary: int = 60  # other records, or persons
    person_rows: int | None = None  # rows of a canary that is a person; None for records
    table: bool = False  # whether the model is one of tables, and the records a table
    score: Callable[..., PrivateScore] = private_score  # what is attacked

    stream: ClassVar[str] = "front door {seed}, {name}, score"

    @property
    def estimator(self) -> type[DPLinearModel]:
        """The estimator that is scored."""
        return DPRidge if self._numbers else DPLogisticRegression

    @property
    def _numbers(self) -> bool:
        return self.metric in NUMBER_METRICS

    @property
    def relation(self) -> Relation:
        """Which data sets are neighbours."""
        return Relation.parse(self.claim.get("relation", "zero-out"))

    @cached_property
    def fitted(self) -> Any:
        """A model that predicts class k for row k, or level k; or -1 and 1."""
        rows = np.tile(np.arange(self.classes), 50)
        chosen: dict[str, Any] = {"lam": _CONFIDENT, "fit_intercept": False, "random_state": 0}
        estimator: DPLinearModel
        if self._numbers:
            estimator = DPRidge(math.inf, y_bounds=(-1, 1), **chosen)
            return estimator.fit(np.eye(2)[rows], 2.0 * rows - 1.0)
        estimator = DPLogisticRegression(math.inf, **chosen)
        if self.table:
            levels = [f"level {k}" for k in range(self.classes)]
            names = [f"class {k}" for k in range(self.classes)]
            schema = Schema.from_dict(
                {
                    "target": {"column": "target", "classes": names},
                    "columns": {"level": {"kind": "category", "values": levels}},
                }
            )
            return TableModel(schema, estimator).fit(self._table(rows, rows))
        estimator.set_params(classes=list(range(self.classes)))
        return estimator.fit(np.eye(self.classes)[rows], rows)

    def trial(self, world: World) -> tuple[PrivacyTarget, list[Statistic]]:
        """Score the records of a world; look at the noisy sum, and at the value alone."""
        found = self._scored(world)
        # Given the law of the noise no attack is stronger: how far the sum went a canary's way.
        way, others = self._moves(found.card)
        seen = (found.fit_.answers[0] - others) @ (way / np.sqrt(np.square(way).sum(axis=0)))
        statistics = [Statistic("noisy sum", seen)]
        if self.canaries == 1:
            value = np.ravel(found.value)[-1:]
            sign = -1.0 if self.metric in _LOSSES else 1.0
            statistics.append(Statistic("value alone", sign * value))
        return found.card.target, statistics

    def _scored(self, world: World) -> PrivateScore:
        """Score the model as a user does."""
        label, row, who = self.records(world.present)
        chosen: dict[str, Any] = {
            **self.claim,
            "metric": self.metric,
            "random_state": world.seed,
        }
        if self.person_rows is not None:
            chosen["groups"] = who
        if self.relation.needs_n:
            chosen["n"] = self.canaries + self.ordinary
        if self.table:
            return self.score(self.fitted, self._table(label, row), **chosen)
        # A row without numbers is not a row, for any label.
        rows = np.vstack([np.eye(self.classes), np.full(self.classes, np.nan)])
        labels: Any = 2.0 * label - 1.0 if self._numbers else label
        if self._numbers:
            labels = np.where(label == _NOBODY, np.nan, labels)
        return self.score(self.fitted, rows[row], labels, **chosen)

    def records(self, present: Bools) -> tuple[Any, Any, Any]:
        """Return the class, the row and the person of each record."""
        most, found = self.person_rows or 1, []
        for c, ((label, row), there) in enumerate(zip(self._pairs, present, strict=True)):
            if there:
                found += [(label, row, c)] * most
            elif self.relation.absent == "other":
                found += [(label, self._wrong(row), c)] * (1 + c % most)
            elif self.relation.absent != "nothing":
                found.append((_NOBODY, row, c))
        for c in range(self.ordinary):
            # Of all pairs, some with a label that is no class or a row that is no row.
            lost = c % 11 == 5
            label = _NOBODY if c % 7 == 3 or (lost and self.table) else c % self.classes
            row = self.classes if lost else (c // self.classes) % self.classes
            found += [(label, row, self.canaries + c)] * (1 + c % most)
        # Rows of a person do not follow each other.
        label, row, who = np.array(found[::2] + found[1::2]).T
        return label, row, who

    def _moves(self, card: PrivacyCard) -> tuple[Floats, Floats]:
        """Return how each canary, in columns, moves the released sum, and the others' part."""
        measure = card.plan.main.measure
        label, row = np.array(self._pairs).T
        way = measure.vectors(self._known(label, row))
        if self.relation.absent == "other":
            way = way - measure.vectors(self._known(label, self._wrong(row)))
        label, row, who = self.records(np.zeros(self.canaries, dtype=bool))
        # One row of each person says it all: rows of a person are alike.
        persons, first = np.unique(who, return_index=True)
        own = first[persons >= self.canaries]
        own = own[row[own] < self.classes]
        return way, measure.vectors(self._known(label[own], row[own])).sum(axis=1)

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        """The class and the row of each canary; a single one is right, and the last."""
        every = range(self.classes)
        return [(label, row) for label in every for row in every][-self.canaries :]

    def _wrong(self, row: Any) -> Any:
        """Return the row of a canary's replacement: it is predicted wrong."""
        return (row + 1) % self.classes

    def _known(self, label: Any, row: Any) -> Answers:
        """Return labels and predictions, as an adversary with the model computes them."""
        if self._numbers:
            labels = np.where(label == _NOBODY, np.nan, 2.0 * label - 1.0)
            return Answers(labels, self._predicted[row])
        return Answers(label, row, self._predicted[row])

    @cached_property
    def _predicted(self) -> Any:
        """What the model says of each row: a number, or probabilities."""
        if self._numbers:
            return self.fitted.predict(np.eye(2))
        levels = np.arange(self.classes)
        rows = self._table(levels, levels) if self.table else np.eye(self.classes)
        return self.fitted.predict_proba(rows)

    def _table(self, label: Any, row: Any) -> pd.DataFrame:
        levels = [f"level {k}" for k in range(self.classes)] + [None]
        names = [f"class {k}" for k in range(self.classes)] + ["none of them"]
        return pd.DataFrame(
            {"level": [levels[k] for k in row], "target": [names[k] for k in label]},
            dtype=object,
        )


class _Split(DPModelSearch):
    """A search whose first record is always trained on, or always scored on."""

    trained = True

    def _apart(self, _source: Source, count: int, _relation: Relation) -> Bools:
        scored = np.zeros(count, dtype=bool)
        first = count - round(count * self.holdout)
        scored[first:] = True
        if not self.trained:
            scored[[0, -1]] = True, False
        return scored


@dataclass(frozen=True)
class SearchCase:
    """A search over two quick candidates, on a canary that is always trained on, or scored on.

    Given the split the guarantee holds for either. Looked at is what a search leaves: the
    coefficient of a column that only the canary has, or the score.
    """

    name: str
    claim: dict[str, Any] = field(default_factory=dict)  # as of the search
    trained: bool = True  # whether the canary is trained on, or scored on

    canaries: ClassVar[int] = 1
    person_rows: ClassVar[None] = None
    estimator: ClassVar[type[DPLinearModel]] = DPLogisticRegression
    stream: ClassVar[str] = "front door {seed}, {name}, search"

    def trial(self, world: World) -> tuple[PrivacyTarget, list[Statistic]]:
        """Search the records of a world, and look at the best run."""
        quick: dict[str, Any] = {"lam": 1e-2, "standardise": False, "fit_intercept": False}
        quick |= {"classes": [0, 1], "epochs": 2, "lot_size": 20}
        candidates = [DPLogisticRegression(**quick), DPLinearSVC(**quick)]
        search = _Split(candidates, mean_runs=3, random_state=world.seed, **self.claim)
        search.trained = self.trained
        search.fit(*self.records(present=bool(world.present[0])))
        score = search.best_score_
        if self.trained:
            score = float(search.best_estimator_.coef_[0, 1])
        return search.privacy_.target, [Statistic("best run", np.array([score]))]

    def records(self, *, present: bool) -> tuple[Floats, Any]:
        """Return rows and labels; the canary, number 0, is there, or empty.

        Some labels are wrong on purpose: a score at its end would be cut.
        """
        X = np.zeros((_SEARCHED, 2))
        X[:, 0] = np.linspace(0.2, 0.3, _SEARCHED)
        labels = np.ones(_SEARCHED, dtype=object)
        labels[-4:] = 0
        X[0] = ([0.0, 1.0] if self.trained else [0.3, 0.0]) if present else 0.0
        if not present:
            labels[0] = None  # an empty record counts nowhere
        return X, labels
