"""ChaCha20 (RFC 8439) as array code: random words on the device."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

__all__ = ["LOTS", "NORMALS", "chacha_blocks", "key_of", "random_words"]

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

    `key` is eight words, secret and drawn for one training; `purpose` is LOTS or NORMALS;
    `step` and `count` are below 2^32.

    Notes
    -----
    Guarantee: purpose and step are the nonce and the block its counter, so no two words of a
    training come from the same place of the stream.
    Requires: the key is used for one training only.
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
