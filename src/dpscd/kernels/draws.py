"""Exponentials, normals and lots from random words.

Every real number drawn here has full *relative* precision: its exponent and its mantissa come
from different words. A 53-bit uniform would leave gaps in the tails of the normals.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit, jit_uncounted
from dpscd.late import register_jitable

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Words that one pair of normals takes.
PAIR_WORDS = 4

#: No normal drawn here is larger: the smallest uniform is 2^-130, so the largest is
#: sqrt(-2 log 2^-130) = 13.425.
LARGEST_NORMAL = 13.43

#: A pair shorter than this is the one that its words stand for. Longer ones, which have
#: a probability of 2^-129, all come from the same uniforms: there the exponent's bits end.
FAITHFUL_RADIUS = 13.37

#: A drawn normal is within this distance of an exact one: 32 units of 2^-53
#: (logarithm, cosine and sine at 4 units each; square root, products and the width of the
#: mantissa the rest) of a number up to LARGEST_NORMAL.
NORMAL_ERROR = 32 * 2.0**-53 * LARGEST_NORMAL

_QUARTER_OF_PI = math.pi / 4.0
_LN2 = math.log(2.0)

# What is drawn here has no branches and calls no library, so that a loop over words becomes
# vector instructions.

_EXPONENT = np.int64(52)  # place of the exponent among the bits of a double
_ONE_BITS = np.int64(1023)  # the exponent of 1.0 as it is stored


@register_jitable(forceinline=True)
def _twice_atanh(f: float) -> float:
    """Return ``log((1 + f) / (1 - f))`` for |f| <= 0.172, within 2^-52 of it."""
    z = f * f
    series = 2.0 / 21.0 + z * (2.0 / 23.0)
    series = 2.0 / 19.0 + z * series
    series = 2.0 / 17.0 + z * series
    series = 2.0 / 15.0 + z * series
    series = 2.0 / 13.0 + z * series
    series = 2.0 / 11.0 + z * series
    series = 2.0 / 9.0 + z * series
    series = 2.0 / 7.0 + z * series
    series = 2.0 / 5.0 + z * series
    series = 2.0 / 3.0 + z * series
    return 2.0 * f + f * (z * series)


@register_jitable(forceinline=True)
def _exponent(word: int) -> Any:
    """Return minus the number of leading zeros of a random word; -64 for zero."""
    # 53 bits convert to a float exactly; the exponent of that float counts them.
    upper = np.float64(word >> np.uint64(11))
    lower = np.float64(word & np.uint64(2047))
    above = (np.float64(upper).view(np.int64) >> _EXPONENT) - np.int64(1022 + 53)
    below = (np.float64(lower).view(np.int64) >> _EXPONENT) - np.int64(1022 + 64)
    return above if upper > 0.0 else max(below, np.int64(-64))


@register_jitable(forceinline=True)
def exponential(high: int, more: int, low: int) -> float:
    """Turn three random words into one exponential of mean 1.

    Leading zeros of `high`, and of `more` if it is zero, give the exponent of a uniform on (0,
    1/2), the upper 51 bits of `low` its mantissa, and the last bit the end of (0, 1) that is
    closer.
    """
    exponent = _exponent(high)
    further = _exponent(more)
    exponent += further if high == np.uint64(0) else np.int64(0)
    # The middle of a cell: with 51 bits and the half it is a double, without rounding.
    mantissa = 1.0 + (np.float64(low >> np.uint64(13)) + 0.5) * 2.0**-51
    power = np.int64((exponent - np.int64(2) + _ONE_BITS) << _EXPONENT).view(np.float64)
    uniform = mantissa * power
    # Each of the three logarithms is 2 atanh of a small quotient and a constant.
    tail = (low & np.uint64(1)) != np.uint64(0)
    middle = exponent == np.int64(0)
    above = 1.0 - uniform - _CENTRE if middle else -uniform
    below = 1.0 - uniform + _CENTRE if middle else 2.0 - uniform
    above = mantissa - _ROOT2 if tail else above
    below = mantissa + _ROOT2 if tail else below
    constant = _LOG_CENTRE if middle else 0.0
    constant = (1.5 - np.float64(exponent)) * _LN2 if tail else constant
    return constant - _twice_atanh(above / below)


_ROOT2 = math.sqrt(2.0)
_CENTRE = math.sqrt(0.375)
_LOG_CENTRE = -math.log(_CENTRE)


@register_jitable(forceinline=True)
def _sine_and_cosine(angle: float) -> tuple[float, float]:
    """Return sine and cosine of an angle in [0, pi/4], each within 2^-51 of it."""
    z = angle * angle
    sine = -1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0)
    sine = 1.0 / 6227020800.0 + z * sine
    sine = -1.0 / 39916800.0 + z * sine
    sine = 1.0 / 362880.0 + z * sine
    sine = -1.0 / 5040.0 + z * sine
    sine = 1.0 / 120.0 + z * sine
    sine = -1.0 / 6.0 + z * sine
    cosine = 1.0 / 20922789888000.0 - z * (1.0 / 6402373705728000.0)
    cosine = -1.0 / 87178291200.0 + z * cosine
    cosine = 1.0 / 479001600.0 + z * cosine
    cosine = -1.0 / 3628800.0 + z * cosine
    cosine = 1.0 / 40320.0 + z * cosine
    cosine = -1.0 / 720.0 + z * cosine
    cosine = 1.0 / 24.0 + z * cosine
    return angle + angle * (z * sine), 1.0 - (0.5 * z - z * (z * cosine))


@register_jitable(forceinline=True)
def _pair(high: int, more: int, low: int, turn: int) -> tuple[float, float]:
    """Turn four random words into two standard normals by Box and Muller's method."""
    length = math.sqrt(2.0 * exponential(high, more, low))
    angle = (np.float64(turn >> np.uint64(12)) + 0.5) * 2.0**-52 * _QUARTER_OF_PI
    sine, cosine = _sine_and_cosine(angle)
    first = -cosine if turn & np.uint64(1) else cosine
    second = -sine if turn & np.uint64(2) else sine
    swapped = (turn & np.uint64(4)) != np.uint64(0)
    return length * (second if swapped else first), length * (first if swapped else second)


@jit
def fill_normals(words: Words, out: Floats) -> None:
    """Fill each row of `out` with standard normals, four words a pair."""
    size = out.shape[1]
    for row in range(out.shape[0]):
        at, to = words[row], out[row]
        for pair in range(size // 2):
            w = PAIR_WORDS * pair
            first, second = _pair(at[w], at[w + 1], at[w + 2], at[w + 3])
            to[2 * pair] = first
            to[2 * pair + 1] = second
        if size % 2 == 1:
            w = PAIR_WORDS * (size // 2)
            to[size - 1], _ = _pair(at[w], at[w + 1], at[w + 2], at[w + 3])


# Bits of a skip's word that give the exponent of its uniform; the others are its mantissa.
_SKIP_ZEROS = 13
_SKIP_LIMIT = _SKIP_ZEROS * _LN2
_SKIP_MANTISSA = np.uint64(2**51 - 1)
_ROOT_HALF = math.sqrt(0.5)
_BLOCK = 64


@register_jitable(forceinline=True)
def wait_of(word: int) -> float:
    """Return an exponential of mean 1 from a word, or minus a bound that it exceeds.

    The upper 13 bits give the exponent of a uniform on (0, 1), the lower 51 its mantissa. If
    all 13 are zero, the rest of the exponential takes another word.
    """
    upper = np.float64(word >> np.uint64(51))
    exponent = (np.float64(upper).view(np.int64) >> _EXPONENT) - _ONE_BITS  # 12 - zeros
    bits = ((word & _SKIP_MANTISSA) << np.uint64(1)) | np.uint64(0x3FE0000000000001)
    mantissa = np.uint64(bits).view(np.float64)  # the middle of a cell of (1/2, 1)
    quotient = (mantissa - _ROOT_HALF) / (mantissa + _ROOT_HALF)
    wait = (12.5 - np.float64(exponent)) * _LN2 - _twice_atanh(quotient)
    return wait if upper > 0.0 else -_SKIP_LIMIT


def fill_lots(
    words: Words, rows: int, decay: float, step: int, last: int, waited: float, ids: Ints,
    starts: Ints,
) -> tuple[int, int, float]:  # fmt: skip
    """Fill in Poisson lots from skips; stop early only when a step's words run out.

    A skip, almost always of one word, is the whole part of an exponential over `decay` =
    ``-log(1 - rate)``. Members of step t are ``ids[starts[t]:starts[t + 1]]``. Returned are the
    step, the record after which to look and the known part of the exponential: ``(steps, -1,
    0.0)`` when done. Nothing is dropped.
    """
    return _fill_lots(words, rows, decay, step, last, waited, ids, starts, np.empty(_BLOCK))


@jit_uncounted
def _fill_lots(
    words: Words, rows: int, decay: float, step: int, last: int, waited: float, ids: Ints,
    starts: Ints, waits: Floats,
) -> tuple[int, int, float]:  # fmt: skip
    at = starts[step]
    end = np.float64(rows)
    while step < words.shape[0]:
        for first in range(0, words.shape[1], _BLOCK):
            count = min(_BLOCK, words.shape[1] - first)
            block = words[step, first : first + count]
            for b in range(count):
                waits[b] = wait_of(block[b]) / decay
            for b in range(count):
                if waits[b] < 0.0:
                    waited -= waits[b]
                else:
                    last += 1 + int(min(waited + waits[b], end))
                    waited = 0.0
                    if last >= rows:
                        break
                    ids[at] = last
                    at += 1
            if last >= rows:
                break
        if last < rows:
            starts[step + 1] = at
            return step, last, waited
        step += 1
        last = -1
        starts[step] = at
    return step, last, waited


@jit
def shuffle(words: Words, order: Ints) -> None:
    """Shuffle `order` in place, one word per entry (bias below n 2^-53)."""
    for i in range(order.shape[0] - 1, 0, -1):
        uniform = np.float64(words[i] >> np.uint64(11)) * 2.0**-53
        j = int(uniform * (i + 1))
        order[i], order[j] = order[j], order[i]


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
    """Fill in Poisson lots without rounding; stop early only when a step's words run out.

    Von Neumann's method for an exponential, on whole numbers: words of m = `bits` bits are
    drawn while each is smaller than the one before; the first one, w, is kept if their number
    was odd, which has probability ``(1 - 2^-m)^w`` exactly; otherwise 2^m is added and the
    method starts again. The total over `share`, s, is the skip: a record is drawn with
    probability ``1 - (1 - 2^-m)^s``. Returned is the step, to go on with more words and `walk`.

    Guarantee: bits of different records are independent and have one probability, exactly.
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
