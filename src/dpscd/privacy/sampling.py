"""Poisson lots: sampling of records, and the rate that is accounted."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.kernels.draws import fill_exact_lots, fill_lots, new_walk
from dpscd.privacy.random import Purpose, Source
from dpscd.privacy.relation import Relation

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
