"""From a trained model and its released information matrix to standard errors.

Everything here is post-processing of released numbers. What is proved about it and what was
measured: docs/proofs/intervals.md.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd import losses
from dpscd.problem import Problem

__all__ = [
    "ABSENT",
    "AVERAGING",
    "CAPPED",
    "HIDDEN",
    "NOT_IDENTIFIED",
    "ROBUST",
    "SHRUNK",
    "Found",
    "Inference",
    "Measure",
    "Path",
    "coefficient_map",
    "curvature_error",
    "is_robust",
    "measure_of",
    "packed_size",
    "parts_of",
    "released_size",
]

Floats = npt.NDArray[np.float64]

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
_SEEN, _OTHERWISE = 0.5, 0.01
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
ROBUST = "robust"
"""What `inference` is for intervals that do not assume that the model is true."""

CAPPED = "records that have it are so rare that training cuts what they say"
ABSENT = "released means show no record that has it"
NOT_IDENTIFIED = "the records do not determine it, only differences"


def packed_size(width: int) -> int:
    """Return how many different numbers a symmetric matrix has."""
    return width * (width + 1) // 2


def parts_of(*, logistic: bool, robust: bool) -> tuple[float, float]:
    """Return how long contributions to curvature and variance are, at most."""
    if robust:
        return _LOGISTIC_WHOLE if logistic else _WHOLE
    return (1.0, 0.0) if logistic else _TRACE


def released_size(width: int, *, logistic: bool, robust: bool) -> int:
    """Return how many numbers are released: curvature, then variance or its trace, if any."""
    own = packed_size(width)
    return 2 * own if robust else own + int(not logistic)


def is_robust(asked: object, width: int, *, logistic: bool, persons: bool) -> bool:
    """Return whether the variance of slopes is released as a whole.

    If it is asked for; of persons, whose rows belong together; and of a single number, which is
    its own trace.
    """
    return bool(asked) and (asked == ROBUST or persons or (width == 1 and not logistic))


class Matrices(NamedTuple):
    """What was released, as matrices over the entries of the shared vector.

    Attributes
    ----------
    curvature : array
        Sum of the second derivatives of records' losses; noise makes its entries deviate by
        `curvature_error`, divided by sqrt(2) off the diagonal.
    curvature_error : float
        See above.
    variance : array or None
        Sum of the squares of records' slopes times rows, with the error `variance_error`
        likewise; None where the model's own assumption takes its place.
    dispersion : float
        What the curvature is multiplied by to have the variance under that assumption.
    variance_error : float
        See above.
    """

    curvature: Floats
    curvature_error: float
    variance: Floats | None
    dispersion: float
    variance_error: float = 0.0


@dataclass(frozen=True)
class Measure:
    """How the information is measured: public numbers.

    Attributes
    ----------
    width : int
        Entries of the shared vector.
    row : float
        Rows count as no longer than this.
    cap : float
        Slopes times rows count as no longer than this: what training lets a record add in all.
    curved : float
        The largest second derivative of the loss.
    logistic, robust : bool
        Which loss it is, and whether the variance of slopes is released as a whole.
    """

    width: int
    row: float
    cap: float
    curved: float
    logistic: bool
    robust: bool

    @property
    def parts(self) -> tuple[float, float]:
        """How long the contributions to curvature and variance are, at most."""
        return parts_of(logistic=self.logistic, robust=self.robust)

    @property
    def size(self) -> int:
        """How many numbers are released."""
        return released_size(self.width, logistic=self.logistic, robust=self.robust)

    def matrices(self, sums: Floats, noise_multiplier: float) -> Matrices:
        """Return what noisy sums say.

        Parameters
        ----------
        sums : array of shape (size,)
            Released: packed matrices, entries off the diagonal times sqrt(2).
        noise_multiplier : float
            Standard deviation of each of them.
        """
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

    Parameters
    ----------
    problem : Problem
        As it is trained.
    contribution : float
        How much a record can add to the shared vector in all: clip times epochs.
    averaging : float
        The averaged part of the steps: on average over it, a record had less time.
    robust : bool
        Whether the variance of slopes is released as a whole.
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
    """Return how many times the typical length few rows exceed: normal ones two deviations."""
    return math.sqrt(1.0 + 2.0 * math.sqrt(2.0 / d))


def curvature_error(d: int, noise_multiplier: float, part: float = 1.0) -> float:
    """Return the error of a released curvature, in units of a typical record's largest one."""
    return _long(d) ** 2 * noise_multiplier / part


@dataclass(frozen=True)
class Path:
    """The noise of training: public numbers of a plan.

    Attributes
    ----------
    std : float
        Standard deviation of the noise of a step.
    steps, average_from : int
        Number of steps, and the first that is averaged.
    rate : float
        Chance of each record to be in a lot.
    separability : float
        Damping of the steps of one lot.
    square : float
        Squared length of a typical record.
    curved : float
        The second derivative of a typical record's loss.
    """

    std: float
    steps: int
    average_from: int
    rate: float
    separability: float
    square: float
    curved: float

    def variances(self, curvatures: Floats, strength: float) -> Floats:
        """Return the variance of the noise in the model's equation, along each direction.

        Parameters
        ----------
        curvatures : array
            Of the sum of losses, along each of these directions.
        strength : float
            The regularisation, ``lam n``.

        Notes
        -----
        Noise of a step moves the model at once as if there were no records, then records
        answer: docs/proofs/intervals.md, "The noise of training".
        """
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
    """What is known about linear functions of the model.

    Attributes
    ----------
    correction : array
        To be added to their values: what the penalty took away.
    sampling, privacy : arrays
        The two parts of their variances: of the records drawn, and of the noise added.
    refused : list of str or None
        Why there is no interval, of each; None where there is one.
    """

    correction: Floats
    sampling: Floats
    privacy: Floats
    refused: list[str | None]


@dataclass(frozen=True, eq=False)
class Inference:
    """All that standard errors are computed from; every number of it is released or public.

    Attributes
    ----------
    theta : array of shape (width,)
        The trained model, in units of standardised rows and labels.
    strength : float
        The regularisation, ``lam n``, in these units.
    matrices : Matrices
        Curvature and variance.
    path : Path
        The noise of training.
    """

    theta: Floats
    strength: float
    matrices: Matrices
    path: Path

    def about(
        self, rows: Floats, unknown: Floats | None = None, doubtful: Floats | None = None
    ) -> Found:
        """Return what is known about linear functions of the model.

        Parameters
        ----------
        rows : array of shape (functions, width)
            The functions, of `theta`.
        unknown : array of shape (directions, width), optional
            Directions along which no prediction changes, by public facts.
        doubtful : array of shape (directions, width), optional
            Directions along which predictions of some records may change: they count as unknown
            where the released curvature does not show it.

        Notes
        -----
        The first-order law of the estimator, corrected for the noise of the curvature to
        second order; each line is derived in docs/proofs/intervals.md.
        """
        basis = _complement(self._unseen(unknown, doubtful), len(self.theta))
        along = rows @ basis
        curvature = basis.T @ self.matrices.curvature @ basis
        error = self.matrices.curvature_error
        values, vectors = np.linalg.eigh(curvature)
        least = _SEEN * error * math.sqrt(2.0 * len(values))
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
        """Return the directions to leave out: those that no record is seen to determine."""
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
    """Return the linear map from a model inside to coefficients and intercept of the user.

    Parameters
    ----------
    problem : Problem
        Of one output.

    Returns
    -------
    array of shape (d + 1, width), or (d, width) without an intercept
    """
    zero = problem.model(np.zeros((1, problem.width)))
    found = np.empty((problem.d + 1, problem.width))
    for place in range(problem.width):
        one = np.zeros((1, problem.width))
        one[0, place] = problem.strength
        model = problem.model(one)
        found[: problem.d, place] = model.coef[0] - zero.coef[0]
        found[problem.d, place] = model.intercept[0] - zero.intercept[0]
    return found if problem.constant else found[: problem.d]


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


def _complement(unknown: Floats | None, width: int) -> Floats:
    """Return an orthonormal basis of all directions but some, as columns."""
    if unknown is None or not len(unknown):
        return np.eye(width)
    left, sizes, _ = np.linalg.svd(unknown.T, full_matrices=True)
    rank = int((sizes > 1e-9 * sizes.max()).sum())
    basis: Floats = left[:, rank:]
    return basis


def _inverse(inverse: Floats, error: float) -> Floats:
    """Return an inverse less what noise in the matrix adds to it on average."""
    half = 0.5 * error**2
    square = inverse @ inverse
    found: Floats = inverse - half * (np.trace(inverse) * square + square @ inverse)
    return found


def _excess(inverse: Floats, middle: Floats, error: float) -> Floats:
    """Return what noise in a matrix adds to ``inverse middle inverse`` on average.

    For a symmetric E with entries of variance ``error^2``, half of it off the diagonal, the
    mean of ``E M E`` is ``error^2 / 2 (M + trace(M))`` if M is symmetric.
    """
    half, eye = 0.5 * error**2, np.eye(len(inverse))
    around = inverse @ middle @ inverse
    once = inverse @ (inverse + np.trace(inverse) * eye) @ around
    found: Floats = half * (once + once.T)
    found += half * (inverse @ (around + np.trace(around) * eye) @ inverse)
    return found
