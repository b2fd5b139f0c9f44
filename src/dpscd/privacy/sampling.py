"""Poisson lots: how records are drawn into a step, and the rate that is accounted."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels.draws import fill_lots
from dpscd.privacy.random import Purpose, Source

__all__ = ["Lots", "PoissonLots"]

# Lots are drawn at a rate a little lower than the accounted one, by more than the rounding
# of exponentials and quotients can raise it: rounding to the private side, since a lower
# rate is dominated by a higher one.
_SHY_SHARE, _SHY = 2.0**-30, 2.0**-39

# Where records are divided, bits are drawn for so many numbers of records at a time, each
# such block with words of its own; and a step has room for this many blocks.
_BLOCK, _BLOCKS = 2**14, 2**40

# A skip takes a second word with a chance of 2^-13. With twice as many words as records,
# and these, the chance that they do not suffice is below 2^-700.
_SPARE = 64


class Lots(NamedTuple):
    """Members of consecutive steps: those of step t are ``ids[starts[t]:starts[t+1]]``."""

    ids: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class PoissonLots:
    """Each record joins each lot independently with chance `rate`.

    Notes
    -----
    Guarantee: given all other bits, a record's bit is 1 with a chance of at most
    `rate`, and bits depend on neither data nor noise. Lots are never cut, re-drawn or
    filled up: when the words set aside for a step run out, more are fetched.
    Proof: docs/proofs/shared_vector.md, "Lots".
    """

    rate: float

    def skips(self, rows: int) -> int:
        """Return the number of skips set aside for one step over `rows` records."""
        expected = self.rate * rows
        return min(rows + 1, math.ceil(expected + 6.0 * math.sqrt(expected) + 8.0))

    def imprecision(self, steps: int, n: int) -> float:
        """Return a bound on the chance that some gap is longer than 91 / decay."""
        return steps * (self.rate * n + 1.0) * 2.0**-128

    def draw(self, source: Source, first: int, steps: int, rows: int) -> Lots:
        """Draw the lots of `steps` steps from step `first` on, over `rows` records."""
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

    def members(
        self, source: Source, step: int, start: int, stop: int
    ) -> npt.NDArray[np.int64]:
        """Return which of the records numbered from `start` up to `stop` are in a lot.

        Notes
        -----
        Guarantee: that of :meth:`draw`; and whether a record is in the lot is a function of
        the source, the step and the record's number alone, so records may be divided in any
        way.
        Proof: docs/proofs/shared_vector.md, "Lots".
        """
        first, last = start // _BLOCK, -(-stop // _BLOCK)
        lots = self.draw(source, step * _BLOCKS + first, last - first, _BLOCK)
        block = np.repeat(np.arange(first, last), np.diff(lots.starts))
        numbers = lots.ids + block * _BLOCK
        inside = slice(*np.searchsorted(numbers, [start, stop]))
        return numbers[inside]
