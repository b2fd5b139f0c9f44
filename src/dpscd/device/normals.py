"""Standard normals from random words: the formulas of dpscd.kernels.draws as array code.

An exponential takes its exponent and its mantissa from different words, and an angle is drawn
within an eighth of the circle, so that every number has full relative precision. Series are
written out; XLA may fuse a product and a sum into one rounding, which loses nothing.
"""

import math
from typing import Any

import jax.numpy as jnp
from jax import lax

from dpscd.device.chacha import NORMALS, random_words

__all__ = ["draw_normals", "normal_pairs"]

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

    Notes
    -----
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
    """Turn three arrays of words into exponentials of mean 1.

    Leading zeros of `high`, and of `more` should it be zero, give the exponent of a uniform on
    (0, 1/2), the upper 51 bits of `low` its mantissa, and the last bit the side: the logarithm
    is taken from the end of (0, 1) that is closer.
    """
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
