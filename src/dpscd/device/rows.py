"""Records on the device: rows of 16 bits in two limbs, and four facts of each record."""

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax

from dpscd.device.backend import compiled
from dpscd.device.limbs import LARGEST, split

#: Rows that are brought to the device at once.
BLOCK = 4096

# Limbs of a row are padded with zeros to a multiple of this many.
_ALIGNED = 32
# Rows whose largest entry is not above this count as empty, as in dpscd.kernels.pack.
_SHORTEST = 2.0**-900

_SCALE, _SQUARES, _LABEL, _WEIGHT = range(4)


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
    """Store measured dense rows, the records from `first` on; the arrays of `rows` are used up.

    At most BLOCK rows, as in :class:`dpscd.kernels.rows.DenseRows`; `first` is a multiple of
    BLOCK.

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
