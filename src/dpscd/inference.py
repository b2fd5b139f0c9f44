"""From a trained model and its released information matrix to standard errors.

Everything here is post-processing of released numbers. What is proved about it and what was
measured: docs/proofs/intervals.md.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.information import Matrices
from dpscd.problem import Problem

__all__ = [
    "ABSENT",
    "CAPPED",
    "HIDDEN",
    "NOT_IDENTIFIED",
    "SEEN",
    "SHRUNK",
    "Found",
    "Inference",
    "Path",
    "coefficient_map",
]

Floats = npt.NDArray[np.float64]

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
