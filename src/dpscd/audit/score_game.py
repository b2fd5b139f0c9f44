"""Games on ``private_score(model, X, y, groups=...)``.

A canary is a held-out record, or person, whose vector is as long as a measure has any. Measures
that count records in cells allow many canaries, each with a cell of its own; the others, whose
numbers all records share, allow one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.cards.score_card import ScoreCard
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.classification import DPLogisticRegression
from dpscd.estimators.private_score import PrivateScore, private_score
from dpscd.estimators.regression import DPRidge
from dpscd.estimators.table import TableModel
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.relation import PrivacyTarget, Relation
from dpscd.scores.measure import Answers
from dpscd.scores.registry import NUMBER_METRICS, measure_of_facts

__all__ = ["ScoreGame"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_LOSSES = ("log_loss", "brier", "mae", "mse")  # small ones are good
_CONFIDENT = 1e-4  # a lam with which a model is all but certain of the rows it was fitted to
_NOBODY = -1  # a label that is no class


@dataclass(frozen=True)
class ScoreGame:
    """A model that is fitted once, and the held-out records that it is scored on.

    Attributes
    ----------
    name : str
        What results call it.
    metric : str
        Of the score.
    claim : dict
        Epsilon, delta and relation, as :func:`dpscd.private_score` takes them.
    classes : int
        How many the model tells apart; of measures of numbers it has none.
    canaries : int
        One, or as many as there are pairs of a true and a predicted class.
    ordinary : int
        Other records, or persons.
    person_rows : int or None
        Rows of a canary, which is a person then; None if every row is a record by itself.
    table : bool
        Whether the model is one of tables, and the records a table.
    score : callable
        What is attacked: private_score.
    """

    name: str
    metric: str
    claim: dict[str, Any] = field(default_factory=dict)
    classes: int = 2
    canaries: int = 1
    ordinary: int = 60
    person_rows: int | None = None
    table: bool = False
    score: Callable[..., PrivateScore] = private_score

    @property
    def model(self) -> type[DPLinearModel]:
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

    def play(self, present: Bools, seed: int | None) -> PrivateScore:
        """Score the model as a user does, on records with the canaries that are there."""
        label, row, who = self.records(present)
        chosen: dict[str, Any] = {**self.claim, "metric": self.metric, "random_state": seed}
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
                found += [(*self._other(label, row), c)] * (1 + c % most)
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

    def suspects(self, card: ScoreCard) -> tuple[Floats, Floats]:
        """Return how each canary, in columns, moves the released sum, and the others' part."""
        target = PrivacyTarget(card.epsilon, card.delta, card.relation)
        measure = measure_of_facts(card.public, target)
        way = measure.vectors(self._answers(there=True))
        if self.relation.absent == "other":
            way = way - measure.vectors(self._answers(there=False))
        return way, measure.vectors(self._ordinary_answers()).sum(axis=1)

    def value(self, found: PrivateScore) -> Floats | None:
        """Return the canary's score from the published value, if there is one canary."""
        if self.canaries > 1:
            return None
        value = np.ravel(found.value)[-1]
        return np.array([-value if self.metric in _LOSSES else value])

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        """The class and the row of each canary; a single one is right, and the last."""
        every = range(self.classes)
        return [(label, row) for label in every for row in every][-self.canaries :]

    def _other(self, label: int, row: int) -> tuple[int, int]:
        """Return the replacement of a canary: one that is predicted wrong."""
        return label, (row + 1) % self.classes

    def _answers(self, *, there: bool) -> Answers:
        pairs = self._pairs if there else [self._other(*pair) for pair in self._pairs]
        label, row = np.array(pairs).T
        return self._known(label, row)

    def _ordinary_answers(self) -> Answers:
        label, row, who = self.records(np.zeros(self.canaries, dtype=bool))
        # One row of each person says it all: rows of a person are alike.
        persons, first = np.unique(who, return_index=True)
        own = first[persons >= self.canaries]
        own = own[row[own] < self.classes]
        return self._known(label[own], row[own])

    def _known(self, label: Any, row: Any) -> Answers:
        """Return labels and predictions, as an adversary with the model computes them."""
        if self._numbers:
            labels = np.where(label == _NOBODY, np.nan, 2.0 * label - 1.0)
            return Answers(labels, self.fitted.predict(np.eye(2)[row]))
        levels = np.arange(self.classes)
        rows = self._table(levels, levels) if self.table else np.eye(self.classes)
        chances = self.fitted.predict_proba(rows)
        return Answers(label, row, chances[row])

    def _table(self, label: Any, row: Any) -> pd.DataFrame:
        levels = [f"level {k}" for k in range(self.classes)] + [None]
        names = [f"class {k}" for k in range(self.classes)] + ["none of them"]
        return pd.DataFrame(
            {"level": [levels[k] for k in row], "target": [names[k] for k in label]},
            dtype=object,
        )
