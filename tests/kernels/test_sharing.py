"""Claims: every member once, every step released once, whoever comes when."""

import inspect
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpscd.kernels import _llvm, _memory, packed_threads
from dpscd.kernels.packed_threads import (
    STEP,
    claim,
    done,
    in_step,
    mine_to_release,
    new_state,
    open_step,
    share_of,
    take_part,
    was_shared,
)
from dpscd.late import COMPILED

LOTS = st.lists(st.integers(0, 30), min_size=1, max_size=6)


@given(sizes=LOTS, parts=st.integers(1, 5), begin=st.integers(0, 9))
def test_shares_are_the_lot(sizes, parts, begin):
    starts = begin + np.cumsum([0, *sizes])
    for t in range(len(sizes)):
        shares = [share_of(starts, t, part, parts) for part in range(parts)]
        assert shares[0][0] == starts[t]
        assert shares[-1][1] == starts[t + 1]
        assert all(one[1] == other[0] for one, other in pairwise(shares))


@given(sizes=LOTS, parts=st.integers(1, 4), size=st.integers(1, 9), seed=st.integers(0, 99))
def test_every_member_is_claimed_once_and_every_step_released_once(sizes, parts, size, seed):
    """Threads that stop anywhere and go on later, with what they saw of the state before."""
    starts = np.cumsum([0, *sizes])
    state = new_state(starts, parts)
    rng = random.Random(seed)  # noqa: S311 - nothing is drawn but turns
    claimed, released = [], []
    held = [0] * parts  # members that a thread has claimed and not delivered
    seen = [0] * parts  # the step that a thread believes to be open
    while state[STEP] < len(sizes):
        part = rng.randrange(parts)
        t = seen[part]
        move = rng.randrange(4)
        if move == 0:
            seen[part] = int(state[STEP])
        elif move == 1:
            whose = rng.randrange(parts)
            begin, end = share_of(starts, t, whose, parts)
            first = claim(state, whose, begin, end, size)
            members = range(first, min(first + size, end))
            assert not members or t == state[STEP]
            claimed += members
            held[part] += len(members)
        elif move == 2:
            done(state, held[part])
            held[part] = 0
        elif held[part] == 0 and mine_to_release(state, starts, t):
            assert t == state[STEP]
            assert sorted(claimed) == list(range(starts[t + 1]))
            assert not any(held)
            assert not mine_to_release(state, starts, t)
            released.append(t)
            open_step(state, starts, t + 1, parts)
    assert released == list(range(len(sizes)))


def test_sums_count_in_the_step_they_were_made_for():
    state = new_state(np.array([0, 4, 8]), 2)
    take_part(state, 1, 0)
    assert in_step(state, 1, 0)
    assert not in_step(state, 0, 0)
    assert not in_step(state, 1, 1)
    assert not was_shared(state, 2)
    take_part(state, 0, 1)
    assert was_shared(state, 2)


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ("_look", "shared place"),
        ("_put", "shared place value"),
        ("_count_up", "shared place more"),
        ("_swap", "shared place before after"),
        ("_prefetch", "matrix row size"),
    ],
)
def test_the_compiler_gets_what_stands_for_the_function(rule, names):
    # Compiled code comes from a cache, so that this is not seen otherwise.
    given = getattr(_llvm, rule)(*[None] * len(names.split()))
    assert list(inspect.signature(given).parameters) == names.split()


@pytest.mark.skipif(COMPILED, reason="compiled code has its own exchange")
def test_who_is_beaten_to_a_block_claims_the_next(monkeypatch):
    starts = np.array([0, 20])
    state = new_state(starts, 1)

    def beaten(shared, place, before, after):
        monkeypatch.setattr(packed_threads, "swap", _memory.swap)
        assert _memory.swap(shared, place, before, after)  # by another thread
        return False

    monkeypatch.setattr(packed_threads, "swap", beaten)
    assert claim(state, 0, 0, 20, 8) == 8
    assert claim(state, 0, 0, 20, 8) == 16
    assert claim(state, 0, 0, 20, 8) == 20
