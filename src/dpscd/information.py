"""Noisy Hessian and score covariance used for standard errors.

What a record adds to them and their guarantee: docs/proofs/intervals.md; their release:
:mod:`dpscd.releases.information`.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpscd import losses
from dpscd.problem import Floats, Problem

#: What `inference` is for intervals that do not assume that the model is true.
ROBUST = "robust"

#: The part of the steps over which a model for inference is averaged: shorter than one for
#: prediction, because a capped record's dual still moves while it is averaged.
AVERAGING = 0.25

# The parts of the two sums that a record contributes to, as lengths: of the curvature, and of
# the variance of slopes (its trace alone, or all of it). Of the squared loss both may be 1 at
# once, so their squares add up to 1; of the logistic loss they are hardly ever, and what is
# longer than 1 is shortened.
_TRACE = (0.98, 0.198)
_WHOLE = (0.75, 0.66)
_LOGISTIC_WHOLE = (0.95, 0.95)


def packed_size(width: int) -> int:
    """Return the count of distinct numbers in a symmetric matrix."""
    return width * (width + 1) // 2


def parts_of(*, logistic: bool, robust: bool) -> tuple[float, float]:
    """Return the largest lengths of contributions to curvature and variance."""
    if robust:
        return _LOGISTIC_WHOLE if logistic else _WHOLE
    return (1.0, 0.0) if logistic else _TRACE


def released_size(width: int, *, logistic: bool, robust: bool) -> int:
    """Return the count of released numbers: curvature, then variance or its trace, if any."""
    own = packed_size(width)
    return 2 * own if robust else own + int(not logistic)


def is_robust(asked: object, width: int, *, logistic: bool, persons: bool) -> bool:
    """Return whether the variance of slopes is released as a whole."""
    # On request; for persons, whose rows are dependent; and for one number, its own trace.
    return bool(asked) and (asked == ROBUST or persons or (width == 1 and not logistic))


class Matrices(NamedTuple):
    """The released matrices over the entries of the shared vector."""

    # Sum of the second derivatives of records' losses, with an error of `curvature_error`,
    # divided by sqrt(2) off the diagonal.
    curvature: Floats
    curvature_error: float
    # Sum of the squares of records' slopes times rows, with the error `variance_error`
    # likewise; None where the model's own assumption replaces it.
    variance: Floats | None
    dispersion: float  # ratio of variance to curvature under that assumption
    variance_error: float = 0.0


@dataclass(frozen=True)
class Measure:
    """How the information is measured: public numbers."""

    width: int  # entries of the shared vector
    row: float  # rows are cut to this length
    # Slopes times rows are cut to this length: a record's largest total contribution in
    # training.
    cap: float
    curved: float  # the largest second derivative of the loss
    logistic: bool
    robust: bool  # whether the variance of slopes is released as a whole

    @property
    def parts(self) -> tuple[float, float]:
        """Largest lengths of the contributions to curvature and variance."""
        return parts_of(logistic=self.logistic, robust=self.robust)

    @property
    def size(self) -> int:
        """Count of released numbers."""
        return released_size(self.width, logistic=self.logistic, robust=self.robust)

    def matrices(self, sums: Floats, noise_multiplier: float) -> Matrices:
        """Return the matrices of released sums, packed, off the diagonal times sqrt(2)."""
        own, (first, second) = packed_size(self.width), self.parts
        unit = self.curved * self.row**2 / first
        curvature = unit * _unpacked(sums[:own], self.width)
        error = unit * noise_multiplier
        if self.robust:
            other = self.cap**2 / second
            variance = other * _unpacked(sums[own:], self.width)
            variance = _positive(variance)
            return Matrices(curvature, error, variance, 1.0, other * noise_multiplier)
        if not second:
            return Matrices(curvature, error, None, 1.0)
        trace = max(float(sums[own]), noise_multiplier) * self.cap**2 / second
        return Matrices(curvature, error, None, trace / max(float(np.trace(curvature)), error))


def measure_of(
    problem: Problem, contribution: float, averaging: float, robust: bool
) -> Measure:
    """Return how the information about a standardised problem is measured.

    `contribution` is the most that a record can add to the shared vector in all: clip times
    epochs. On average over the averaged part of the steps it had less time.
    """
    logistic = isinstance(problem.loss, losses.Logistic)
    typical = math.hypot(1.0, problem.constant) / problem.scale
    return Measure(
        width=problem.width,
        row=min(1.0, typical * _long(problem.d)),
        cap=contribution * (1.0 - averaging / 2.0),
        curved=0.25 if logistic else 1.0,
        logistic=logistic,
        robust=robust,
    )


def _long(d: int) -> float:
    """Return the ratio to the typical length that few rows exceed: two deviations if normal."""
    return math.sqrt(1.0 + 2.0 * math.sqrt(2.0 / d))


def curvature_error(d: int, noise_multiplier: float, part: float = 1.0) -> float:
    """Return the error of a released curvature, in units of a typical record's largest one."""
    return _long(d) ** 2 * noise_multiplier / part


def _unpacked(numbers: Floats, width: int) -> Floats:
    """Return the symmetric matrix of packed numbers."""
    found = np.zeros((width, width))
    rows, columns = np.triu_indices(width)
    found[rows, columns] = np.where(rows == columns, numbers, numbers * math.sqrt(0.5))
    return found + np.triu(found, 1).T


def _positive(matrix: Floats) -> Floats:
    """Return the nearest matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    found: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return found
