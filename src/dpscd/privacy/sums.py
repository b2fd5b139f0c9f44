"""Exact sums over records, and one Gaussian release of such a sum.

Contributions are cut to multiples of a power of two, the unit, so that the sum of a lot is a
whole number of units, the same in whatever order it is added up. The functions here, of the
public n alone, are the only place where units and capacity are chosen.
"""

import math

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError
from dpscd.kernels.dual import StepConstants, release
from dpscd.privacy.noise import LatticeGaussian, power_of_two_below
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.watched import tell_sum

__all__ = [
    "EXACT_BITS",
    "UNIT_BITS",
    "capacity_of",
    "check_capacity",
    "limb_unit_of",
    "noisy_sum",
    "unit_of",
    "whole_unit_of",
]

Floats = npt.NDArray[np.float64]

#: Contributions are cut to multiples of about clip / 2^30; a lot's sum stays exact in
#: doubles while members * 2^30 < 2^53.
UNIT_BITS = 30
EXACT_BITS = 53

# In fixed point sums are whole numbers of 64 bits.
_WHOLE_BITS = 62
# ... and in limbs of eight bits, a unit is no finer than this part of the clip.
_LIMB_BITS = 36


def capacity_of(n: int) -> int:
    """Return the largest number of records whose sums are exact, given the public n."""
    return 1 << max(EXACT_BITS - UNIT_BITS, (2 * n).bit_length())


def unit_of(n: int, clip: float) -> float:
    """Return the power of two to whose multiples contributions up to `clip` are cut."""
    return math.ldexp(power_of_two_below(clip), capacity_of(n).bit_length() - EXACT_BITS)


def whole_unit_of(n: int, clip: float) -> float:
    """Return the same for sums of 64-bit integers, which can be finer."""
    return math.ldexp(power_of_two_below(clip), capacity_of(n).bit_length() - _WHOLE_BITS)


def limb_unit_of(n: int, clip: float) -> float:
    """Return the same where a step, over its row's scale, must fit three limbs of 8 bits.

    Steps are then below 2^22 units, as contributing rows have an entry of 32639.
    """
    return max(whole_unit_of(n, clip), math.ldexp(power_of_two_below(clip), -_LIMB_BITS))


def check_capacity(n: int, count: int) -> None:
    """Refuse more records than sums hold exactly."""
    if count > capacity_of(n):
        raise DataError("there are far more records than the declared n.")


def noisy_sum(
    multiplier: float,
    cell: float,
    total: Floats,
    source: Source,
    purpose: Purpose,
    time: int = 0,
) -> Floats:
    """Return ``cell * total`` plus noise of standard deviation `multiplier`, on a grid.

    `total` holds whole numbers, summed exactly; `cell` is a power of two. A record moves ``cell
    * total`` by at most 1. No two releases share source, purpose and time.
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
