"""Poisson lots on the device: one random word per record and step."""

from typing import Any

import jax.numpy as jnp

from dpscd.device.chacha import LOTS, random_words

__all__ = ["LEVEL", "draw_lot", "list_members", "threshold_of"]

#: Records are numbered up to a multiple of this.
LEVEL = 1024


def threshold_of(rate: float) -> int:
    """Return the largest word of a member: the rate rounded down to 2^-32.

    Raises ValueError for rates that would round to zero.

    Notes
    -----
    Guarantee: a uniform word is at most this with a chance of ``floor(rate 2^32) 2^-32``,
    exactly, which is no more than `rate`.
    """
    chances = int(rate * 2.0**32)  # a product with a power of two is exact
    if chances < 1:
        raise ValueError("the rate is below 2^-32")
    return chances - 1


def draw_lot(key: Any, step: Any, threshold: Any, count: Any, room: int, block: int) -> Any:
    """Return the members of one lot, and their number.

    `threshold` is :func:`threshold_of`'s, `room` is `count` rounded up to a multiple of LEVEL,
    and `block` members are processed together.

    Notes
    -----
    Guarantee: every record is a member independently, with the same chance, to the last bit;
    bits depend on neither data nor noise. A lot is never cut: all records could be members.
    Proof: docs/proofs/tensor_cores.md, "Lots".
    """
    words = random_words(key, LOTS, step, room // 16).reshape(-1)
    joined = (words <= threshold) & (jnp.arange(room) < count)
    return list_members(joined, block)


def list_members(joined: Any, block: int) -> Any:
    """Return the places of true bits in order, and their number.

    They are followed by as many different numbers as needed that are not places.
    """
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
