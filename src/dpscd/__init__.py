"""Differentially private linear models by stochastic dual coordinate descent.

Three scikit-learn estimators, :class:`DPRidge`, :class:`DPLogisticRegression` and
:class:`DPLinearSVC`, each with one number to choose: epsilon.
"""

from typing import TYPE_CHECKING, Any

from dpscd._version import __version__

if TYPE_CHECKING:
    from dpscd.errors import (
        CalibrationError,
        CardError,
        DataError,
        DataTypeError,
        DpscdError,
        ParameterError,
        PrivacyWarning,
        StreamError,
    )
    from dpscd.estimators.classification import DPLinearSVC, DPLogisticRegression
    from dpscd.estimators.regression import DPRidge
    from dpscd.privacy.card import PrivacyCard

__all__ = [
    "CalibrationError",
    "CardError",
    "DPLinearSVC",
    "DPLogisticRegression",
    "DPRidge",
    "DataError",
    "DataTypeError",
    "DpscdError",
    "ParameterError",
    "PrivacyCard",
    "PrivacyWarning",
    "StreamError",
    "__version__",
]

_HOMES = {
    "DPLinearSVC": "dpscd.estimators.classification",
    "DPLogisticRegression": "dpscd.estimators.classification",
    "DPRidge": "dpscd.estimators.regression",
    "PrivacyCard": "dpscd.privacy.card",
}


def __getattr__(name: str) -> Any:
    # Names are loaded when first used: importing the package costs nothing.
    if name not in __all__:
        raise AttributeError(f"module 'dpscd' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "dpscd.errors")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
