"""Records on the device: rows of 16 bits in two limbs, their exact products, and four facts.

A whole number is ``sum of 256^k limb_k`` with limbs from -128 to 127. Products of limbs are at
most 2^14 in size, and MOST of them add up below 2^31 in any order.
"""

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax

from dpscd.device.backend import compiled

#: Rows that are brought to the device at once.
BLOCK = 4096

# Limbs of a row are padded with zeros to a multiple of this many.
_ALIGNED = 32
# Rows whose largest entry is not above this count as empty, as in dpscd.kernels.pack.
_SHORTEST = 2.0**-900

_SCALE, _SQUARES, _LABEL, _WEIGHT = range(4)

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
_EIGHT = 8


class DeviceRows(NamedTuple):
    """Records on the device."""

    # int32, of shape (room, padded / 4): limbs of the whole numbers, four to a word; so is
    # `low`
    high: Any
    low: Any
    # float64, of shape (room, 4): scale (0 for an inactive record), sum of squares of the whole
    # numbers, label and weight
    facts: Any

    @property
    def room(self) -> int:
        """Number of records, rounded up."""
        return int(self.facts.shape[0])


class Members(NamedTuple):
    """Members of a lot, one row each: limbs of their rows, and their facts."""

    high: Any
    low: Any
    scale: Any
    squares: Any
    label: Any
    weight: Any


def room_for(count: int, width: int) -> tuple[int, int]:
    """Return the allocated numbers of records and columns."""
    return -(-max(count, 1) // BLOCK) * BLOCK, -(-width // _ALIGNED) * _ALIGNED


def empty_rows(count: int, width: int) -> DeviceRows:
    """Return memory on the device for inactive records."""
    room, padded = room_for(count, width)
    words = (room, padded // 4)
    return DeviceRows(
        jnp.zeros(words, jnp.int32), jnp.zeros(words, jnp.int32), jnp.zeros((room, 4))
    )


def put_rows(
    rows: DeviceRows,
    values: npt.NDArray[Any],
    factor: npt.NDArray[np.float64],
    norm: npt.NDArray[np.float64],
    tail: float,
    labels: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    first: int,
) -> DeviceRows:
    """Store at most BLOCK measured dense rows from record `first`, a multiple of it, on.

    Guarantee: record i is replaced by ``scale q``, a function of this record alone, with whole
    numbers ``|q| <= LARGEST``; ``squares`` is the sum of their squares, exactly. Records whose
    norm is not positive, NaN included, are inactive.
    Proof: docs/proofs/tensor_cores.md, "Rows".
    """
    missing = BLOCK - len(values)
    values, factor, norm, labels, weights = (
        np.pad(part, ((0, missing), *((0, 0),) * (part.ndim - 1)))
        for part in (values, factor, norm, labels, weights)
    )
    return DeviceRows(*_put(rows, values, factor, norm, tail, labels, weights, first))


def put_block(
    rows: DeviceRows, values: Any, factor: Any, norm: Any, tail: Any, labels: Any,
    weights: Any, first: Any,
) -> DeviceRows:  # fmt: skip
    """Put a whole block of rows that are on the device already into their places."""
    # As :func:`put_rows`; a missing row has norm 0.
    whole, scale = _whole_rows(values.astype(jnp.float64), factor, norm, tail)
    padded = 4 * rows.high.shape[1]
    whole = whole[:, :padded]  # without a constant column there may be no room for one
    whole = jnp.pad(whole, ((0, 0), (0, padded - whole.shape[1])))
    squares = jnp.sum(whole.astype(jnp.int64) ** 2, axis=1).astype(jnp.float64)
    facts = jnp.stack([scale, squares, labels, weights], axis=1)
    parts = (*(_words(limb) for limb in split(whole, 2)), facts)
    return DeviceRows(
        *(
            lax.dynamic_update_slice(to, part, (first, 0))
            for to, part in zip(rows, parts, strict=True)
        )
    )


_put = compiled(put_block, donate_argnums=0)


def _whole_rows(values: Any, factor: Any, norm: Any, tail: Any) -> tuple[Any, Any]:
    """Return rows with their constant column as whole numbers, and their scales."""
    active = norm > 0.0
    values = jnp.where(active[:, None], values, 0.0)
    largest = jnp.maximum(factor * jnp.max(jnp.abs(values), axis=1), jnp.abs(tail))
    active &= largest > _SHORTEST
    finest = LARGEST / jnp.where(active, largest, 1.0)
    entries = values * (factor * finest)[:, None]
    entries = jnp.concatenate([entries, (tail * finest)[:, None]], axis=1)
    whole = jnp.clip(jnp.round(entries), -LARGEST, LARGEST)
    whole = jnp.where(active[:, None], whole, 0.0).astype(jnp.int32)
    return whole, jnp.where(active, largest / LARGEST, 0.0)


def _words(limbs: Any) -> Any:
    """Return limbs of eight bits packed four to a word, to gather rows by words."""
    return lax.bitcast_convert_type(limbs.reshape(limbs.shape[0], -1, 4), jnp.int32)


def _limbs(words: Any) -> Any:
    return lax.bitcast_convert_type(words, jnp.int8).reshape(words.shape[0], -1)


def gather(rows: DeviceRows, ids: Any) -> Members:
    """Return the records of these numbers; an unused number gives an inactive one."""
    take = partial(jnp.take, indices=ids, axis=0, mode="fill", fill_value=0)
    facts = take(rows.facts)
    high, low = (_limbs(take(words)) for words in (rows.high, rows.low))
    return Members(
        high, low, facts[:, _SCALE], facts[:, _SQUARES], facts[:, _LABEL], facts[:, _WEIGHT]
    )


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

    ``unit (256 high + low)``, of shape (outputs, padded), is the vector to 2^-16 of its largest
    entry.
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

    All are int8 limbs, of shape (members, padded) and (outputs, padded). The result, of type
    `work`, is ``sum_j (256 h_j H_j + h_j L_j + l_j H_j)``, whole numbers of at most 2^38.

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
        columns = jnp.pad(columns, ((0, 0), (0, -(3 * outputs) % _EIGHT)))
        parts = [_product(columns, rows, (0, 0)) for rows in (high, low)]
    else:
        columns = jnp.concatenate([_turned(limb) for limb in limbs])
        parts = [_product(columns, _turned(rows), (1, 1)) for rows in (high, low)]
    wide = 256 * parts[0].astype(jnp.int64) + parts[1]
    first, second, third = (wide[k * outputs : (k + 1) * outputs] for k in range(3))
    return (first * 256 + second) * 256 + third


def _turned(matrix: Any) -> Any:
    return lax.optimization_barrier(matrix.T)
