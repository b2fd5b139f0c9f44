"""How good a model is on people who did not train it, released with noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError
from dpscd.kernels.margin import MARGIN
from dpscd.privacy.accounting import gaussian_multiplier
from dpscd.privacy.event import SampledGaussian
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.relation import PrivacyTarget
from dpscd.privacy.release import Release, claim
from dpscd.privacy.sums import EXACT_BITS, UNIT_BITS, noisy_sum

__all__ = ["NoisyScore", "plan_score", "release_score"]

_UNIT = 2.0**-UNIT_BITS  # contributions, of at most 1, are cut to multiples of it


@dataclass(frozen=True)
class NoisyScore:
    """A mean of numbers between 0 and 1 over the records, with noise.

    Attributes
    ----------
    value : float
        The noisy mean, within [0, 1].
    error : float
        Standard deviation of its noise.
    release : Release
        What was released.
    """

    value: float
    error: float
    release: Release

    def to_dict(self) -> dict[str, Any]:
        """Return the score as plain JSON values."""
        return {
            "value": self.value,
            "noise_std": self.error,
            "release": self.release.to_dict(),
        }


def plan_score(target: PrivacyTarget, n: int) -> Release:
    """Return the release of a score with the least noise that reaches the target.

    Parameters
    ----------
    target : PrivacyTarget
        The guarantee to reach, with a finite epsilon.
    n : int
        Public number of records.
    """
    multiplier = gaussian_multiplier(target.epsilon, target.delta, target.relation)
    interval = min(max(1e-4 * target.epsilon, 1e-10), 1e-3)
    while True:
        release = Release("score", SampledGaussian(1.0, multiplier, 1), 1.0, 1, n)
        found = claim([release], target.epsilon, target.delta, target.relation, interval)
        if found.epsilon <= target.epsilon:
            return release
        multiplier *= 1.002


def release_score(
    release: Release, each: npt.NDArray[np.float64], source: Source
) -> NoisyScore:
    """Release the mean of numbers between 0 and 1, one a record, over the public n.

    Parameters
    ----------
    release : Release
        From :func:`plan_score`.
    each : array of float
        One number a record; what is not a number counts as 0. A secret.
    source : Source
        Randomness of this release.

    Notes
    -----
    Guarantee: the Gaussian release that `release` states. A record adds a number between 0
    and 1, cut to a multiple of 2^-30: whole numbers that sum exactly. Noise is added as in
    training. Proof: docs/proofs/bounds.md.
    """
    if len(each) > 1 << (EXACT_BITS - UNIT_BITS):
        raise DataError("there are too many records for a noisy score; use a part of them.")
    inside = np.clip(np.where(np.isfinite(each), each, 0.0), 0.0, 1.0)
    whole = np.trunc(inside * (MARGIN / _UNIT))
    noise = release.event.noise_multiplier
    noisy = noisy_sum(noise, _UNIT, np.array([whole.sum()]), source, Purpose.SCORE)
    value = float(noisy[0]) / release.n
    return NoisyScore(min(1.0, max(0.0, value)), noise / release.n, release)
