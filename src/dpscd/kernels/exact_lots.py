"""Poisson lots from comparisons of whole numbers: independent bits without any rounding.

Von Neumann's way to an exponential, on whole numbers. Words of m bits are drawn for as long
as each is smaller than the one before; the first one, w, is kept if they were odd in number,
which has the chance ``(1 - 2^-m)^w`` exactly. Otherwise 2^m is added and all begins again.
The total is geometric with success chance 2^-m, and so is, with a larger chance, the whole
part of it divided by a whole number.
"""

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit

__all__ = ["fill_exact_lots", "new_walk"]

Words = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

# Places in the state of a walk: the last member; of the skip that is being drawn the records
# passed so far, and what is left of the total; the first word of the run, its lowest, and
# how many there are.
_LAST, _PASSED, _LEFT, _FIRST, _LOWEST, _LENGTH = range(6)


def new_walk() -> Ints:
    """Return the state of a walk that stands before the first record."""
    walk = np.zeros(6, np.int64)
    walk[_LAST] = -1
    return walk


@jit
def fill_exact_lots(
    words: Words, bits: int, rows: int, share: int, step: int, walk: Ints, ids: Ints,
    starts: Ints,
) -> int:  # fmt: skip
    """Turn words into Poisson lots; stop early only when a step's words run out.

    Parameters
    ----------
    words : array of shape (steps, width)
        A skip takes 4.3 of them on average, and at least two.
    bits : int
        How many upper bits of each are used, m.
    rows : int
        Number of records, at most 2^62; each is in each lot independently.
    share : int
        A skip is the total over this number, s: a record is drawn with the chance
        ``1 - (1 - 2^-m)^s``. Together with 2^m below 2^63.
    step : int
        Where to go on.
    walk : array
        That of :func:`new_walk`, or as it was left when the words of this step ran out.
    ids, starts : arrays
        Filled: the members of step t are ``ids[starts[t]:starts[t + 1]]``.

    Returns
    -------
    int
        The number of steps when done; otherwise the step whose words ran out. Nothing is
        dropped: the caller brings more words, and `walk`.

    Notes
    -----
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
