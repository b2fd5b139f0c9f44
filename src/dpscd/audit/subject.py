"""The estimator under audit: its unit, its saturating copy, and fits of that copy."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.audit.canaries import PERSON_ROWS, SATURATING_LAM, Game, saturating_travel
from dpscd.audit.mechanism import Mechanism
from dpscd.errors import ParameterError
from dpscd.estimators.base import DPLinearModel
from dpscd.estimators.registry import kind_of
from dpscd.privacy.relation import Relation

__all__ = ["fit_to", "game_for", "saturated"]


def game_for(subject: DPLinearModel | Mechanism, game: Game | None, trials: int) -> Game:
    """Return the game to play: the given one, adapted to the subject's unit.

    A mechanism and a fitted model, by its card, protect records or persons. Where persons are
    protected and the game gives no number of rows, a canary has PERSON_ROWS. The game decides
    for an estimator that is not fitted.
    """
    if game is None:
        game = Game(canaries=min(Game.canaries, 2 * trials))
    if isinstance(subject, Mechanism):
        person = subject.persons is not None
    elif hasattr(subject, "privacy_"):
        person = subject.privacy_.protected.is_person
    else:
        return game
    if person and game.person_rows is None:
        return replace(game, person_rows=PERSON_ROWS)
    if game.person_rows is not None and not person:
        raise ParameterError(
            f"person_rows={game.person_rows!r} asks for persons, but what is claimed protects "
            "records; leave it out, or audit an estimator that is not fitted."
        )
    return game


def saturated(estimator: DPLinearModel, game: Game) -> DPLinearModel:
    """Return an unfitted copy whose public numbers saturate the canaries.

    Only public numbers on which the claim does not depend are changed.
    """
    parameters = estimator.get_params(deep=False)
    if not parameters["epsilon"] < np.inf:
        raise ParameterError("epsilon=inf claims no privacy; there is nothing to audit.")
    n = parameters["n"] or game.records
    parameters.update(
        n=n,
        travel=saturating_travel(n, game.person_rows),
        lam=SATURATING_LAM * parameters["row_bound"] ** 2,
        ledger=None,  # an attack on made-up records spends nobody's budget
        dataset=None,
        verbose=0,
    )
    if kind_of(estimator).task == "counts":
        raise ParameterError("counts cannot be audited: a canary's label is -1 or 1.")
    if not kind_of(estimator).classifies:
        parameters["y_bounds"] = (-1.0, 1.0)
    else:
        if len(set(parameters["classes"] or (-1, 1))) != 2:
            raise ParameterError("only models with two classes can be audited.")
        parameters.update(classes=(-1, 1), class_weight=None)
    return type(estimator)(**parameters)


def fit_to(estimator: DPLinearModel, game: Game, present: npt.NDArray[np.bool_]) -> None:
    """Fit the estimator to the records, or the persons, of the game."""
    relation = Relation.parse(estimator.relation)
    data = game.dataset(present, relation, float(estimator.row_bound))
    y: Any = data.targets
    if kind_of(estimator).classifies:
        y = data.targets.astype(int)
    if game.person_rows is None:
        estimator.fit(data.X, y, sample_weight=data.weights)
        return
    order = data.scattered
    estimator.fit(
        data.X[order], y[order], sample_weight=data.weights[order], groups=data.groups[order]
    )
