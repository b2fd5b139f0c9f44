"""Gaussian noise on a grid, the cost of its finite precision, and noisy sums over records.

Contributions are cut to multiples of a power of two, the step of the lattice, so that sums are
whole numbers and the same in every order. The lattice and its capacity are chosen here only,
from the public n.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError, ParameterError
from dpscd.kernels.draws import FAITHFUL_RADIUS, NORMAL_ERROR, PAIR_WORDS, fill_normals
from dpscd.kernels.dual import StepConstants, release
from dpscd.privacy.random import Purpose, Source

Floats = npt.NDArray[np.float64]

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

# Probability of a pair of normals that is not drawn as it should be: twice the exact one.
_LONG_PAIR = 2.0**-128

#: Contributions are cut to multiples of about clip / 2^30; a lot's sum stays exact in
#: doubles while members * 2^30 < 2^53.
LATTICE_BITS = 30
EXACT_BITS = 53

# In fixed point sums are whole numbers of 64 bits.
_WHOLE_BITS = 62
# ... and in limbs of eight bits, a step is no finer than this part of the clip.
_LIMB_BITS = 36


def power_of_two_below(x: float) -> float:
    """Return the largest power of two that is at most `x`."""
    if not 0.0 < x < math.inf:
        raise ParameterError(f"{x!r} must be a positive, finite number.")
    return math.ldexp(1.0, math.frexp(x)[1] - 1)


def draw_normals(source: Source, purpose: Purpose, first: int, steps: int, size: int) -> Floats:
    """Draw `size` standard normals for each of `steps` steps from step `first` on."""
    words = source.words(purpose, first, steps, PAIR_WORDS * ((size + 1) // 2))
    normals = np.empty((steps, size))
    fill_normals(words, normals)
    return normals


@dataclass(frozen=True)
class LatticeGaussian:
    """Noise of standard deviation ``clip * noise_multiplier``, rounded on a grid.

    Guarantee: sum + noise, rounded, is a function of sum + (a Gaussian within ``NORMAL_ERROR``
    of an exact one); :meth:`log_ratio` and :meth:`tail` are the price of the latter.
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
    ) -> Floats:
        """Draw standard normals for `steps` steps of `size` coordinates."""
        return draw_normals(source, purpose, first, steps, size)

    def log_ratio(self, pairs: int, log_miss: float, *, lazy: bool = False) -> float:
        """Return r: `pairs` drawn pairs look exact up to e^(+-r), but for a probability.

        `log_miss` is the logarithm of that probability, below 1. With `lazy`, noise may be
        drawn lazily; `pairs` is then half the number of steps and coordinates, not of what is
        drawn.
        Proof: docs/proofs/shared_vector.md, "Numbers, not reals".
        """
        error = NORMAL_ERROR + (_LAZY_SUM_ERROR if lazy else _SUM_ERROR)
        eta = 2.2 * error * 2.0 ** (_FINENESS + 1) + (_LAZY_ERROR if lazy else 0.0)
        return 2.0 * pairs * eta * eta + 2.0 * eta * math.sqrt(-2.0 * pairs * log_miss)

    def tail(self, steps: int, size: int, reach: float = 1.0) -> float:
        """Return the probability that `steps` releases of `size` numbers leave what is drawn.

        `reach` is how far neighbours can be apart in a step, over the clip: 2 under
        replace-one.
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


def capacity_of(n: int) -> int:
    """Return the largest number of records whose sums are exact, given the public n."""
    return 1 << max(EXACT_BITS - LATTICE_BITS, (2 * n).bit_length())


def lattice_step(n: int, clip: float) -> float:
    """Return the power of two to whose multiples contributions up to `clip` are cut."""
    return math.ldexp(power_of_two_below(clip), capacity_of(n).bit_length() - EXACT_BITS)


def whole_lattice_step(n: int, clip: float) -> float:
    """Return the same for sums of 64-bit integers, which can be finer."""
    return math.ldexp(power_of_two_below(clip), capacity_of(n).bit_length() - _WHOLE_BITS)


def limb_lattice_step(n: int, clip: float) -> float:
    """Return the same where a step, over its row's scale, must fit three limbs of 8 bits."""
    # Steps are then below 2^22 of it, as contributing rows have an entry of 32639.
    return max(whole_lattice_step(n, clip), math.ldexp(power_of_two_below(clip), -_LIMB_BITS))


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

    Requires: `total` holds whole numbers, summed exactly; `cell` is a power of two; a record
    moves ``cell * total`` by at most 1; no two releases share source, purpose and time.
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
    return out
