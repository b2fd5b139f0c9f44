"""Differentially private linear models by stochastic dual coordinate descent.

Scikit-learn estimators, :class:`DPRidge`, :class:`DPHuberRegressor`,
:class:`DPPoissonRegressor`, :class:`DPLogisticRegression` and :class:`DPLinearSVC`, each with
one number to choose: epsilon.
"""

from typing import TYPE_CHECKING, Any

from dpscd._version import __version__

if TYPE_CHECKING:
    from dpscd.documents.write import report
    from dpscd.errors import (
        BudgetExceeded,
        CalibrationError,
        CardError,
        DataError,
        DataTypeError,
        DpscdError,
        LedgerError,
        ModelFileError,
        ParameterError,
        PrivacyWarning,
        SchemaError,
        StreamError,
        UtilityWarning,
        WorkerError,
    )
    from dpscd.estimators.classification import DPLinearSVC, DPLogisticRegression
    from dpscd.estimators.evaluation import evaluate
    from dpscd.estimators.interop import to_onnx, to_sklearn
    from dpscd.estimators.intervals import Intervals
    from dpscd.estimators.loading import load, sign_model
    from dpscd.estimators.model_search import DPModelSearch
    from dpscd.estimators.planned import plan
    from dpscd.estimators.private_score import PrivateScore, private_score
    from dpscd.estimators.regression import DPHuberRegressor, DPPoissonRegressor, DPRidge
    from dpscd.estimators.table import TableModel
    from dpscd.model.card import PrivacyCard
    from dpscd.preprocessing.looking import Look, look
    from dpscd.preprocessing.schema import Schema
    from dpscd.preprocessing.transformers import RowScaler, TableEncoder
    from dpscd.privacy.ledger import Ledger
    from dpscd.privacy.random import SecretSeed
    from dpscd.records.stored_rows import StoredRows

__all__ = [
    "BudgetExceeded",
    "CalibrationError",
    "CardError",
    "DPHuberRegressor",
    "DPLinearSVC",
    "DPLogisticRegression",
    "DPModelSearch",
    "DPPoissonRegressor",
    "DPRidge",
    "DataError",
    "DataTypeError",
    "DpscdError",
    "Intervals",
    "Ledger",
    "LedgerError",
    "Look",
    "ModelFileError",
    "ParameterError",
    "PrivacyCard",
    "PrivacyWarning",
    "PrivateScore",
    "RowScaler",
    "Schema",
    "SchemaError",
    "SecretSeed",
    "StoredRows",
    "StreamError",
    "TableEncoder",
    "TableModel",
    "UtilityWarning",
    "WorkerError",
    "__version__",
    "evaluate",
    "load",
    "look",
    "plan",
    "private_score",
    "report",
    "sign_model",
    "to_onnx",
    "to_sklearn",
]

# Errors apart, which stand in `errors`.
_HOMES = {
    "documents.write": ("report",),
    "estimators.classification": ("DPLinearSVC", "DPLogisticRegression"),
    "estimators.evaluation": ("evaluate",),
    "estimators.interop": ("to_onnx", "to_sklearn"),
    "estimators.intervals": ("Intervals",),
    "estimators.loading": ("load", "sign_model"),
    "estimators.model_search": ("DPModelSearch",),
    "estimators.planned": ("plan",),
    "estimators.private_score": ("PrivateScore", "private_score"),
    "estimators.regression": ("DPHuberRegressor", "DPPoissonRegressor", "DPRidge"),
    "estimators.table": ("TableModel",),
    "model.card": ("PrivacyCard",),
    "preprocessing.looking": ("Look", "look"),
    "preprocessing.schema": ("Schema",),
    "preprocessing.transformers": ("RowScaler", "TableEncoder"),
    "privacy.ledger": ("Ledger",),
    "privacy.random": ("SecretSeed",),
    "records.stored_rows": ("StoredRows",),
}


def __getattr__(name: str) -> Any:
    # Names are loaded when first used: importing the package costs nothing.
    if name not in __all__:
        raise AttributeError(f"module 'dpscd' has no attribute {name!r}")
    from importlib import import_module

    home = next((home for home, names in _HOMES.items() if name in names), "errors")
    return getattr(import_module(f"dpscd.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
