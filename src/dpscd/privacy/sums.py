"""A noisy sum of whole numbers: one Gaussian release over all records."""

import numpy as np
import numpy.typing as npt

from dpscd.kernels.dual import StepConstants, release
from dpscd.privacy.noise import LatticeGaussian
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.watched import tell_sum

__all__ = ["noisy_sum"]

Floats = npt.NDArray[np.float64]


def noisy_sum(
    multiplier: float,
    cell: float,
    total: Floats,
    source: Source,
    purpose: Purpose,
    time: int = 0,
) -> Floats:
    """Return ``cell * total`` plus noise of standard deviation `multiplier`, on a grid.

    Parameters
    ----------
    multiplier : float
        Standard deviation of the noise; a record moves ``cell * total`` by at most 1.
    cell : float
        A power of two.
    total : array
        Whole numbers, summed exactly.
    source, purpose, time
        Where the noise comes from: no two releases share all three.
    """
    noise = LatticeGaussian(1.0, multiplier)
    constants = StepConstants(
        strength=1.0,
        separability=1.0,
        clip=1.0,
        cell=cell,
        grid=noise.grid,
        spread=noise.spread,
    )
    out = np.zeros(len(total))
    normals = noise.draw(source, time, 1, len(total), purpose)
    release(total, normals[0], constants, out)
    tell_sum(purpose, time, out)
    return out
