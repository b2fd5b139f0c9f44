"""Audits of the estimators' public entrance: ``fit(X, y, sample_weight, groups)``."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.audit.canaries import SATURATING_LAM, Game, row_weights
from dpscd.audit.evidence import Canaries
from dpscd.audit.mechanism import persons_of
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.registry import kind_of
from dpscd.privacy.relation import Relation

__all__ = ["EstimatorGame", "saturating"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# What n records may move a dual by in all. Standardised rows of canaries may be a hundredth of
# the longest row, and a dual then moves a hundred times as far as a contribution is long.
_TRAVEL = 1e-4


def saturating(n: int, *, rows: int | None = None, **chosen: Any) -> dict[str, Any]:
    """Return parameters with which steps of canaries are clipped every time.

    The claim does not depend on them. Lots are a quarter of the `n` records or persons; `rows`
    are those of a canary that is a person. `chosen` adds parameters or overrides these.
    """
    return {
        "delta": 1e-5,
        "n": n,
        "lot_size": max(1, n // 4),
        "epochs": 25,
        "lam": SATURATING_LAM,
        "travel": _TRAVEL / (n * (rows or 1)),
        "standardise": False,
        "fit_intercept": False,
        **chosen,
    }


@dataclass(frozen=True)
class EstimatorGame:
    """An estimator, and the records that it is fitted to."""

    name: str  # shown in results
    model: type[DPLinearModel]
    # as :func:`saturating` gives them; n defaults to the number of units of the game
    parameters: dict[str, Any] = field(default_factory=dict)
    canaries: int = 1000  # records, or persons, of a fit; so are `ordinary`
    ordinary: int = 100
    dense: bool = False  # whether X is an array; CSR if not
    classes: int = 2  # canaries are of the last class
    # Rows of a canary, if it is a person: rows come with groups, those of a person far from
    # each other. None if every row is a record by itself.
    person_rows: int | None = None

    @property
    def _game(self) -> Game:
        return Game(self.canaries, self.ordinary, person_rows=self.person_rows)

    @property
    def _regression(self) -> bool:
        return not kind_of(self.model).classifies

    def estimator(self, seed: int | None) -> DPLinearModel:
        """Return the estimator, unfitted."""
        given = saturating(
            **{"n": self._game.records, "rows": self.person_rows, **self.parameters}
        )
        own: dict[str, Any] = (
            {"y_bounds": (-1.0, 1.0)}
            if self._regression
            else {"classes": list(range(self.classes))}
        )
        estimator: DPLinearModel = self.model(**{**own, **given, "random_state": seed})
        return estimator

    def fit(self, present: Bools, seed: int | None) -> DPLinearModel:
        """Fit the estimator to the records, with absent canaries as the relation requires."""
        estimator = self.estimator(seed)
        relation = Relation.parse(estimator.relation)
        data = self._game.dataset(present, relation, float(estimator.row_bound))
        y: Any = data.targets
        if not self._regression:
            # +1 is the last class; the others share what is -1.
            others = np.arange(len(y)) % (self.classes - 1)
            y = np.where(data.targets > 0.0, self.classes - 1, others)
        X = data.X.toarray() if self.dense else data.X
        order, groups = data.scattered, None
        if self.person_rows is not None:
            groups = data.groups[order]
        fitted: DPLinearModel = estimator.fit(
            X[order], y[order], sample_weight=data.weights[order], groups=groups
        )
        return fitted

    def suspects(self, model: DPLinearModel) -> Canaries:
        """Return the canaries, which no release changes before they are standardised.

        A person has one row here: all of its rows are alike.
        """
        relation = Relation.parse(model.relation)
        there = np.ones(self.canaries, dtype=bool)
        labels = np.full(self.canaries, 1.0 if self._regression else self._inner_label())

        def rows(present: Bools) -> Any:
            data = self._game.dataset(present, relation, float(model.row_bound))
            X = data.X[data.starts[: self.canaries]]
            return X.toarray() if self.dense else X

        absent = (rows(~there), labels) if relation.absent == "other" else None
        weights = row_weights(persons_of(model.privacy_), self.person_rows or 1)
        return Canaries(
            rows(there), labels, np.arange(self.canaries), absent, row_weights=weights
        )

    def model_scores(self, model: DPLinearModel) -> Floats:
        """Return the canaries' coefficients: those of their class, less those of the others."""
        coef = np.atleast_2d(model.coef_)[:, : self.canaries]
        signs = np.full((len(coef), 1), -1.0)
        signs[-1] = 1.0
        scores: Floats = (signs * coef).sum(axis=0)
        return scores

    def _inner_label(self) -> float:
        return 1.0 if self.classes == 2 else self.classes - 1.0
