"""What a solver shows to somebody who watches it, once an epoch."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Look", "Observer"]

Floats = npt.NDArray[np.float64]


class Look(NamedTuple):
    """The state of a solver at the end of an epoch. Arrays are views: copy what is kept.

    Attributes
    ----------
    epoch : int
        Number of epochs done.
    shared : array of shape (outputs, width)
        The shared vector, ``strength`` times the model, before any averaging.
    dual : array of shape (records, outputs), optional
        The duals, where there are any and they are no secret.
    drift : float
        Length of the difference between the auxiliary vector and what it stands for.
    clipped : float
        Share of the steps of this epoch that were scaled down.
    """

    epoch: int
    shared: Floats
    dual: Floats | None = None
    drift: float = math.nan
    clipped: float = math.nan


Observer = Callable[[Look], None]
