"""Gaussian noise on a grid, and what the finite precision of its draws costs."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpscd.kernels.draws import LARGEST_NORMAL, NORMAL_ERROR, PAIR_WORDS, fill_normals
from dpscd.privacy.random import Purpose, Source

__all__ = ["LatticeGaussian", "power_of_two_below"]

# The grid is std / 2^10 to std / 2^11. Finer, the cells would be narrow against the
# error of a double-precision normal; coarser, rounding would begin to show as noise of
# its own (here it adds less than 1e-7 of the variance).
_FINENESS = 10

# Error of the two additions that bring rest, noise and rounding together, over std.
_SUM_ERROR = 2.0**-48


def power_of_two_below(x: float) -> float:
    """Return the largest power of two that is at most `x`."""
    return math.ldexp(1.0, math.frexp(x)[1] - 1)


@dataclass(frozen=True)
class LatticeGaussian:
    """Noise of standard deviation ``clip * noise_multiplier``, rounded on a grid.

    Notes
    -----
    Guarantee: sum + noise, rounded, is a function of sum + (a Gaussian within
    ``NORMAL_ERROR`` of an exact one); :meth:`precision` is the price of the latter.
    Proof: docs/proofs/shared_vector.md, "Numbers, not reals".
    """

    clip: float
    noise_multiplier: float

    @property
    def std(self) -> float:
        """Standard deviation of the noise."""
        return self.clip * self.noise_multiplier

    @property
    def grid(self) -> float:
        """Spacing of the released numbers, a power of two."""
        return math.ldexp(power_of_two_below(self.std), -_FINENESS)

    @property
    def spread(self) -> float:
        """Standard deviation in units of the grid."""
        return self.std / self.grid

    def draw(
        self, source: Source, first: int, steps: int, size: int
    ) -> npt.NDArray[np.float64]:
        """Draw standard normals for `steps` steps of `size` coordinates."""
        words = source.words(Purpose.NOISE, first, steps, PAIR_WORDS * ((size + 1) // 2))
        normals = np.empty((steps, size))
        fill_normals(words, normals)
        return normals

    def log_ratio(self, draws: int, miss: float) -> float:
        """Return r: `draws` drawn normals look exact up to e^(+-r), but for `miss`.

        Notes
        -----
        Moving the ends of a cell by the error of a normal changes its mass by a factor
        within e^(+-eta). The logarithms of these factors sum to at most r over all
        draws, with a chance of at least 1 - miss (Azuma's inequality).
        Proof: docs/proofs/shared_vector.md, "Numbers, not reals".
        """
        eta = 2.2 * (NORMAL_ERROR + _SUM_ERROR) * 2.0 ** (_FINENESS + 1)
        return draws * eta * eta / 2.0 + eta * math.sqrt(2.0 * draws * math.log(1.0 / miss))

    def tail(self, steps: int, size: int) -> float:
        """Return the chance that `steps` releases of `size` numbers leave what is drawn.

        Notes
        -----
        Drawn normals end at LARGEST_NORMAL. An exact one goes further, when a record
        moves it by its share of 1 / noise_multiplier, with the chance bounded here: few
        coordinates can be moved far, the others gain at most a factor e.
        """
        reach = LARGEST_NORMAL - 1.0 / self.noise_multiplier
        moved = min(size, (LARGEST_NORMAL / self.noise_multiplier) ** 2)
        return steps * (moved * _outside(reach) + size * math.e * _outside(LARGEST_NORMAL))


def _outside(z: float) -> float:
    """Return the chance that a standard normal is further than `z` from zero."""
    return math.erfc(max(z, 0.0) / math.sqrt(2.0))
