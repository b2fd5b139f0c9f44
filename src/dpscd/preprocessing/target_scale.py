"""The scale on which the target of a regression is trained: its own, or log1p of it."""

import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dpscd.preprocessing.declarations import Target

__all__ = ["from_trained", "trained_bounds", "trained_labels"]

Floats = npt.NDArray[np.float64]


def trained_bounds(target: Target) -> tuple[float, float]:
    """Return declared bounds of a target on the scale of training."""
    low, high = cast("tuple[float, float]", target.bounds)
    return (math.log1p(low), math.log1p(high)) if target.transform else (low, high)


def trained_labels(target: Target, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels, or codes of classes, on the scale of training.

    Notes
    -----
    Guarantee: what a record's label becomes is a function of that label and of the declared
    target. One that is not finite stays so, and has weight 0.
    """
    if not target.transform:
        return values
    own = np.asarray(values, dtype=np.float64)
    low, high = cast("tuple[float, float]", target.bounds)
    # First the bounds: below -1 there is no logarithm, and a record is moved, not dropped.
    return np.where(np.isfinite(own), np.log1p(np.clip(own, low, high)), own)


def from_trained(target: Target, predictions: Floats, *, inside: bool) -> Floats:
    """Return predictions in the unit of the target.

    If `inside`, they stay within its bounds, up to the last bit.
    """
    if not target.transform:
        return predictions
    with np.errstate(over="ignore"):  # of predictions that are not kept inside
        found: Floats = np.expm1(predictions)
    low, high = cast("tuple[float, float]", target.bounds)
    return np.clip(found, low, high) if inside else found
