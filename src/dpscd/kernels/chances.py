"""Probabilities of two classes and how steep they are, one record after the other."""

import math

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit

__all__ = ["fill_chances"]

Floats = npt.NDArray[np.float64]


@jit
def fill_chances(
    decisions: Floats, scale: float, caps: Floats, chances: Floats, slopes: Floats
) -> None:
    """Fill in each record's probability of the second class, and its growth with the decision.

    Parameters
    ----------
    decisions : array of shape (n,)
        Positive towards the second class.
    scale : float
        Decisions are multiplied by this.
    caps : array of shape (2,)
        Largest slope of the loss of a record of each class, as in :class:`dpscd.link.Link`.
    chances, slopes : arrays of shape (n,)
        Written; NaN where the decision is.

    Notes
    -----
    Guarantee: both are functions of the record's own decision, to the last bit. Exponentials of
    whole arrays may round differently from one place of an array to another.
    """
    for i in range(decisions.shape[0]):
        away = scale * decisions[i]
        small = math.exp(-abs(away))
        likely, unlikely = 1.0 / (1.0 + small), small / (1.0 + small)
        second, first = (likely, unlikely) if away >= 0.0 else (unlikely, likely)
        # How fast the logarithm of the odds grows: of each class only below its cap.
        growth = 0.0
        if second < caps[0]:
            growth += first
        if first < caps[1]:
            growth += second
        odds, against = min(second, caps[0]), min(first, caps[1])
        chance = odds / (odds + against)
        chances[i] = chance
        slopes[i] = scale * growth * chance * (against / (odds + against))
        if math.isnan(away):
            chances[i] = slopes[i] = np.nan
