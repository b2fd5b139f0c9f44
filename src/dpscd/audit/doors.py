"""The fits that the command line audits through the front door, one for each of its parts."""

from typing import Any

from dpscd.audit.door_games import EstimatorGame
from dpscd.audit.front_door import DoorGame
from dpscd.audit.table_game import TableGame
from dpscd.estimators.classification import DPLogisticRegression
from dpscd.estimators.regression import DPRidge
from dpscd.estimators.svc import DPLinearSVC

__all__ = ["estimator_doors", "table_doors"]

# A constant column that takes little of a canary's length away from its own feature, whose
# standardised rows are short.
_SMALL = {"fit_intercept": True, "intercept_scaling": 0.05}


def estimator_doors(epsilon: float, delta: float) -> list[EstimatorGame]:
    """Return games on ``fit(X, y, sample_weight)``, all at one claim."""

    def game(name: str, model: Any, options: dict[str, Any], **records: Any) -> EstimatorGame:
        return EstimatorGame(
            name, model, {"epsilon": epsilon, "delta": delta, **options}, **records
        )

    standardised = {"standardise": True, **_SMALL}
    return [
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


def table_doors(epsilon: float, delta: float) -> list[TableGame]:
    """Return games on ``TableModel.fit(table)``, all at one claim."""

    def game(name: str, model: Any, options: dict[str, Any], **records: Any) -> TableGame:
        return TableGame(
            name, model, {"epsilon": epsilon, "delta": delta, **options}, **records
        )

    return [
        game("table: logistic, intercept", DPLogisticRegression, {"fit_intercept": True}),
        game("table: SVM, private bounds", DPLinearSVC, {}, canaries=94, private=True),
        game("table: ridge, standardised, pilot", DPRidge, {"standardise": True, **_SMALL}),
        game("table: ridge, replace-one", DPRidge, {"relation": "replace-one"},
             canaries=200, columns=True, rows="scale"),
        game("table: CSV, logistic, add-remove", DPLogisticRegression,
             {"relation": "add-remove"}, csv=True, rows="scale"),
    ]  # fmt: skip


def door_games(epsilon: float, delta: float) -> list[DoorGame]:
    """Return all of them."""
    return [*estimator_doors(epsilon, delta), *table_doors(epsilon, delta)]
