"""Audits of ``private_score(model, X, y, groups=...)``, attacked by all of its releases."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.audit.bounds import LowerBounds, Measured, lower_bounds
from dpscd.audit.canaries import drawn_worlds
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.classification import DPLogisticRegression
from dpscd.estimators.private_score import PrivateScore, private_score
from dpscd.estimators.regression import DPRidge
from dpscd.estimators.table import TableModel
from dpscd.model.card import PrivacyCard
from dpscd.preprocessing.schema import Schema
from dpscd.privacy.relation import Relation
from dpscd.scores.measure import Answers
from dpscd.scores.registry import NUMBER_METRICS

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_LOSSES = ("log_loss", "brier", "mae", "mse")  # small ones are good
_CONFIDENT = 1e-4  # a lam with which a model is all but certain of the rows it was fitted to
_NOBODY = -1  # a label that is no class


@dataclass(frozen=True)
class ScoreGame:
    """A model that is fitted once, and the held-out records that it is scored on.

    A canary is a held-out record, or person, whose vector is as long as a measure has any.
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

    def suspects(self, card: PrivacyCard) -> tuple[Floats, Floats]:
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

    def _wrong(self, row: Any) -> Any:
        """Return the row of a canary's replacement: it is predicted wrong."""
        return (row + 1) % self.classes

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


@dataclass(frozen=True)
class ScoreResult(Measured):
    """The result of an attack on scores."""

    name: str  # what was audited
    metric: str
    relation: str  # which held-out records were to be distinguished
    epsilon_claimed: float  # the claim of the card, with delta
    delta: float
    confidence: float  # of the bounds
    epsilon_lower: float  # From the noisy sum: its law is Gaussian, so both are bounds.
    epsilon_lower_clopper_pearson: float
    value_lower: float | None  # from the value alone; None where many canaries share it
    value_lower_clopper_pearson: float | None
    trials: int  # canaries observed in each world
    canaries: int  # in a score
    scores: int  # drawn
    person_rows: int | None  # rows of a canary that is a person; None if canaries are records
    noise_multiplier: float  # of the release
    seed: int | None  # None when the operating system gave the randomness
    seconds: float

    @property
    def measured(self) -> float:
        """The largest of the bounds."""
        alone = max(self.value_lower or 0.0, self.value_lower_clopper_pearson or 0.0)
        return max(super().measured, alone)


def audit_score(
    game: ScoreGame,
    *,
    trials: int = 2000,
    confidence: float = 0.95,
    random_state: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> ScoreResult:
    """Return empirical lower bounds on the epsilon of private scores as users call them.

    `trials` canaries are observed in each of the two worlds. Those of one score count as
    independent: each has a number of its own in the released sum. `progress` is called with the
    number of canaries observed in each score.

    >>> from dpscd.audit import ScoreGame, audit_score
    >>> game = ScoreGame("shares", "confusion", {"epsilon": 1.0}, classes=8, canaries=64)
    >>> result = audit_score(game, trials=1000, random_state=0)
    >>> result.epsilon_lower < result.epsilon_claimed
    True
    """
    start = time.perf_counter()
    worlds: list[Bools] = []
    sums: list[Floats] = []
    values: list[Floats] = []
    drawn = drawn_worlds(f"{game.name}, score", game.canaries, trials, random_state, progress)
    for present, seed in drawn:
        found = game.play(present, seed)
        sums.append(found.fit_.answers[0])
        value = game.value(found)
        if value is not None:
            values.append(value)
        worlds.append(present)
    there, card = np.concatenate(worlds), found.card
    # Given the law of the noise no attack is stronger: how far the sum went a canary's way.
    way, others = game.suspects(card)
    seen = ((np.array(sums) - others) @ (way / np.sqrt(np.square(way).sum(axis=0)))).ravel()

    def bounds(scores: Floats) -> LowerBounds:
        absent, present = scores[~there][:trials], scores[there][:trials]
        return lower_bounds(absent, present, delta=card.delta, confidence=confidence)

    whole, alone = bounds(seen), bounds(np.concatenate(values)) if values else None
    return ScoreResult(
        name=game.name,
        metric=game.metric,
        relation=card.relation.value,
        epsilon_claimed=card.epsilon,
        delta=card.delta,
        confidence=confidence,
        epsilon_lower=whole.epsilon_gaussian,
        epsilon_lower_clopper_pearson=whole.epsilon_clopper_pearson,
        value_lower=None if alone is None else alone.epsilon_gaussian,
        value_lower_clopper_pearson=None if alone is None else alone.epsilon_clopper_pearson,
        trials=trials,
        canaries=game.canaries,
        scores=len(worlds),
        person_rows=game.person_rows,
        noise_multiplier=card.noise_multiplier,
        seed=random_state,
        seconds=time.perf_counter() - start,
    )
