"""Whole numbers as limbs of eight bits, with products that are exact in any order.

A number is ``sum of 256^k limb_k`` with limbs from -128 to 127. Products of limbs are at most
2^14 in size, and MOST of them add up below 2^31.
"""

from typing import Any

import jax.numpy as jnp
from jax import lax

#: The largest whole number of two limbs that has the same size with either sign.
LARGEST = 127 * 256 + 127

#: The largest whole number that a step may be: three limbs hold it easily.
LARGEST_CUT = 2**22 - 1

#: Products of limbs that are added up in 32 bits.
MOST = 131_008

# With so few outputs a product is a pass over the rows, not worth a tensor core.
_FEW = 2
# From so many columns on it pays to bring both sides into the order that tensor cores read.
_MANY = 64
_ALIGNED = 8


def split(numbers: Any, limbs: int) -> list[Any]:
    """Return the limbs of whole numbers of 32 bits, the highest first.

    Requires: numbers fit into so many limbs.
    """
    found = []
    for _ in range(limbs - 1):
        limb = ((numbers + 128) & 255) - 128
        found.append(limb.astype(jnp.int8))
        numbers = (numbers - limb) >> 8
    return [numbers.astype(jnp.int8), *reversed(found)]


def rounded_shared(shared: Any, padded: int) -> tuple[Any, Any, Any]:
    """Return a released shared vector as two limbs, in multiples of a unit per output.

    The limbs are int8 of shape (outputs, padded): ``unit (256 high + low)`` is the vector to
    2^-16 of its largest entry, a function of what was released.
    """
    top = jnp.max(jnp.abs(shared), axis=1)
    finest = jnp.where(top > 0.0, LARGEST / top, 0.0)
    whole = jnp.round(shared * finest[:, None])
    whole = jnp.clip(whole, -LARGEST, LARGEST).astype(jnp.int32)
    whole = jnp.pad(whole, ((0, 0), (0, padded - shared.shape[1])))
    high, low = split(whole, 2)
    return high, low, top / LARGEST


def _product(a: Any, b: Any, over: tuple[int, int]) -> Any:
    dimensions = (((over[0],), (over[1],)), ((), ()))
    return lax.dot_general(a, b, dimensions, preferred_element_type=jnp.int32)


def margins(high: Any, low: Any, shared_high: Any, shared_low: Any, work: Any) -> Any:
    """Return the products of rows with a shared vector, without those of two lower limbs.

    Rows are int8 limbs of shape (members, padded), the shared vector's are (outputs, padded).
    The result, of type `work` and shape (members, outputs), is ``sum_j (256 h_j H_j + h_j L_j +
    l_j H_j)``: 1/256 of the product, from whole numbers of at most 2^38.

    Guarantee: each number is a function of its row and the shared vector, to the last bit: a
    sum of whole numbers, exact in any order, turned into a float term by term.
    Requires: at most MOST columns.
    Proof: docs/proofs/tensor_cores.md, "Margins".
    """
    outputs = shared_high.shape[0]
    if outputs <= _FEW:
        wide = 256 * shared_high.astype(jnp.int32) + shared_low
        columns = []
        for k in range(outputs):
            terms = high.astype(jnp.int32) * wide[k] + low * shared_high[k].astype(jnp.int32)
            columns.append(jnp.sum(terms, axis=1, dtype=jnp.int64))
        return jnp.stack(columns, axis=1).astype(work)
    both = _product(high, jnp.concatenate([shared_high, shared_low]), (1, 1))
    cross = _product(low, shared_high, (1, 1))
    top, rest = both[:, :outputs].astype(work), both[:, outputs:].astype(work)
    return 256.0 * top + (rest + cross.astype(work))


def sums(high: Any, low: Any, cut: Any) -> Any:
    """Return ``sum over members of cut (256 high + low)``, int64 of shape (outputs, padded).

    Rows are int8 limbs of shape (members, padded), `cut` is int32 of shape (members, outputs).

    Guarantee: the sum is exact.
    Requires: at most MOST members; multipliers up to LARGEST_CUT in size.
    Proof: docs/proofs/tensor_cores.md, "Sums".
    """
    outputs = cut.shape[1]
    limbs = split(cut, 3)
    if 3 * outputs < _MANY:
        columns = jnp.concatenate(limbs, axis=1)
        columns = jnp.pad(columns, ((0, 0), (0, -(3 * outputs) % _ALIGNED)))
        parts = [_product(columns, rows, (0, 0)) for rows in (high, low)]
    else:
        columns = jnp.concatenate([_turned(limb) for limb in limbs])
        parts = [_product(columns, _turned(rows), (1, 1)) for rows in (high, low)]
    wide = 256 * parts[0].astype(jnp.int64) + parts[1]
    first, second, third = (wide[k * outputs : (k + 1) * outputs] for k in range(3))
    return (first * 256 + second) * 256 + third


def _turned(matrix: Any) -> Any:
    return lax.optimization_barrier(matrix.T)
