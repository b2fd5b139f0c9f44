"""Words of ChaCha20, and lots and normals as they are made of them."""

import struct
from fractions import Fraction
from functools import partial

import device_checks as checks
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from hypothesis import given
from hypothesis import strategies as st

from dpscd.device.backend import compiled
from dpscd.device.random import (
    LEVEL,
    LOTS,
    NORMALS,
    chacha_blocks,
    draw_lot,
    draw_normals,
    key_of,
    list_members,
    normal_pairs,
    random_words,
    threshold_of,
)
from dpscd.kernels.draws import LARGEST_NORMAL, NORMAL_ERROR, PAIR_WORDS, fill_normals
from drawn import FULL, exact_normals

pytestmark = pytest.mark.usefixtures("exact")

ROOM, COUNT, BLOCK = 4096, 3000, 64
SECRET = bytes(range(100, 132))

blocks = compiled(chacha_blocks)
words = compiled(random_words, static_argnums=(1, 3))
lot = compiled(partial(draw_lot, room=ROOM, block=BLOCK))
members = compiled(partial(list_members, block=BLOCK))
normals = compiled(draw_normals, static_argnums=2)
pairs = compiled(normal_pairs)


def keystream(secret, counter, nonce, size):
    """Return bytes of the stream, by another hand."""
    start = struct.pack("<4L", counter, *nonce)
    return Cipher(ChaCha20(secret, start), mode=None).encryptor().update(bytes(64 * size))


def stream(secret, purpose, step, count):
    """Return the words that a purpose and a step have, block by block."""
    found = keystream(secret, 0, (purpose, step, 0), count)
    return np.frombuffer(found, "<u4").reshape(count, 16)


# --- ChaCha20 -----------------------------------------------------------------------------


def failed(check):
    return [found for found in check() if not found.passed]


def test_blocks_are_those_of_the_standard():
    assert failed(checks.stream) == []


@given(
    secret=st.binary(min_size=32, max_size=32),
    counter=st.integers(0, 2**32 - 1),
    nonce=st.tuples(*[st.integers(0, 2**32 - 1)] * 3),
)
def test_blocks_are_those_of_another_hand(secret, counter, nonce):
    given = tuple(np.uint32(word) for word in nonce)
    found = blocks(key_of(secret), np.array([counter], np.uint32), given)
    assert np.asarray(found)[:, 0].astype("<u4").tobytes() == keystream(
        secret, counter, nonce, 1
    )


@pytest.mark.full
@pytest.mark.parametrize("purpose", [LOTS, NORMALS])
@pytest.mark.parametrize("step", [0, 1, 2**31, 2**32 - 1])
def test_purpose_and_step_are_the_nonce_and_the_counter_counts_blocks(purpose, step):
    found = np.asarray(words(key_of(SECRET), purpose, np.int64(step), 32))
    np.testing.assert_array_equal(found.T, stream(SECRET, purpose, step, 32))


def test_no_purpose_and_step_have_words_of_another():
    key, found = key_of(SECRET), []
    for purpose in (LOTS, NORMALS):
        found += [np.asarray(words(key, purpose, np.int64(t), 32)).T for t in range(40)]
    # Equal pairs of words in the same place: one among 2^64 by chance.
    all_pairs = np.ascontiguousarray(np.concatenate(found)).view(np.uint64)
    assert len(np.unique(all_pairs)) == all_pairs.size


# --- lots ---------------------------------------------------------------------------------


@given(st.floats(2.0**-32, 1.0))
def test_a_rate_is_rounded_down_to_words(rate):
    chance = Fraction(threshold_of(rate) + 1, 2**32)
    assert chance <= Fraction(rate) < chance + Fraction(1, 2**32)
    assert 0 < chance <= 1


def test_rates_at_the_ends():
    assert threshold_of(1.0) == 2**32 - 1
    assert threshold_of(2.0**-32) == 0
    assert threshold_of(2.0**-31 - 2.0**-50) == 0
    for small in (2.0**-32 - 2.0**-60, 0.0):
        with pytest.raises(ValueError, match="below"):
            threshold_of(small)


@pytest.mark.parametrize("step", [0, 77])
@pytest.mark.parametrize("rate", [2.0**-32, 0.05, 0.7, 1.0])
def test_members_are_the_records_whose_word_is_small(step, rate):
    limit = threshold_of(rate)
    found, size = lot(key_of(SECRET), step, np.uint32(limit), np.int64(COUNT))
    # Record i has word i / (number of blocks) of block i % (number of blocks).
    drawn = stream(SECRET, LOTS, step, ROOM // 16).T.ravel()[:COUNT]
    expected = np.flatnonzero(drawn <= limit)
    assert int(size) == len(expected)
    np.testing.assert_array_equal(np.asarray(found)[: len(expected)], expected)
    assert (len(expected) == COUNT) == (rate == 1.0)


@pytest.mark.parametrize("part", [0.0, 0.001, 0.5, 1.0])
def test_a_lot_is_listed_in_order_and_never_cut(part):
    joined = np.random.default_rng(1).random(4 * LEVEL) < part
    found, size = (np.asarray(x) for x in members(joined))
    expected = np.flatnonzero(joined)
    assert size == len(expected)
    np.testing.assert_array_equal(found[:size], expected)
    # What stands behind is nobody, all different, for a whole block at least.
    rest = found[size:]
    assert len(rest) >= BLOCK
    assert rest.min() >= len(joined)
    assert (np.diff(rest) > 0).all()


@pytest.mark.full
def test_lots_follow_their_law():
    """Five tests, each with false alarms of less than 1e-6 for a fresh key; this is fixed."""
    assert failed(checks.lots) == []


# --- normals ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, pytest.param(12, marks=pytest.mark.full)])
def test_normals_are_those_of_the_processor_from_the_same_words(size):
    step, count = 9, -(-size // 4)
    # A pair has eight words, so a block has two pairs: first halves first.
    drawn = stream(SECRET, NORMALS, step, count)
    halves = np.concatenate([drawn[:, :8], drawn[:, 8:]])
    expected = np.empty((1, 4 * count))
    fill_normals(np.ascontiguousarray(halves).view(np.uint64).reshape(1, -1), expected)
    found = np.asarray(normals(key_of(SECRET), step, size))
    assert found.shape == (size,)
    np.testing.assert_allclose(found, expected[0, :size], rtol=0.0, atol=NORMAL_ERROR / 4)


def test_normals_are_exact_ones_but_for_their_error():
    rng = np.random.default_rng(3)
    ends = [FULL, FULL - 1, 0, 1, 1 << 63, (1 << 63) + 1, 2047, 1 << 20]
    given = rng.integers(0, FULL, (600, PAIR_WORDS), np.uint64, endpoint=True)
    chosen = rng.random(given.shape) < 0.4
    given[chosen] = rng.choice(np.array(ends, np.uint64), chosen.sum())
    given[:40, 0] = 0  # the second word gives the exponent
    found = np.stack([np.asarray(x) for x in pairs(*map(jnp.asarray, given.T))], axis=1)
    assert np.abs(found).max() <= LARGEST_NORMAL
    with mpmath.workdps(60):
        for pair, four in zip(found, given.tolist(), strict=True):
            for one, exact in zip(pair, exact_normals(*four), strict=True):
                assert abs(one - exact) <= NORMAL_ERROR / 2
                # Small ones have full relative precision too.
                assert abs(one - exact) <= 32 * mpmath.mpf(2) ** -53 * abs(exact)


@pytest.mark.full
def test_normals_follow_their_law():
    """Each test has false alarms of less than 1e-6 for a fresh key; this one is fixed."""
    assert failed(checks.normals) == []
