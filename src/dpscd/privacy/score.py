"""Noisy sums over records outside the training set, for scores of a model."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpscd.kernels.margin import MARGIN
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.relation import PrivacyTarget
from dpscd.privacy.release import Claim, Release, claim
from dpscd.privacy.sums import noisy_sum, unit_of

__all__ = [
    "SCORE",
    "noisy_score",
    "plan_score",
    "score_claim",
    "score_interval",
    "whole_score",
]

Floats = npt.NDArray[np.float64]

#: Name of the release.
SCORE = "score"


def score_interval(epsilon: float) -> float:
    """Return the discretisation of the privacy loss with which scores are accounted."""
    return min(max(1e-4 * epsilon, 1e-10), 1e-3)


@lru_cache(maxsize=64)
def score_claim(release: Release, target: PrivacyTarget) -> Claim:
    """Return the claim of a score, computed from public numbers alone."""
    interval = score_interval(target.epsilon)
    return claim([release], target.epsilon, target.delta, target.relation, interval)


@lru_cache(maxsize=64)
def plan_score(target: PrivacyTarget, n: int, size: int = 1) -> Release:
    """Return the score release of `size` numbers with the least noise that reaches the target.

    `n` is the public number of records, or of persons; epsilon is finite.
    """
    multiplier = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    while True:
        release = Release(SCORE, SampledGaussian(1.0, multiplier, 1), 1.0, size, n)
        if score_claim(release, target).epsilon <= target.epsilon:
            return release
        multiplier *= 1.002


def whole_score(each: Floats, n: int) -> Floats:
    """Return the exact sum of vectors of records, a whole number of units each.

    `each`, of shape (numbers, records), has one vector per record or person and is secret.
    Vectors longer than 1 are shortened to 1; one with a value that is not a number counts as 0.
    The public `n` sets the unit.

    Notes
    -----
    Guarantee: a record, or a person, moves the sum, times the unit, by at most 1.
    Proof: docs/proofs/score.md, "The release".
    """
    finite = np.isfinite(each).all(axis=0)
    inside = np.where(finite, each, 0.0)
    with np.errstate(over="ignore"):  # a warning would tell of large numbers
        length = np.sqrt(np.square(inside).sum(axis=0))
        inside = inside / np.maximum(1.0, length)
    sums: Floats = np.trunc(inside * (MARGIN / unit_of(n, 1.0))).sum(axis=1)
    return sums


def noisy_score(release: Release, total: Floats, source: Source) -> Floats:
    """Release exact sums, from :func:`whole_score`, with noise; `total` is secret.

    Notes
    -----
    Guarantee: the Gaussian release that `release` states.
    Requires: `total` has its size, and one record moves it as :func:`whole_score` says.
    Proof: docs/proofs/score.md, "The release".
    """
    multiplier = release.event.noise_multiplier
    return noisy_sum(multiplier, unit_of(release.n, 1.0), total, source, Purpose.SCORE)
