"""State of a solver, shown to an observer once per epoch."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Look", "Observer"]

Floats = npt.NDArray[np.float64]


class Look(NamedTuple):
    """The state of a solver at the end of an epoch. Arrays are views: copy to keep them."""

    epoch: int  # epochs done
    # of shape (outputs, width): ``strength`` times the model, before any averaging
    shared: Floats
    # of shape (records, outputs), where duals exist and are not secret
    dual: Floats | None = None
    # distance between the auxiliary vector and the vector it stands for
    drift: float = math.nan
    clipped: float = math.nan  # share of this epoch's steps that were scaled down


Observer = Callable[[Look], None]
