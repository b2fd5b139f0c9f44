"""Probabilities of two classes, and expected counts, one record after another."""

import math

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit_uncounted
from dpscd.kernels.rows import Rows, ordered_dot
from dpscd.losses.logistic import plain_exp

Floats = npt.NDArray[np.float64]

_HIGHEST = 700.0  # exponentials of larger numbers leave the range of doubles


@jit_uncounted
def fill_probabilities(
    rows: Rows, parts: Floats, coef: Floats, intercept: float, scale: float, caps: Floats,
    probabilities: Floats, slopes: Floats,
) -> None:  # fmt: skip
    """Fill in each record's probability of the second class, and its slope in the decision.

    Products of `rows`, cut to some length, with `coef` are divided by `parts`, the part of each
    row that is left; decisions are multiplied by `scale`. `caps` is the largest slope of the
    loss for each class, as in :class:`dpscd.link.Link`. NaN is written where there is no
    decision.

    Guarantee: both are functions of the record's own row, to the last bit. No library is
    called, which might round otherwise on another processor, or in another place of an array.
    """
    for i in range(probabilities.shape[0]):
        probabilities[i] = slopes[i] = np.nan
        if not rows.norm[i] >= 0.0:
            continue
        away = scale * (ordered_dot(rows, i, coef) / parts[i] + intercept)
        if math.isnan(away):
            continue
        small = plain_exp(-abs(away)) if abs(away) < _HIGHEST else 0.0
        likely, unlikely = 1.0 / (1.0 + small), small / (1.0 + small)
        second, first = (likely, unlikely) if away >= 0.0 else (unlikely, likely)
        # How fast the logarithm of the odds grows: of each class only below its cap.
        growth = 0.0
        if second < caps[0]:
            growth += first
        if first < caps[1]:
            growth += second
        odds, against = min(second, caps[0]), min(first, caps[1])
        probability = odds / (odds + against)
        probabilities[i] = probability
        slopes[i] = scale * growth * probability * (against / (odds + against))


@jit_uncounted
def fill_means(
    rows: Rows, parts: Floats, coef: Floats, intercept: float, means: Floats
) -> None:
    """Fill in each record's expected count under a log link; NaN where there is none.

    Guarantee: a function of the record's own row, as :func:`fill_probabilities` is.
    """
    for i in range(means.shape[0]):
        means[i] = np.nan
        if not rows.norm[i] >= 0.0:
            continue
        line = ordered_dot(rows, i, coef) / parts[i] + intercept
        if not math.isnan(line):
            means[i] = plain_exp(min(line, _HIGHEST))
