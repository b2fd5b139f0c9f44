"""Words to draw from, sources that note what is asked of them, and laws of lots."""

import mpmath
import numpy as np
from scipy import stats

from dpscd.privacy.random import SeededSource

ALARM = 1e-6  # chance of a false alarm of each statistical test, for a fresh seed
FULL = 2**64 - 1
HALF = mpmath.mpf(1) / 2


def random_words(seed, *shape):
    return np.random.default_rng(seed).integers(0, FULL, shape, np.uint64, endpoint=True)


def exact_uniform(high, more, low, within=HALF):
    """Return the uniform on (0, 1/2) that three words stand for, bits without end."""
    zeros = 64 - high.bit_length()
    if high == 0:
        zeros += 64 - more.bit_length()
    mantissa = 1 + ((low >> 13) + within) * mpmath.mpf(2) ** -51
    return mantissa * mpmath.mpf(2) ** (-zeros - 2)


def exact_exponential(high, more, low, within=HALF):
    uniform = exact_uniform(high, more, low, within)
    return -mpmath.log(uniform) if low & 1 else -mpmath.log1p(-uniform)


def exact_normals(high, more, low, turn, within=HALF, turned=HALF):
    """Return the pair of normals that four words stand for."""
    length = mpmath.sqrt(2 * exact_exponential(high, more, low, within))
    angle = ((turn >> 12) + turned) * mpmath.mpf(2) ** -52 * mpmath.pi / 4
    first, second = length * mpmath.cos(angle), length * mpmath.sin(angle)
    first = -first if turn & 1 else first
    second = -second if turn & 2 else second
    return (second, first) if turn & 4 else (first, second)


class RecordingSource(SeededSource):
    """A seeded source that notes which words were drawn: purpose, first, steps and width."""

    def __init__(self, *seed, calls=None):
        super().__init__(*seed)
        self.calls = [] if calls is None else calls

    def words(self, purpose, first, steps, width):
        self.calls.append((purpose, first, steps, width))
        return super().words(purpose, first, steps, width)


def binomial(counts, trials, chance):
    """Whether all counts are binomial, at ALARM together."""
    law = stats.binom(trials, chance)
    tails = 2.0 * np.minimum(law.cdf(counts), law.sf(counts - 1))
    return tails.min() >= ALARM / np.size(counts)


def independent_bits(found, rate):
    """Whether single, pair and next-step counts of lots are binomial, each kind at ALARM.

    `found` has a row of zeros and ones for each step.
    """
    steps, rows = found.shape
    together, next_step = found.T @ found, found[::2].T @ found[1::2]
    return (
        binomial(np.array([found.sum()]), steps * rows, rate)
        and binomial(np.diag(together), steps, rate)
        and binomial(together[np.triu_indices(rows, 1)], steps, rate * rate)
        and binomial(next_step.ravel(), steps // 2, rate * rate)
    )


def lot_by_definition(words, bits, rows, share):
    """Return an exact lot by its definition, in whole numbers without end."""
    words = iter([int(word) >> (64 - bits) for word in words])
    last, total, lot = -1, 0, []
    while True:
        first = lowest = next(words)
        length = 1
        while (word := next(words)) < lowest:
            lowest, length = word, length + 1
        total += first if length % 2 else 2**bits
        if length % 2:
            last, total = last + 1 + total // share, 0
            if last >= rows:
                return lot
            lot.append(last)
        elif last + 1 + total // share >= rows:
            return lot
