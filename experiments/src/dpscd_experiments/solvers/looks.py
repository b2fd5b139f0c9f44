"""What a solver shows at the end of an epoch."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from dpscd.problem import Floats


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


Observer = Callable[[Look], Any]


def exact_looks(observer: Observer | None) -> Callable[[int, Floats, Floats], Any] | None:
    """Return the observer of SDCA: its vector does not drift and no step is cut."""
    if observer is None:
        return None
    return lambda epoch, shared, dual: observer(Look(epoch, shared, dual, 0.0, 0.0))
