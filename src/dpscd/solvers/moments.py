"""Noisy means of features and labels, released before training.

Each is one Gaussian release of a sum over all records, as the plan says, and public from
then on: what is computed from it, the way rows and labels are standardised, is free.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError, ParameterError
from dpscd.kernels.moments import add_moments
from dpscd.kernels.rows import Rows, row_width
from dpscd.plan import Plan
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.sums import noisy_sum

__all__ = [
    "LabelMoments",
    "Moments",
    "release_labels",
    "release_moments",
    "release_spread",
]

Floats = npt.NDArray[np.float64]

# Contributions are shortened by more than rounding can lengthen them.
_MARGIN = 1.0 - 2.0**-20


class Moments(NamedTuple):
    """Public estimates of the features' means and mean squares.

    Attributes
    ----------
    mean, square : arrays of shape (d,)
        For rows of length at most 1.
    error : float
        Standard deviation of each estimate.
    """

    mean: Floats
    square: Floats
    error: float


class LabelMoments(NamedTuple):
    """Public estimates of where labels in [-1, 1] lie, and how far from it on average."""

    centre: float
    spread: float


def release_moments(plan: Plan, rows: Rows, weights: Floats, source: Source) -> Moments:
    """Release the features' moments as the plan says.

    Parameters
    ----------
    plan : Plan
        With moments_noise.
    rows : Rows
        Records of length at most 1 without a constant column; a secret.
    weights : array of float
        Records of weight 0 do not count.
    source : Source
        Randomness of this fit.

    Notes
    -----
    Guarantee: the release "moments" of ``plan.releases()``.
    Proof: docs/proofs/moments.md.
    """
    if not plan.moments_noise:
        raise ParameterError("the plan does not release moments.")
    if row_width(rows) != plan.d or rows.tail != 0.0:
        raise DataError("the rows do not have the plan's columns.")
    if not len(weights) == len(rows.factor) == len(rows.norm):
        raise DataError("rows and weights are not equally many.")
    total = np.zeros((2, plan.d))
    cell = _cell(plan, len(weights))
    add_moments(rows, weights, cell, total)
    noisy = noisy_sum(plan.moments_noise, cell, total.ravel(), source, Purpose.MOMENTS)
    # A record adds (x, x * x) / sqrt(2).
    found = noisy.reshape(2, plan.d) * (np.sqrt(2.0) / plan.n)
    return Moments(found[0], found[1], float(np.sqrt(2.0) * plan.moments_noise / plan.n))


def release_labels(plan: Plan, labels: Floats, weights: Floats, source: Source) -> LabelMoments:
    """Release where the labels lie, as the plan says: a mean, then a spread around it.

    Parameters
    ----------
    plan : Plan
        With label_noise; without an intercept the centre is 0 and costs nothing.
    labels : array of float
        In units in which declared bounds are at most 1; beyond them they are clipped.
    weights : array of float
        Records of weight 0 do not count.
    source : Source
        Randomness of this fit.

    Notes
    -----
    Guarantee: the releases "label mean" (with an intercept) and the first "label spread" of
    ``plan.releases()``. The second depends on the first, which is public by then.
    Proof: docs/proofs/moments.md.
    """
    centre = 0.0
    inside = np.clip(labels, -1.0, 1.0)
    if plan.intercept:
        mean = _mean(plan, inside, weights, source, Purpose.LABEL_MEAN, 0)
        centre = min(1.0, max(-1.0, mean))
    return LabelMoments(centre, release_spread(plan, inside - centre, weights, source))


def release_spread(
    plan: Plan, distances: Floats, weights: Floats, source: Source, *, time: int = 0
) -> float:
    """Release the mean size of `distances`, each counted as at most 2.

    Parameters
    ----------
    plan : Plan
        With label_noise.
    distances : array of float
        Of labels from their centre or from public predictions, in units in which the
        declared bounds of labels are at most 1.
    weights : array of float
        Records of weight 0 do not count.
    source : Source
        Randomness of this fit.
    time : int
        0 for the first such release of a fit, 1 for the one after the pilot.

    Notes
    -----
    Guarantee: a release "label spread" of ``plan.releases()``.
    Proof: docs/proofs/moments.md.
    """
    half = np.minimum(np.abs(distances), 2.0) / 2.0
    return 2.0 * _mean(plan, half, weights, source, Purpose.LABEL_SPREAD, time)


def _mean(
    plan: Plan, each: Floats, weights: Floats, source: Source, purpose: Purpose, time: int
) -> float:
    """Release the mean over the public n of numbers between -1 and 1."""
    if not plan.label_noise:
        raise ParameterError("the plan does not release label moments.")
    if len(each) != len(weights):
        raise DataError("labels and weights are not equally many.")
    cell = _cell(plan, len(weights))
    usable = np.isfinite(each) & (weights > 0.0)
    whole = np.trunc(np.where(usable, each, 0.0) * (_MARGIN / cell))
    total = np.array([whole.sum()])  # whole numbers below 2^53: exact in any order
    noisy = noisy_sum(plan.label_noise, cell, total, source, purpose, time)
    return float(noisy[0] / plan.n)


def _cell(plan: Plan, count: int) -> float:
    if count > plan.capacity:
        raise DataError("there are far more records than the declared n.")
    return plan.cell_of(1.0)
