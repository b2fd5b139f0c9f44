"""Randomness on the device: words of ChaCha20 (RFC 8439), Poisson lots, standard normals.

Normals are made by the formulas of dpscd.kernels.draws. Series are written out; XLA may fuse a
product and a sum into one rounding, which loses nothing.
"""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

#: What words are for: the first word of the nonce, one number each.
LOTS, NORMALS = 1, 2

_CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4")
_DOUBLE_ROUNDS = 10
_QUARTERS = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip


def key_of(secret: bytes) -> Any:
    """Return 32 secret bytes as the eight words of a key."""
    return np.frombuffer(secret, dtype="<u4").astype(np.uint32)


def random_words(key: Any, purpose: int, step: Any, count: int) -> Any:
    """Return the words of one purpose and step, of shape (16, count): one block per column.

    Guarantee: purpose and step are the nonce and the block its counter, so no two words of a
    training come from the same place of the stream.
    Requires: `key`, eight secret words, is used for one training only; numbers are below 2^32.
    Proof: docs/proofs/tensor_cores.md, "Randomness".
    """
    nonce = (jnp.uint32(purpose), jnp.uint32(step), jnp.uint32(0))
    return chacha_blocks(key, jnp.arange(count, dtype=jnp.uint32), nonce)


def chacha_blocks(key: Any, counter: Any, nonce: tuple[Any, Any, Any]) -> Any:
    """Return the block function of RFC 8439, section 2.3, at every counter."""
    start = tuple(
        jnp.broadcast_to(jnp.asarray(word, jnp.uint32), counter.shape)
        for word in (*_CONSTANTS, *key, counter, *nonce)
    )
    mixed = lax.fori_loop(0, _DOUBLE_ROUNDS, lambda _, state: _double_round(state), start)
    return jnp.stack([a + b for a, b in zip(mixed, start, strict=True)])


def _double_round(state: tuple[Any, ...]) -> tuple[Any, ...]:
    words = list(state)
    for a, b, c, d in _QUARTERS:
        words[a] += words[b]
        words[d] = _rotated(words[d] ^ words[a], 16)
        words[c] += words[d]
        words[b] = _rotated(words[b] ^ words[c], 12)
        words[a] += words[b]
        words[d] = _rotated(words[d] ^ words[a], 8)
        words[c] += words[d]
        words[b] = _rotated(words[b] ^ words[c], 7)
    return tuple(words)


def _rotated(word: Any, by: int) -> Any:
    return (word << by) | (word >> (32 - by))


_LN2 = math.log(2.0)
_ROOT2 = math.sqrt(2.0)
_CENTRE = math.sqrt(0.375)
_LOG_CENTRE = -math.log(_CENTRE)
_EIGHTH = math.pi / 4.0 * 2.0**-52

_SINE = (
    1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
    1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0,
)  # fmt: skip
_COSINE = (
    -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0,
    1.0 / 479001600.0, -1.0 / 3628800.0, 1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0,
)  # fmt: skip
_ATANH = tuple(2.0 / k for k in range(23, 1, -2))


def draw_normals(key: Any, step: Any, size: int) -> Any:
    """Return `size` standard normals of one step.

    Guarantee: each is within ``NORMAL_ERROR`` (:mod:`dpscd.kernels.draws`) of an exact one that
    the same words stand for, if its pair is shorter than ``FAITHFUL_RADIUS``; those of
    different pairs and steps come from different words.
    Requires: double precision of IEEE 754, fused or not; the key is used for one training only.
    Proof: docs/proofs/tensor_cores.md, "Randomness".
    """
    pairs = -(-size // 2)
    blocks = -(-pairs // 2)
    words = random_words(key, NORMALS, step, blocks)
    # Eight words make a pair, so a block makes two.
    halves = words.reshape(2, 4, 2, blocks).astype(jnp.uint64)
    wide = halves[:, :, 0] | (halves[:, :, 1] << 32)
    first, second = normal_pairs(*(wide[:, place].reshape(-1) for place in range(4)))
    return jnp.stack([first[:pairs], second[:pairs]], axis=1).reshape(-1)[:size]


def normal_pairs(high: Any, more: Any, low: Any, turn: Any) -> tuple[Any, Any]:
    """Turn four arrays of random words of 64 bits into two of standard normals."""
    length = jnp.sqrt(2.0 * _exponential(high, more, low))
    angle = ((turn >> 12).astype(jnp.float64) + 0.5) * _EIGHTH
    z = angle * angle
    sine = angle + angle * (z * _series(_SINE, z))
    cosine = 1.0 - (0.5 * z - z * (z * _series(_COSINE, z)))
    first = jnp.where(turn & 1 != 0, -cosine, cosine)
    second = jnp.where(turn & 2 != 0, -sine, sine)
    swapped = turn & 4 != 0
    return (
        length * jnp.where(swapped, second, first),
        length * jnp.where(swapped, first, second),
    )


def _exponential(high: Any, more: Any, low: Any) -> Any:
    """Turn three arrays of words into exponentials of mean 1."""
    # Leading zeros of `high`, and of `more` should it be zero, give the exponent of a uniform
    # on (0, 1/2), the upper 51 bits of `low` its mantissa, and the last bit the side: the
    # logarithm is taken from the end of (0, 1) that is closer.
    exponent = -lax.clz(high).astype(jnp.int64)
    exponent -= jnp.where(high == 0, lax.clz(more).astype(jnp.int64), 0)
    mantissa = 1.0 + ((low >> 13).astype(jnp.float64) + 0.5) * 2.0**-51
    power = lax.bitcast_convert_type((exponent + (1023 - 2)) << 52, jnp.float64)
    uniform = mantissa * power
    tail = low & 1 != 0
    middle = exponent == 0
    above = jnp.where(middle, (1.0 - uniform) - _CENTRE, -uniform)
    below = jnp.where(middle, (1.0 - uniform) + _CENTRE, 2.0 - uniform)
    above = jnp.where(tail, mantissa - _ROOT2, above)
    below = jnp.where(tail, mantissa + _ROOT2, below)
    constant = jnp.where(middle, _LOG_CENTRE, 0.0)
    constant = jnp.where(tail, (1.5 - exponent.astype(jnp.float64)) * _LN2, constant)
    f = above / below
    z = f * f
    return constant - (2.0 * f + f * (z * _series(_ATANH, z)))


def _series(terms: tuple[float, ...], z: Any) -> Any:
    """Return a polynomial in z by Horner's rule, the highest power first."""
    found = terms[0]
    for term in terms[1:]:
        found = term + z * found
    return found


#: Records are numbered up to a multiple of this.
LEVEL = 1024


def threshold_of(rate: float) -> int:
    """Return the largest word of a member: the rate, rounded down to 2^-32 but not to 0.

    Guarantee: a uniform word is at most this with a probability of ``floor(rate 2^32) 2^-32``,
    exactly, which is no more than `rate`.
    """
    count = int(rate * 2.0**32)  # a product with a power of two is exact
    if count < 1:
        raise ValueError("the rate is below 2^-32")
    return count - 1


def draw_lot(key: Any, step: Any, threshold: Any, count: Any, room: int, block: int) -> Any:
    """Return the members of one lot, to be processed a `block` at a time, and their number.

    Guarantee: every record is a member independently, with the same probability to the last
    bit, which depends on neither data nor noise. A lot is never cut.
    Proof: docs/proofs/tensor_cores.md, "Lots".
    """
    words = random_words(key, LOTS, step, room // 16).reshape(-1)
    joined = (words <= threshold) & (jnp.arange(room) < count)
    return list_members(joined, block)


def list_members(joined: Any, block: int) -> Any:
    """Return the places of true bits in order, and their number."""
    # As many different numbers as needed follow that are not places.
    room = joined.shape[0]
    inner = jnp.cumsum(joined.reshape(-1, LEVEL).astype(jnp.int32), axis=1)
    before = jnp.cumsum(inner[:, -1]) - inner[:, -1]
    place = (inner + before[:, None]).reshape(-1) - 1
    numbers = jnp.arange(room, dtype=jnp.int32)
    nowhere = room + jnp.arange(room + block, dtype=jnp.int32)
    ids = nowhere.at[jnp.where(joined, place, 2 * room + block + numbers)].set(
        numbers, mode="drop", unique_indices=True
    )
    return ids, before[-1] + inner[-1, -1]
