"""Noisy means of features and labels, released before training.

Each is one Gaussian release of a sum over all records, as the plan says, and public from
then on: what is computed from it, the way rows and labels are standardised, is free.
Totals are exact whole numbers, so parts of the records may be added up anywhere, and noise
is added once, to the sum of all.
"""

from collections.abc import Callable
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
    "distance_total",
    "label_total",
    "moments_total",
    "release_labels",
    "release_moments",
    "release_spread",
    "spread_total",
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


def moments_total(plan: Plan, rows: Rows, weights: Floats) -> Floats:
    """Return the exact sums of features and of their squares, in cells: not yet noisy.

    Parameters
    ----------
    plan : Plan
        With moments_noise.
    rows : Rows
        Records of length at most 1 without a constant column; a secret.
    weights : array of float
        Records of weight 0 do not count.
    """
    if not plan.moments_noise:
        raise ParameterError("the plan does not release moments.")
    if row_width(rows) != plan.d or rows.tail != 0.0:
        raise DataError("the rows do not have the plan's columns.")
    if not len(weights) == len(rows.factor) == len(rows.norm):
        raise DataError("rows and weights are not equally many.")
    total = np.zeros((2, plan.d))
    add_moments(rows, weights, _cell(plan, len(weights)), total)
    return total


def release_moments(plan: Plan, total: Floats, source: Source) -> Moments:
    """Release the features' moments as the plan says.

    Parameters
    ----------
    plan : Plan
        With moments_noise.
    total : array of shape (2, d)
        The sum of :func:`moments_total` over all records.
    source : Source
        Randomness of this fit.

    Notes
    -----
    Guarantee: the release "moments" of ``plan.releases()``.
    Proof: docs/proofs/moments.md.
    """
    cell = plan.cell_of(1.0)
    noisy = noisy_sum(plan.moments_noise, cell, total.ravel(), source, Purpose.MOMENTS)
    # A record adds (x, x * x) / sqrt(2).
    found = noisy.reshape(2, plan.d) * (np.sqrt(2.0) / plan.n)
    return Moments(found[0], found[1], float(np.sqrt(2.0) * plan.moments_noise / plan.n))


def label_total(plan: Plan, labels: Floats, weights: Floats) -> float:
    """Return the exact sum of labels, in cells: not yet noisy.

    Parameters
    ----------
    plan : Plan
        With label_noise.
    labels : array of float
        In units in which declared bounds are at most 1; beyond them they are clipped.
    weights : array of float
        Records of weight 0 do not count.
    """
    return _total(plan, _inside(labels), weights)


def distance_total(plan: Plan, labels: Floats, centre: float, weights: Floats) -> float:
    """Return the exact sum of half the distances of labels from a released centre, in cells.

    Parameters are those of :func:`label_total`.
    """
    return spread_total(plan, _inside(labels) - centre, weights)


def _inside(labels: Floats) -> Floats:
    return np.clip(labels, -1.0, 1.0)


def spread_total(plan: Plan, distances: Floats, weights: Floats) -> float:
    """Return the exact sum of half the sizes of distances, each at most 2, in cells.

    Parameters
    ----------
    plan : Plan
        With label_noise.
    distances : array of float
        Of labels from their centre or from public predictions, in units in which the
        declared bounds of labels are at most 1.
    weights : array of float
        Records of weight 0 do not count.
    """
    return _total(plan, np.minimum(np.abs(distances), 2.0) / 2.0, weights)


def release_labels(
    plan: Plan,
    label_total: Callable[[], float],
    distance_total: Callable[[float], float],
    source: Source,
) -> LabelMoments:
    """Release where the labels lie, as the plan says: a mean, then a spread around it.

    Parameters
    ----------
    plan : Plan
        With label_noise; without an intercept the centre is 0 and costs nothing.
    label_total, distance_total : callable
        The sums of :func:`label_total` and, given a centre, of :func:`distance_total` over
        all records.
    source : Source
        Randomness of this fit.

    Notes
    -----
    Guarantee: the releases "label mean" (with an intercept) and the first "label spread" of
    ``plan.releases()``. The second depends on the first, which is public by then.
    Proof: docs/proofs/moments.md.
    """
    centre = 0.0
    if plan.intercept:
        mean = _mean(plan, label_total(), source, Purpose.LABEL_MEAN, 0)
        centre = min(1.0, max(-1.0, mean))
    return LabelMoments(centre, release_spread(plan, distance_total(centre), source))


def release_spread(plan: Plan, total: float, source: Source, *, time: int = 0) -> float:
    """Release the mean size of distances, given the sum of :func:`spread_total`.

    Parameters
    ----------
    plan : Plan
        With label_noise.
    total : float
        Over all records.
    source : Source
        Randomness of this fit.
    time : int
        0 for the first such release of a fit, 1 for the one after the pilot.

    Notes
    -----
    Guarantee: a release "label spread" of ``plan.releases()``. What the distances are from
    is public by then.
    Proof: docs/proofs/moments.md.
    """
    return 2.0 * _mean(plan, total, source, Purpose.LABEL_SPREAD, time)


def _total(plan: Plan, each: Floats, weights: Floats) -> float:
    """Return the sum of numbers between -1 and 1, in cells."""
    if not plan.label_noise:
        raise ParameterError("the plan does not release label moments.")
    if len(each) != len(weights):
        raise DataError("labels and weights are not equally many.")
    cell = _cell(plan, len(weights))
    usable = np.isfinite(each) & (weights > 0.0)
    whole = np.trunc(np.where(usable, each, 0.0) * (_MARGIN / cell))
    return float(whole.sum())  # whole numbers below 2^53: exact in any order


def _mean(plan: Plan, total: float, source: Source, purpose: Purpose, time: int) -> float:
    """Release the mean over the public n, given a sum in cells."""
    cell = plan.cell_of(1.0)
    noisy = noisy_sum(plan.label_noise, cell, np.array([total]), source, purpose, time)
    return float(noisy[0] / plan.n)


def _cell(plan: Plan, count: int) -> float:
    if count > plan.capacity:
        raise DataError("there are far more records than the declared n.")
    return plan.cell_of(1.0)
