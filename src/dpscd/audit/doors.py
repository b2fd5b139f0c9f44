"""The fits that the command line audits, one for each part of the public entrance."""

from dataclasses import replace
from typing import Any, TypeVar

from dpscd.audit.canaries import PERSON_ROWS
from dpscd.audit.games import EstimatorGame, TableGame
from dpscd.audit.score_audit import ScoreGame
from dpscd.estimators.classification import DPLinearSVC, DPLogisticRegression
from dpscd.estimators.regression import DPRidge

G = TypeVar("G", EstimatorGame, ScoreGame, TableGame)

# A constant column that takes little of a canary's length away from its own feature, whose
# standardised rows are short.
_SMALL = {"fit_intercept": True, "intercept_scaling": 0.05}


def estimator_doors(
    epsilon: float, delta: float, person_rows: int | None = None
) -> list[EstimatorGame]:
    """Return games on ``fit(X, y, sample_weight, groups)``, all at one claim."""
    # With `person_rows` all canaries are persons of this many rows; without it, in some games.

    def game(name: str, model: Any, options: dict[str, Any], **records: Any) -> EstimatorGame:
        return EstimatorGame(
            name, model, {"epsilon": epsilon, "delta": delta, **options}, **records
        )

    standardised = {"standardise": True, **_SMALL}
    games = [
        game("ridge, sparse", DPRidge, {}),
        game("logistic, dense", DPLogisticRegression, {}, canaries=500, dense=True),
        game("SVM, dense, intercept", DPLinearSVC, {"fit_intercept": True},
             canaries=500, dense=True),
        game("logistic, standardised, sparse", DPLogisticRegression, {"standardise": True}),
        game("SVM, standardised, dense, intercept", DPLinearSVC, standardised,
             canaries=500, ordinary=500, dense=True),
        game("ridge, standardised, pilot, intercept", DPRidge, standardised),
        game("logistic, three classes", DPLogisticRegression, {}, classes=3),
        game("logistic, lazy noise", DPLogisticRegression, {}, canaries=5000),
        game("ridge, replace-one", DPRidge, {"relation": "replace-one"}),
        game("SVM, add-remove", DPLinearSVC, {"relation": "add-remove"}),
    ]  # fmt: skip
    if person_rows is not None:
        # Noise of persons is never lazy.
        eager = [one for one in games if "lazy" not in one.name]
        return [_with_persons(one, person_rows) for one in eager]
    persons = [
        game("ridge, replace-one, sparse", DPRidge, {"relation": "replace-one"}),
        game("logistic, standardised, dense", DPLogisticRegression, {"standardise": True},
             canaries=500, ordinary=500, dense=True),
        game("SVM, add-remove, dense, shared weight", DPLinearSVC,
             {"relation": "add-remove", "person_weight": "share"}, canaries=500, dense=True),
    ]  # fmt: skip
    return [*games, *(_with_persons(one, PERSON_ROWS) for one in persons)]


def table_doors(
    epsilon: float, delta: float, person_rows: int | None = None
) -> list[TableGame]:
    """Return games on ``TableModel.fit(table)``; arguments as in :func:`estimator_doors`."""

    def game(name: str, model: Any, options: dict[str, Any], **records: Any) -> TableGame:
        return TableGame(
            name, model, {"epsilon": epsilon, "delta": delta, **options}, **records
        )

    games = [
        game("table: logistic, intercept", DPLogisticRegression, {"fit_intercept": True}),
        game("table: SVM, private bounds", DPLinearSVC, {}, canaries=94, private=True),
        game("table: ridge, standardised, pilot", DPRidge, {"standardise": True, **_SMALL}),
        game("table: ridge, replace-one", DPRidge, {"relation": "replace-one"},
             canaries=200, columns=True, rows="scale"),
        game("table: CSV, logistic, add-remove", DPLogisticRegression,
             {"relation": "add-remove"}, csv=True, rows="scale"),
    ]  # fmt: skip
    if person_rows is not None:
        return [_with_persons(one, person_rows) for one in games]
    persons = game("table: logistic", DPLogisticRegression, {"fit_intercept": True})
    return [*games, _with_persons(persons, PERSON_ROWS)]


def score_doors(
    epsilon: float, delta: float, person_rows: int | None = None
) -> list[ScoreGame]:
    """Return games on ``private_score``; arguments as in :func:`estimator_doors`."""

    def game(name: str, metric: str, relation: str = "zero-out", **more: Any) -> ScoreGame:
        claim = {"epsilon": epsilon, "delta": delta, "relation": relation}
        return ScoreGame(f"score: {name}", metric, claim, **more)

    cells: dict[str, Any] = {"classes": 8, "canaries": 64}
    games = [
        game("accuracy", "accuracy"),
        game("accuracy, add-remove", "accuracy", "add-remove"),
        game("log loss", "log_loss"),
        game("Brier score", "brier"),
        game("absolute error", "mae"),
        game("squared error, add-remove", "mse", "add-remove"),
        game("R2", "r2"),
        game("shares of all", "confusion", **cells),
        game("shares of all, replace-one", "confusion", "replace-one"),
        game("recall, add-remove", "recall", "add-remove", canaries=4),
        game("AUC", "auc", canaries=4),
    ]
    if person_rows is not None:
        return [_with_persons(one, person_rows) for one in games]
    return [
        *games,
        game("table, shares of all", "confusion", table=True, **cells),
        _with_persons(game("shares of all", "confusion", **cells), PERSON_ROWS),
    ]


def _with_persons(game: G, rows: int) -> G:
    return replace(game, name=f"{game.name}, persons of {rows}", person_rows=rows)
