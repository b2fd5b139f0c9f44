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
    from dpscd.estimators.interop import LinkedClassifier, to_onnx, to_sklearn
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
    "LinkedClassifier",
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

_HOMES = {
    "DPHuberRegressor": "dpscd.estimators.regression",
    "DPLinearSVC": "dpscd.estimators.classification",
    "DPLogisticRegression": "dpscd.estimators.classification",
    "DPModelSearch": "dpscd.estimators.model_search",
    "DPPoissonRegressor": "dpscd.estimators.regression",
    "DPRidge": "dpscd.estimators.regression",
    "Intervals": "dpscd.estimators.intervals",
    "Ledger": "dpscd.privacy.ledger",
    "LinkedClassifier": "dpscd.estimators.interop",
    "Look": "dpscd.preprocessing.looking",
    "look": "dpscd.preprocessing.looking",
    "plan": "dpscd.estimators.planned",
    "evaluate": "dpscd.estimators.evaluation",
    "load": "dpscd.estimators.loading",
    "sign_model": "dpscd.estimators.loading",
    "to_onnx": "dpscd.estimators.interop",
    "to_sklearn": "dpscd.estimators.interop",
    "PrivacyCard": "dpscd.model.card",
    "report": "dpscd.documents.write",
    "PrivateScore": "dpscd.estimators.private_score",
    "private_score": "dpscd.estimators.private_score",
    "RowScaler": "dpscd.preprocessing.transformers",
    "Schema": "dpscd.preprocessing.schema",
    "SecretSeed": "dpscd.privacy.random",
    "StoredRows": "dpscd.records.stored_rows",
    "TableEncoder": "dpscd.preprocessing.transformers",
    "TableModel": "dpscd.estimators.table",
}


def __getattr__(name: str) -> Any:
    # Names are loaded when first used: importing the package costs nothing.
    if name not in __all__:
        raise AttributeError(f"module 'dpscd' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "dpscd.errors")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
