"""Draws: Poisson lots of records, Gaussian noise on a grid, and what finite precision costs.

Contributions are cut to multiples of a power of two, the step of the lattice, so that sums are
whole numbers and the same in every order. The lattice and its capacity are chosen here only,
from the public n.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError, ParameterError
from dpscd.kernels.draws import (
    FAITHFUL_RADIUS,
    NORMAL_ERROR,
    PAIR_WORDS,
    fill_exact_lots,
    fill_lots,
    fill_normals,
    new_walk,
)
from dpscd.kernels.dual import StepConstants, release
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.relation import Relation

Floats = npt.NDArray[np.float64]

# Lots are drawn at a rate a little lower than the accounted one, by more than the rounding
# of exponentials and quotients can raise it: rounding to the private side, since a lower
# rate is dominated by a higher one.
_SHY_SHARE, _SHY = 2.0**-30, 2.0**-39

# Where records are divided, bits are drawn for so many numbers of records at a time, each
# such block with words of its own; and a step has room for this many blocks.
_BLOCK, _BLOCKS = 2**14, 2**40

# A skip takes a second word with a probability of 2^-13. With twice as many words as records,
# and these, the probability that they do not suffice is below 2^-700.
_SPARE = 64

# Exact lots: bits of a word that are used, such that 64 hold what the kernel adds up at
# every rate below 1; words that a skip takes on average, and six standard deviations.
_BITS = 57
_SKIP_WORDS, _SKIP_SPREAD = 4.31, 22.5
# Words of theirs that run out come in pieces of this many, as often as it takes.
_PIECE, _PIECES = 2**12, 2**32

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


class Lots(NamedTuple):
    """Members of consecutive steps: those of step t are ``ids[starts[t]:starts[t+1]]``."""

    ids: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class PoissonLots:
    """Each record joins each lot independently with probability `rate`.

    Guarantee: given all other bits, a record's bit is 1 with a probability of at most `rate`,
    and bits depend on neither data nor noise. Lots are never cut, re-drawn or filled up.
    Proof: docs/proofs/shared_vector.md, "Lots".
    """

    rate: float
    # Whether bits are independent and alike to the last bit, for which a member takes several
    # words. Needed where removing a record moves others up: their bits must keep their law.
    # Otherwise skips are rounded, and the rate is lowered for it.
    exact: bool = False

    @classmethod
    def of(cls, rate: float, relation: Relation) -> "PoissonLots":
        """Return the sampler that `relation` needs."""
        return cls(rate, exact=relation.needs_n)

    @property
    def share(self) -> int:
        """Divisor of totals of exact lots: s, with ``1 - (1 - 2^-57)^s <= rate``."""
        # The logarithm and the products are off by a few units of 2^-53; and
        # -log(1 - 2^-57) exceeds 2^-57 by half that share.
        share = int(-math.log1p(-self.rate) * 2.0**_BITS * (1.0 - 2.0**-48))
        if share < 1:
            raise ParameterError(f"rate={self.rate!r} is too small to draw lots exactly.")
        return share

    def skips(self, rows: int) -> int:
        """Return the number of skips set aside for one step over `rows` records."""
        # It is even: words come in pairs, so that those of all steps are adjacent.
        expected = self.rate * rows
        skips = min(rows + 1, math.ceil(expected + 6.0 * math.sqrt(expected) + 8.0))
        return skips + skips % 2

    def imprecision(self, steps: int, n: int) -> float:
        """Return a bound on the probability of a gap beyond 91 / decay; 0 for exact lots."""
        if self.exact:
            return 0.0
        return steps * (self.rate * n + 1.0) * 2.0**-128

    def draw(self, source: Source, first: int, steps: int, rows: int) -> Lots:
        """Draw the lots of `steps` steps from step `first` on, over `rows` records."""
        if self.exact and self.rate < 1.0:  # at rate 1 every skip is 0, rounded or not
            return self._draw_exactly(source, first, steps, rows)
        skips = self.skips(rows)
        words = source.words(Purpose.LOTS, first, steps, skips)
        drawn = self.rate * (1.0 - _SHY_SHARE) - _SHY
        decay = -math.log1p(-drawn) if self.rate < 1.0 else math.inf
        ids = np.empty(steps * skips, dtype=np.int64)
        starts = np.zeros(steps + 1, dtype=np.int64)
        step, last, waited = fill_lots(words, rows, decay, 0, -1, 0.0, ids, starts)
        while step < steps:
            # The words of this step ran out after record `last`: enough for any rest.
            more = source.words(Purpose.LOTS_OVERFLOW, first + step, 1, 2 * rows + _SPARE)
            ids = np.concatenate([ids, np.empty(rows, dtype=np.int64)])
            rest = np.array([starts[step + 1], 0])
            fill_lots(more, rows, decay, 0, last, waited, ids, rest)
            starts[step + 1] = rest[1]
            step, last, waited = fill_lots(words, rows, decay, step + 1, -1, 0.0, ids, starts)
        return Lots(ids[: starts[steps]], starts)

    def _draw_exactly(self, source: Source, first: int, steps: int, rows: int) -> Lots:
        expected = self.skips(rows)
        width = math.ceil(_SKIP_WORDS * expected + _SKIP_SPREAD * math.sqrt(expected))
        words = source.words(Purpose.LOTS, first, steps, width)
        ids = np.empty(steps * width // 2, dtype=np.int64)  # a member takes two at least
        starts = np.zeros(steps + 1, dtype=np.int64)
        walk, share = new_walk(), self.share
        step = fill_exact_lots(words, _BITS, rows, share, 0, walk, ids, starts)
        while step < steps:
            # The words of this step ran out; the skip in progress goes on where it was.
            place, done = (first + step) * _PIECES, 0
            while not done:
                rest = np.array([starts[step + 1], 0])
                more = source.words(Purpose.LOTS_OVERFLOW, place, 1, _PIECE)
                ids = np.concatenate([ids, np.empty(_PIECE // 2, dtype=np.int64)])
                done = fill_exact_lots(more, _BITS, rows, share, 0, walk, ids, rest)
                starts[step + 1] = rest[1]
                place += 1
            step = fill_exact_lots(words, _BITS, rows, share, step + 1, walk, ids, starts)
        return Lots(ids[: starts[-1]], starts)

    def members(
        self, source: Source, step: int, start: int, stop: int
    ) -> npt.NDArray[np.int64]:
        """Return which of the records numbered from `start` up to `stop` are in a lot.

        Guarantee: that of :meth:`draw`; and whether a record is in the lot is a function of the
        source, the step and the record's number alone, so records may be divided in any way.
        Proof: docs/proofs/shared_vector.md, "Lots".
        """
        first, last = start // _BLOCK, -(-stop // _BLOCK)
        lots = self.draw(source, step * _BLOCKS + first, last - first, _BLOCK)
        block = np.repeat(np.arange(first, last), np.diff(lots.starts))
        numbers = lots.ids + block * _BLOCK
        inside = slice(*np.searchsorted(numbers, [start, stop]))
        return numbers[inside]


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
        pairs, radius = (size + 1) // 2, FAITHFUL_RADIUS - reach / self.noise_multiplier
        return 4.0 * steps * pairs * math.exp(-0.5 * max(radius, 0.0) ** 2)


def lazy_tail(pairs: int) -> float:
    """Return the probability that one of `pairs` pairs is not drawn as it should be."""
    return pairs * _LONG_PAIR


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
