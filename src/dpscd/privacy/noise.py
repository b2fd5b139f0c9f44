"""Gaussian noise on a grid, and the cost of the finite precision of its draws."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.kernels.draws import FAITHFUL_RADIUS, NORMAL_ERROR, PAIR_WORDS, fill_normals
from dpscd.privacy.random import Purpose, Source

__all__ = ["LatticeGaussian", "draw_normals", "lazy_tail", "power_of_two_below"]

# The grid is std / 2^10 to std / 2^11. Finer, the cells would be narrow against the
# error of a double-precision normal; coarser, rounding would begin to show as noise of
# its own (here it adds less than 1e-7 of the variance).
_FINENESS = 10

# Error of the two additions that bring rest, noise and rounding together, over std.
_SUM_ERROR = 2.0**-48

# Lazy noise: the same with the rounding of its deviation, and how far a rounded normal is from
# a Gaussian on the lattice, in logarithms.
_LAZY_SUM_ERROR = 2.0**-46
_LAZY_ERROR = 2.0**-34

# Variance, in squared grids, by which lazy noise exceeds the noise that is accounted.
_LAZY_EXCESS = 16.0

# Chance of a pair of normals that is not drawn as it should be: twice the exact one.
_LONG_PAIR = 2.0**-128


def power_of_two_below(x: float) -> float:
    """Return the largest power of two that is at most `x`."""
    if not 0.0 < x < math.inf:
        raise ParameterError(f"{x!r} must be a positive, finite number.")
    return math.ldexp(1.0, math.frexp(x)[1] - 1)


def draw_normals(
    source: Source, purpose: Purpose, first: int, steps: int, size: int
) -> npt.NDArray[np.float64]:
    """Draw `size` standard normals for each of `steps` steps from step `first` on."""
    words = source.words(purpose, first, steps, PAIR_WORDS * ((size + 1) // 2))
    normals = np.empty((steps, size))
    fill_normals(words, normals)
    return normals


@dataclass(frozen=True)
class LatticeGaussian:
    """Noise of standard deviation ``clip * noise_multiplier``, rounded on a grid.

    Notes
    -----
    Guarantee: sum + noise, rounded, is a function of sum + (a Gaussian within
    ``NORMAL_ERROR`` of an exact one); :meth:`log_ratio` and :meth:`tail` are the price of
    the latter.
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

    @property
    def lattice_variance(self) -> float:
        """Variance of lazy noise, in squared grids: a little more than is accounted."""
        return self.spread**2 + _LAZY_EXCESS

    def draw(
        self,
        source: Source,
        first: int,
        steps: int,
        size: int,
        purpose: Purpose = Purpose.NOISE,
    ) -> npt.NDArray[np.float64]:
        """Draw standard normals for `steps` steps of `size` coordinates."""
        return draw_normals(source, purpose, first, steps, size)

    def log_ratio(self, pairs: int, log_miss: float, *, lazy: bool = False) -> float:
        """Return r: `pairs` drawn pairs look exact up to e^(+-r), but for a probability.

        `log_miss` is the logarithm of that probability, below 1. With `lazy`, noise may be
        drawn lazily; `pairs` is then half the number of steps and coordinates, not of what is
        drawn.

        Notes
        -----
        Moving the ends of a cell by the error of a normal changes its mass by a factor
        within e^(+-eta), so that of a pair, which shares its words, within e^(+-2 eta). The
        logarithms of these factors sum to at most r over all pairs, but for the chance
        `miss` (Azuma's inequality).
        Proof: docs/proofs/shared_vector.md, "Numbers, not reals".
        """
        error = NORMAL_ERROR + (_LAZY_SUM_ERROR if lazy else _SUM_ERROR)
        eta = 2.2 * error * 2.0 ** (_FINENESS + 1) + (_LAZY_ERROR if lazy else 0.0)
        return 2.0 * pairs * eta * eta + 2.0 * eta * math.sqrt(-2.0 * pairs * log_miss)

    def tail(self, steps: int, size: int, reach: float = 1.0) -> float:
        """Return the probability that `steps` releases of `size` numbers leave what is drawn.

        `reach` is how far neighbours can be apart in a step, over the clip: 2 if a record may
        be replaced by any other.

        Notes
        -----
        Pairs of normals are drawn faithfully up to FAITHFUL_RADIUS. An exact one goes
        further, when neighbours move it by `reach` / noise_multiplier, with the chance
        bounded here for every pair; the factor 4 is also for drawn pairs that are longer.
        Proof: docs/proofs/shared_vector.md, "Tails".
        """
        pairs = (size + 1) // 2
        return 4.0 * steps * pairs * _longer(FAITHFUL_RADIUS - reach / self.noise_multiplier)


def lazy_tail(pairs: int) -> float:
    """Return the probability that one of `pairs` pairs is not drawn as it should be."""
    return pairs * _LONG_PAIR


def _longer(radius: float) -> float:
    """Return the probability that a pair of standard normals is longer than `radius`."""
    return math.exp(-0.5 * max(radius, 0.0) ** 2)
