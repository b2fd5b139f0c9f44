"""What a fit with confidence intervals asks for: checked before any value is used."""

import math
from typing import Any

import numpy as np

from dpscd.errors import ParameterError
from dpscd.estimators.parameters import is_auto
from dpscd.information import ROBUST
from dpscd.persons import SHARE

__all__ = ["check_inference", "check_inference_parameters"]

_PLANNED = ("lam", "travel", "epochs", "lot_size")


def check_inference_parameters(model: Any) -> None:
    """Raise ParameterError for parameters that do not go with `inference`."""
    asked = model.inference
    if isinstance(asked, bool | np.bool_):
        if not asked:
            return
    elif not (isinstance(asked, str) and asked == ROBUST):
        raise ParameterError(f"inference={asked!r} must be True, False or {ROBUST!r}.")
    if math.isinf(model.epsilon):
        raise ParameterError(
            "inference needs a finite epsilon: without privacy use statsmodels, for example."
        )
    for name in _PLANNED:
        if not is_auto(getattr(model, name)):
            raise ParameterError(
                f"{name}={getattr(model, name)!r} does not go with inference, for which it is "
                "planned: leave it 'auto'."
            )
    if model.standardise is False:
        raise ParameterError("standardise=False does not go with inference, which needs it.")
    if getattr(model, "class_weight", None) is not None:
        raise ParameterError(
            "class_weight does not go with inference: it changes what is meant."
        )


def check_inference(model: Any, classes: Any, opened: Any, source: Any) -> None:
    """Raise ParameterError where public facts of the records do not go with `inference`."""
    if classes is not None and len(classes) != 2:
        raise ParameterError(f"inference is for two classes, not {len(classes)}.")
    if source.on_dask:
        raise ParameterError("inference is not available on Dask: its many steps are small.")
    if source.weighted:
        raise ParameterError("sample_weight does not go with inference.")
    if not opened.dense:
        raise ParameterError("inference needs dense rows, not a sparse matrix.")
    if source.persons is not None and model.person_weight != SHARE:
        raise ParameterError(
            f"inference with persons needs person_weight={SHARE!r}: if every row counts, "
            "whoever has many is cut, and intervals would be about something else."
        )
