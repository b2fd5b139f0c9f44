"""Released information matrices, and standard errors from them and a trained model.

What a record adds to the matrices and their guarantee: docs/proofs/intervals.md; their release:
:mod:`dpscd.releases.information`. Everything else is post-processing of released numbers.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpscd import losses
from dpscd.problem import Floats, Problem

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

# An eigenvalue of the curvature is told from noise from this part of the noise's own largest
# eigenvalue on; a coefficient may lie along directions that are not up to this part of its
# square.
SEEN, _OTHERWISE = 0.5, 0.01
# Largest relative error of a variance by noise in the curvature, and by noise in the variance
# of slopes; and largest part of it that correcting for noise may take away.
_EXACT, _EXACT_SLOPES, _CORRECTED = 0.35, 0.5, 0.5
# Largest noise of the curvature along a direction of which the schema says that hardly any
# record determines it, for it to count as one that none does.
_HARDLY = 3.0
# Along which part of a coefficient's square the data may say nothing at all.
_ROUNDING = 1e-9

HIDDEN = "noise hides how exactly the records determine it"
SHRUNK = "the penalty rules it, not the records"
CAPPED = "records that have it are so rare that training cuts what they say"
ABSENT = "released means show no record that has it"
NOT_IDENTIFIED = "the records do not determine it, only differences"


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
            # The nearest matrix without negative eigenvalues.
            values, vectors = np.linalg.eigh(other * _unpacked(sums[own:], self.width))
            variance = (vectors * np.maximum(values, 0.0)) @ vectors.T
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


@dataclass(frozen=True)
class Path:
    """The noise of training: public numbers of a plan."""

    std: float  # of the noise of a step
    steps: int
    average_from: int  # first averaged step
    rate: float  # probability that a record is in a lot
    separability: float  # damping of the steps of one lot
    square: float  # squared length of a typical record
    curved: float  # second derivative of a typical record's loss

    def variances(self, curvatures: Floats, strength: float) -> Floats:
        """Return the variance of the noise in the model's equation, along each direction."""
        # `curvatures` are those of the sum of losses along these; `strength` is ``lam n``.
        # Noise of a step moves the model at once as if there were no records, then records
        # answer: docs/proofs/intervals.md, "The noise of training".
        within = self.steps - self.average_from
        lag = 1.0 + self.curved * self.separability * self.square / strength
        left = np.arange(1, within + 1, dtype=np.float64)  # averaged steps to come
        before = np.arange(self.average_from, 0, -1, dtype=np.float64)
        found = np.empty(len(curvatures))
        for place, curvature in enumerate(curvatures):
            excess = max(float(curvature), 0.0) / strength
            kept = max(1.0 - self.rate * (1.0 + excess) / lag, 0.0)
            swing = excess / (1.0 - kept)
            inside = (left + swing * (1.0 - kept**left)) / within
            outside = 1.0 + swing * kept**before * (1.0 - kept**within) / within
            found[place] = np.square(inside).sum() + np.square(outside).sum()
        return self.std**2 * found


class Found(NamedTuple):
    """Corrections, variances and refusals of linear functions of the model."""

    correction: Floats  # to be added to the values: the effect of the penalty
    sampling: Floats  # variance of drawing the records
    privacy: Floats  # variance of the added noise
    refused: list[str | None]  # why there is no interval; None where there is one


@dataclass(frozen=True, eq=False)
class Inference:
    """The inputs of standard errors, all released or public."""

    # the trained model, of shape (width,), in units of standardised rows and labels
    theta: Floats
    strength: float  # the regularisation, ``lam n``, in these units
    matrices: Matrices  # curvature and variance
    path: Path  # the noise of training

    def about(
        self, rows: Floats, unknown: Floats | None = None, doubtful: Floats | None = None
    ) -> Found:
        """Return corrections and variances of linear functions: docs/proofs/intervals.md.

        `rows`, of shape (functions, width), are the functions of `theta`. No prediction changes
        along the directions `unknown`, by public facts; `doubtful` ones count as unknown where
        the released curvature does not show that those of some records do.
        """
        basis = _complement(self._unseen(unknown, doubtful), len(self.theta))
        along = rows @ basis
        curvature = basis.T @ self.matrices.curvature @ basis
        error = self.matrices.curvature_error
        values, vectors = np.linalg.eigh(curvature)
        least = SEEN * error * math.sqrt(2.0 * len(values))
        seen = values > max(least, 0.0)
        parts = np.square(along @ vectors)
        lengths = np.maximum(parts.sum(axis=1), 1e-300)
        # From here on in the directions that are seen.
        values, vectors = values[seen], vectors[:, seen]
        inverse = (vectors / values) @ vectors.T
        noise = (vectors * self.path.variances(values, self.strength)) @ vectors.T
        corrected = _inverse(inverse, error)
        theta = basis.T @ self.theta
        if self.matrices.variance is None:
            sampling = self.matrices.dispersion * corrected
            plain = self.matrices.dispersion * inverse
        else:
            variance = basis.T @ self.matrices.variance @ basis
            plain = inverse @ variance @ inverse
            sampling = plain - _excess(inverse, variance, error)
        pull = inverse @ theta
        half = 0.5 * error**2
        doubt = half * ((pull @ pull) * np.eye(len(theta)) + np.outer(pull, pull))
        privacy = inverse @ noise @ inverse - _excess(inverse, noise, error)
        privacy = privacy + self.strength**2 * (inverse @ doubt @ inverse)

        def of(matrix: Floats) -> Floats:
            found: Floats = np.einsum("ij,jk,ik->i", along, matrix, along)
            return found

        drawn, added = of(sampling), of(privacy)
        with np.errstate(all="ignore"):
            turned = np.square(along @ inverse).sum(axis=1)
            shaky = error * turned / of(inverse)
            slopes = self.matrices.variance_error * turned / drawn
            kept = drawn / of(plain)
        hidden = (parts[:, ~seen].sum(axis=1) > _OTHERWISE * lengths) | ~(shaky <= _EXACT)
        hidden |= ~(slopes <= _EXACT_SLOPES) | ~(kept >= 1.0 - _CORRECTED) | ~(added > 0.0)
        # Variances are not exact themselves: the inverse enters them once or twice.
        twice = 1.0 if self.matrices.variance is None else 4.0
        with np.errstate(all="ignore"):
            drawn = drawn * (1.0 + twice * shaky**2 + slopes**2)
            added = added * (1.0 + 4.0 * shaky**2)
        weak = np.flatnonzero(seen)[values < self.strength]
        shrunk = parts[:, weak].sum(axis=1) > _OTHERWISE * lengths
        outside = np.square(rows).sum(axis=1) - np.square(along).sum(axis=1)
        free = outside > _ROUNDING * np.square(rows).sum(axis=1)
        reasons: list[str | None] = [
            NOT_IDENTIFIED if a else HIDDEN if b else SHRUNK if c else None
            for a, b, c in zip(free, hidden, shrunk, strict=True)
        ]
        return Found(self.strength * (along @ (corrected @ theta)), drawn, added, reasons)

    def _unseen(self, unknown: Floats | None, doubtful: Floats | None) -> Floats | None:
        """Return the directions to leave out: those that no record visibly determines."""
        found = [] if unknown is None else list(unknown)
        for one in () if doubtful is None else doubtful:
            along = one / np.linalg.norm(one)
            if (
                along @ self.matrices.curvature @ along
                <= _HARDLY * self.matrices.curvature_error
            ):
                found.append(one)
        return np.array(found) if found else None


def coefficient_map(problem: Problem) -> Floats:
    """Return the linear map from a one-output inner model to the user's coefficients."""
    # Its shape is (d + 1, width), with the intercept last, or (d, width) without one.
    zero = problem.model(np.zeros((1, problem.width)))
    found = np.empty((problem.d + 1, problem.width))
    for place in range(problem.width):
        one = np.zeros((1, problem.width))
        one[0, place] = problem.strength
        model = problem.model(one)
        found[: problem.d, place] = model.coef[0] - zero.coef[0]
        found[problem.d, place] = model.intercept[0] - zero.intercept[0]
    return found if problem.constant else found[: problem.d]


def _complement(unknown: Floats | None, width: int) -> Floats:
    """Return an orthonormal basis of the complement of `unknown`, as columns."""
    if unknown is None or not len(unknown):
        return np.eye(width)
    left, sizes, _ = np.linalg.svd(unknown.T, full_matrices=True)
    rank = int((sizes > 1e-9 * sizes.max()).sum())
    basis: Floats = left[:, rank:]
    return basis


def _inverse(inverse: Floats, error: float) -> Floats:
    """Return an inverse less the mean effect of noise in the matrix."""
    half = 0.5 * error**2
    square = inverse @ inverse
    found: Floats = inverse - half * (np.trace(inverse) * square + square @ inverse)
    return found


def _excess(inverse: Floats, middle: Floats, error: float) -> Floats:
    """Return the mean effect of noise in a matrix on ``inverse middle inverse``."""
    # For a symmetric E with entries of variance ``error^2``, half of it off the diagonal, the
    # mean of ``E M E`` is ``error^2 / 2 (M + trace(M))`` if M is symmetric.
    half, eye = 0.5 * error**2, np.eye(len(inverse))
    around = inverse @ middle @ inverse
    once = inverse @ (inverse + np.trace(inverse) * eye) @ around
    found: Floats = half * (once + once.T)
    found += half * (inverse @ (around + np.trace(around) * eye) @ inverse)
    return found
