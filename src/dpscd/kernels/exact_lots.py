"""Poisson lots from comparisons of whole numbers: independent bits without any rounding.

Von Neumann's method for an exponential, on whole numbers. Words of m bits are drawn while each
is smaller than the one before; the first one, w, is kept if their number was odd, which has
probability ``(1 - 2^-m)^w`` exactly. Otherwise 2^m is added and the method starts again. The
total is geometric with success probability 2^-m, and its quotient by a whole number is
geometric with a larger one.
"""

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit

Words = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

# Places in the state of a walk: the last member; of the skip that is being drawn the records
# passed so far, and what is left of the total; the first word of the run, its lowest, and
# how many there are.
_LAST, _PASSED, _LEFT, _FIRST, _LOWEST, _LENGTH = range(6)


def new_walk() -> Ints:
    """Return the state of a walk before the first record."""
    walk = np.zeros(6, np.int64)
    walk[_LAST] = -1
    return walk


@jit
def fill_exact_lots(
    words: Words, bits: int, rows: int, share: int, step: int, walk: Ints, ids: Ints,
    starts: Ints,
) -> int:  # fmt: skip
    """Fill in Poisson lots; stop early only when a step's words run out.

    A skip takes 4.3 `words` on average, at least two, and uses the upper `bits` of each, m. It
    is the total over `share`, s: a record is drawn with probability ``1 - (1 - 2^-m)^s``; s 2^m
    is below 2^63, and `rows` at most 2^62. The members of step t are ``ids[starts[t]:starts[t +
    1]]``. Returned is the number of steps when done; otherwise the step whose words ran out, to
    continue with more words and the same `walk`. Nothing is dropped.

    Guarantee: bits of different records are independent and have one chance, exactly.
    Proof: docs/proofs/shared_vector.md, "Lots".
    """
    shift = np.uint64(64 - bits)
    one = np.int64(1) << np.int64(bits)
    passed_more, left_more = one // share, one % share
    last, passed, left = walk[_LAST], walk[_PASSED], walk[_LEFT]
    first, lowest, length = walk[_FIRST], walk[_LOWEST], walk[_LENGTH]
    at = starts[step]
    while step < words.shape[0]:
        for place in range(words.shape[1]):
            word = np.int64(words[step, place] >> shift)
            if length == 0:
                first, lowest, length = word, word, 1
                continue
            if word < lowest:
                lowest = word
                length += 1
                continue
            if length % 2 == 1:
                last += 1 + passed + (left + first) // share
                passed = left = 0
                if last < rows:
                    ids[at] = last
                    at += 1
            else:
                passed += passed_more
                left += left_more
                if left >= share:
                    passed += 1
                    left -= share
                if last + 1 + passed >= rows:
                    last = rows
            length = 0
            if last >= rows:
                break
        starts[step + 1] = at
        if last < rows:
            break
        step += 1
        last, passed, left = -1, 0, 0
    walk[_LAST], walk[_PASSED], walk[_LEFT] = last, passed, left
    walk[_FIRST], walk[_LOWEST], walk[_LENGTH] = first, lowest, length
    return step
