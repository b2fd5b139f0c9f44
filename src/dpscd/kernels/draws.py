"""Random words into exponentials, normals and lots.

Every real number drawn here has full *relative* precision: its exponent and its
mantissa come from different words. A 53-bit uniform would leave visible gaps in the
tails of the normals, and gaps tell neighbouring data sets apart.
"""

import math

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit

__all__ = [
    "EXPONENTIAL_WORDS",
    "FAITHFUL_RADIUS",
    "LARGEST_NORMAL",
    "NORMAL_ERROR",
    "PAIR_WORDS",
    "exponential",
    "fill_lots",
    "fill_normals",
    "shuffle",
]

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Words that one exponential takes, and one pair of normals.
EXPONENTIAL_WORDS = 3
PAIR_WORDS = 4

#: No normal drawn here is larger: the smallest uniform is 2^-130, so the largest is
#: sqrt(-2 log 2^-130) = 13.425.
LARGEST_NORMAL = 13.43

#: A pair shorter than this is the one that its words stand for. Longer ones, which have
#: a chance of 2^-129, all come from the same uniforms: there the exponent's bits end.
FAITHFUL_RADIUS = 13.37

#: A drawn normal is within this distance of an exact one: 32 units of 2^-53
#: (log, cos and sin at 4 ulp each, as Numba's vector libraries promise at most; sqrt, the
#: products and the width of the mantissa the rest) of a number up to LARGEST_NORMAL.
NORMAL_ERROR = 32 * 2.0**-53 * LARGEST_NORMAL

_QUARTER_OF_PI = math.pi / 4.0


@jit
def _exponent(word: int) -> int:
    """Return minus the number of leading zeros of a random word; -64 for zero."""
    upper = word >> np.uint64(11)
    if upper != np.uint64(0):  # 53 bits convert to a float exactly
        return math.frexp(np.float64(upper))[1] - 53
    return math.frexp(np.float64(word & np.uint64(2047)))[1] - 64


@jit
def exponential(high: int, more: int, low: int) -> float:
    """Turn three random words into one exponential of mean 1.

    The leading zeros of `high`, and of `more` should it be zero, give the exponent of a
    uniform on (0, 1/2); the upper 51 bits of `low` give its mantissa, and the last bit
    of `low` the side: the logarithm is taken from the end of (0, 1) that is closer.
    """
    exponent = _exponent(high)
    if high == np.uint64(0):
        exponent += _exponent(more)
    # The middle of a cell: with 51 bits and the half it is a double, without rounding.
    mantissa = 1.0 + (np.float64(low >> np.uint64(13)) + 0.5) * 2.0**-51
    uniform = math.ldexp(mantissa, exponent - 2)
    if low & np.uint64(1):
        return -math.log(uniform)
    return -math.log1p(-uniform)


@jit
def fill_normals(words: Words, out: Floats) -> None:
    """Fill each row of `out` with standard normals, four words a pair.

    Box and Muller's method; the angle is drawn within an eighth of the circle and then
    reflected, so that its sine and cosine keep their relative precision.
    """
    size = out.shape[1]
    for row in range(out.shape[0]):
        for pair in range((size + 1) // 2):
            at = PAIR_WORDS * pair
            radius = exponential(words[row, at], words[row, at + 1], words[row, at + 2])
            length = math.sqrt(2.0 * radius)
            turn = words[row, at + 3]
            angle = (np.float64(turn >> np.uint64(12)) + 0.5) * 2.0**-52 * _QUARTER_OF_PI
            first = length * math.cos(angle)
            second = length * math.sin(angle)
            if turn & np.uint64(1):
                first = -first
            if turn & np.uint64(2):
                second = -second
            if turn & np.uint64(4):
                first, second = second, first
            out[row, 2 * pair] = first
            if 2 * pair + 1 < size:
                out[row, 2 * pair + 1] = second


@jit
def fill_lots(
    words: Words, rows: int, decay: float, step: int, last: int, ids: Ints, starts: Ints
) -> tuple[int, int]:
    """Turn skips into Poisson lots; stop early only when a step's words run out.

    Parameters
    ----------
    words : array of shape (steps, EXPONENTIAL_WORDS * skips)
        The words of one exponential a skip.
    rows : int
        Number of records; each is in each lot independently.
    decay : float
        ``-log(1 - rate)``: a skip is the whole part of an exponential divided by it.
    step, last : int
        Where to go on: the step, and the record after which to look.
    ids, starts : arrays
        Filled: the members of step t are ``ids[starts[t]:starts[t + 1]]``.

    Returns
    -------
    step, last : int
        ``(steps, -1)`` when done; otherwise the step whose words ran out and the last
        record that was drawn in it. Nothing is dropped: the caller brings more words.
    """
    at = starts[step]
    while step < words.shape[0]:
        for skip in range(0, words.shape[1], EXPONENTIAL_WORDS):
            wait = exponential(words[step, skip], words[step, skip + 1], words[step, skip + 2])
            last += 1 + int(min(wait / decay, np.float64(rows)))
            if last >= rows:
                break
            ids[at] = last
            at += 1
        if last < rows:
            starts[step + 1] = at
            return step, last
        step += 1
        last = -1
        starts[step] = at
    return step, last


@jit
def shuffle(words: Words, order: Ints) -> None:
    """Shuffle `order` in place, one word an entry (bias below n 2^-53)."""
    for i in range(order.shape[0] - 1, 0, -1):
        uniform = np.float64(words[i] >> np.uint64(11)) * 2.0**-53
        j = int(uniform * (i + 1))
        order[i], order[j] = order[j], order[i]
