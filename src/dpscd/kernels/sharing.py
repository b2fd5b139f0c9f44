"""How threads share the members of a lot: every running thread takes work.

Every thread has a share of each lot and claims it block by block; a thread that is done with
its own share claims blocks of the others'. So a thread that other programs keep from running
delays nobody, unless it is in the middle of a block. A thread that waits longer than a block
takes gives up, and sleeps until the chunk of steps is done. All threads look at one array of
whole numbers, the gate.
"""

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit_inlined
from dpscd.kernels._memory import LINE, count_up, look, put, swap
from dpscd.late import register_jitable

Ints = npt.NDArray[np.int64]

#: Places in a gate: the step that is open; another than zero at CALLED_OFF sends all home.
STEP = 0
CALLED_OFF = 1

# The next step to be released, how many threads waited in vain, members of the chunk that are
# worked off, and for every thread the first member of its share that is not claimed and the
# last step it took part in, from 1. What is written often stands on lines of its own.
_RELEASED = 2
_IN_VAIN = 3
_DONE = LINE // 8
_SHARES = 2 * _DONE
_JOINED = 1


@register_jitable
def share_of(starts: Ints, t: int, part: int, parts: int) -> tuple[int, int]:
    """Return where a thread's share of the members of step t begins and ends."""
    size = starts[t + 1] - starts[t]
    return starts[t] + size * part // parts, starts[t] + size * (part + 1) // parts


@register_jitable
def open_step(gate: Ints, starts: Ints, t: int, parts: int) -> None:
    """Let members of step t be claimed; after the last step there are none."""
    if t + 1 < starts.shape[0]:
        for part in range(parts):
            put(gate, _SHARES + part * _DONE, share_of(starts, t, part, parts)[0])
    put(gate, STEP, t)


@jit_inlined
def go_home(gate: Ints) -> None:
    """Count a thread that waited in vain."""
    count_up(gate, _IN_VAIN, 1)


def went_home(gate: Ints) -> bool:
    """Return whether some thread waited in vain."""
    return bool(gate[_IN_VAIN] != 0)


def was_shared(gate: Ints, parts: int) -> bool:
    """Return whether several threads worked on a chunk and none waited in vain."""
    joined = gate[_SHARES + _JOINED :: _DONE]
    return bool(not went_home(gate) and np.count_nonzero(joined[:parts]) > 1)


def new_gate(starts: Ints, parts: int) -> Ints:
    """Return the gate of a chunk whose steps begin at `starts`, open for the first."""
    gate = np.zeros(_SHARES + parts * _DONE, np.int64)
    open_step(gate, starts, 0, parts)
    return gate


@jit_inlined
def claim(gate: Ints, part: int, begin: int, end: int, size: int) -> int:
    """Claim up to `size` members of a share; return the first, or `end` if none is left.

    Places in the list of all members only grow from step to step. So a claimed member was free,
    and its step stays open until it is done, however old the thread's view of the gate is.
    """
    place = _SHARES + part * _DONE
    first = look(gate, place)
    while begin <= first < end:
        if swap(gate, place, first, min(first + size, end)):
            return first
        first = look(gate, place)
    return end


@jit_inlined
def take_part(gate: Ints, part: int, t: int) -> None:
    """Record that a thread has a sum of its own in step t, before its members count as done."""
    gate[_SHARES + part * _DONE + _JOINED] = t + 1


@jit_inlined
def in_step(gate: Ints, part: int, t: int) -> bool:
    """Return whether a thread has a sum of its own in step t."""
    return gate[_SHARES + part * _DONE + _JOINED] == t + 1


@jit_inlined
def done(gate: Ints, members: int) -> None:
    """Count members as done: their contributions are in a sum, and their duals have moved."""
    count_up(gate, _DONE, members)


@jit_inlined
def mine_to_release(gate: Ints, starts: Ints, t: int) -> bool:
    """Return whether all members of step t are done and this thread is to release it.

    Guarantee: true for one thread and once for every step.
    """
    if look(gate, _DONE) < starts[t + 1] - starts[0]:
        return False
    return swap(gate, _RELEASED, t, t + 1)
