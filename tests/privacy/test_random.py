import copy
import hashlib
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dpscd.errors import ParameterError, StreamError
from dpscd.privacy.random import Purpose, SecretSeed, SecureSource, SeededSource, source_for


def seeded():
    return SeededSource(b"a seed")


def test_the_same_seed_gives_the_same_words():
    np.testing.assert_array_equal(
        seeded().words(Purpose.NOISE, 0, 4, 6), seeded().words(Purpose.NOISE, 0, 4, 6)
    )


@pytest.mark.parametrize(
    "sources", [(seeded(), SeededSource(b"another")), (SecureSource(), SecureSource())]
)
def test_other_sources_give_other_words(sources):
    assert not np.isin(*(source.words(Purpose.NOISE, 0, 4, 6) for source in sources)).any()


def test_only_seeded_sources_say_so():
    assert seeded().seeded
    assert not SecureSource().seeded


@pytest.mark.parametrize("width", [1, 2, 5, 6])
def test_chunks_do_not_matter(width):
    whole = seeded().words(Purpose.LOTS, 0, 10, width)
    source = seeded()
    parts = [source.words(Purpose.LOTS, first, 5, width) for first in (0, 5)]
    assert whole.shape == (10, width)
    assert whole.dtype == np.uint64
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_steps_may_be_left_out():
    whole = seeded().words(Purpose.LOTS, 0, 10, 3)
    source = seeded()
    source.words(Purpose.LOTS, 0, 2, 3)
    np.testing.assert_array_equal(source.words(Purpose.LOTS, 7, 3, 3), whole[7:])


def test_no_word_occurs_twice_over_purposes_and_steps():
    source = seeded()
    words = np.concatenate([source.words(p, 0, 50, 7).ravel() for p in Purpose])
    assert len(np.unique(words)) == len(words)


def test_the_words_are_those_of_aes_in_counter_mode():
    key = hashlib.sha256(b"dpscd seed\0a seed").digest()
    first, steps, width = 3, 4, 5
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305 (the oracle)
    expected = []
    for step in range(first, first + steps):
        stream = b""
        for block in range(3):  # five words need three blocks of two
            counter = (int(Purpose.NOISE) << 120) + 3 * step + block
            stream += cipher.update(counter.to_bytes(16, "big"))
        expected.append(np.frombuffer(stream, dtype="<u8")[:width])
    found = seeded().words(Purpose.NOISE, first, steps, width)
    np.testing.assert_array_equal(found, expected)


def test_negative_steps_are_refused():
    with pytest.raises(StreamError, match="already used"):
        seeded().words(Purpose.LOTS, -1, 1, 3)


@pytest.mark.parametrize(
    ("first", "width", "words"),
    [(4, 3, "LOTS stream was already used"), (5, 4, "another width")],
)
def test_a_stream_never_goes_back_and_has_one_width(first, width, words):
    source = seeded()
    source.words(Purpose.LOTS, 0, 5, 3)
    with pytest.raises(StreamError, match=words):
        source.words(Purpose.LOTS, first, 1, width)
    source.words(Purpose.NOISE, 4, 1, 4)


@pytest.mark.parametrize("source", [seeded(), SecureSource()], ids=["seeded", "secure"])
@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_source_cannot_be_duplicated(source, duplicate):
    with pytest.raises(StreamError, match="copied or pickled"):
        duplicate(source)


def test_the_key_is_not_shown():
    assert repr(seeded()) == "SeededSource()"
    assert repr(SecureSource()) == "SecureSource()"


FORK = """
import os, sys
from dpscd.errors import StreamError
from dpscd.privacy.random import Purpose, SecureSource
source = SecureSource()
child = os.fork()
if child == 0:
    try:
        source.words(Purpose.NOISE, 0, 1, 2)
    except StreamError as error:
        os._exit(7 if "forked" in str(error) else 1)
    os._exit(0)
source.words(Purpose.NOISE, 0, 1, 2)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_cannot_draw():
    assert subprocess.run([sys.executable, "-c", FORK], check=False).returncode == 7


def test_a_source_belongs_to_the_process_that_made_it():
    source = seeded()
    source._process += 1  # as seen by any other process
    with pytest.raises(StreamError, match="forked process"):
        source.words(Purpose.NOISE, 0, 1, 2)


def first_words(source):
    return source.words(Purpose.NOISE, 0, 1, 4).tolist()


def test_none_means_the_operating_system():
    assert type(source_for(None)) is SecureSource


@pytest.mark.parametrize("state", [0, 7, -1, 2**80, np.int64(7), np.uint8(7)])
def test_an_integer_is_a_seed(state):
    assert source_for(state).seeded
    assert first_words(source_for(state)) == first_words(source_for(int(state)))
    assert first_words(source_for(state)) != first_words(source_for(8))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_is_drawn_from(make):
    state = make(5)
    first, second = source_for(state), source_for(state)
    assert first.seeded
    words = first_words(first)
    assert words == first_words(source_for(make(5)))
    assert words != first_words(second)


@pytest.mark.parametrize("state", [True, False, np.True_, 1.0, "7", b"7", [1], object()])
def test_anything_else_is_refused(state):
    with pytest.raises(ParameterError, match="random_state="):
        source_for(state)


@pytest.mark.parametrize(("steps", "width"), [(-5, 4), (1, 0)])
def test_an_impossible_request_changes_nothing(steps, width):
    source = seeded()
    source.words(Purpose.NOISE, 0, 5, 4)
    with pytest.raises(StreamError, match="cannot be drawn"):
        source.words(Purpose.NOISE, 5, steps, width)
    with pytest.raises(StreamError, match="already used"):
        source.words(Purpose.NOISE, 0, 1, 4)


def test_a_secret_seed_keys_a_stream_of_its_own():
    number, text = 2**120 + 1, bytes(range(16))
    known = [source_for(SecretSeed(x)) for x in (number, text)]
    assert all(source.seeded for source in known)
    first = [first_words(source) for source in known]
    assert first_words(source_for(SecretSeed(number))) == first[0]
    others = [source_for(number), source_for(SecretSeed(number), "fit"),
              source_for(SecretSeed(str(number).encode()))]  # fmt: skip
    every = [*first, *(first_words(source) for source in others)]
    assert len(set(map(str, every))) == len(every)


@pytest.mark.parametrize("value", [0, 2**95 - 1, b"", bytes(11), True, 1.5, "secret", None])
def test_a_secret_seed_that_could_be_found_is_refused(value):
    with pytest.raises(ParameterError, match="SecretSeed"):
        SecretSeed(value)


def test_a_secret_seed_is_neither_shown_nor_pickled():
    seed = SecretSeed(2**100 + 7)
    assert str(seed) == repr(seed) == f"{seed}" == "SecretSeed(...)"
    assert copy.deepcopy(seed) is seed
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(StreamError, match="pickled"):
            pickle.dumps(seed, protocol)
    with pytest.raises(AttributeError):
        seed.value = 1
