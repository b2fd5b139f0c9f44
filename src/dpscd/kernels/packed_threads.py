"""The mechanism on packed records in threads: each does a part of every step.

A thread claims its share of a lot block by block, then blocks of other shares, so one that is
kept from running delays nobody. All threads look at one array of whole numbers, the state.
"""

import numpy as np

from dpscd.kernels._jit import jit_inlined, jit_uncounted
from dpscd.kernels._memory import LINE, count_up, look, put, swap
from dpscd.kernels.dual import StepConstants
from dpscd.kernels.pack import Pack, Workspace, add_members, block_of, fill_models, several
from dpscd.kernels.packed import add_persons, release_step, workspace_for
from dpscd.kernels.persons import PersonBlocks, Persons
from dpscd.kernels.rows import Floats, Ints
from dpscd.late import register_jitable
from dpscd.losses import Loss

#: Places in the state: the step that is open; threads return if CANCELLED is not zero.
STEP = 0
CANCELLED = 1

# The next step to be released, how many threads gave up, members of the chunk that are done,
# and for every thread the first member of its share that is not claimed and the
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
def open_step(state: Ints, starts: Ints, t: int, parts: int) -> None:
    """Let members of step t be claimed; after the last step there are none."""
    if t + 1 < starts.shape[0]:
        for part in range(parts):
            put(state, _SHARES + part * _DONE, share_of(starts, t, part, parts)[0])
    put(state, STEP, t)


def gave_up(state: Ints) -> bool:
    """Return whether some thread gave up waiting."""
    return bool(state[_IN_VAIN] != 0)


def was_shared(state: Ints, parts: int) -> bool:
    """Return whether several threads worked on a chunk and none gave up."""
    joined = state[_SHARES + _JOINED :: _DONE]
    return bool(not gave_up(state) and np.count_nonzero(joined[:parts]) > 1)


def new_state(starts: Ints, parts: int) -> Ints:
    """Return the state of a chunk whose steps begin at `starts`, open for the first."""
    state = np.zeros(_SHARES + parts * _DONE, np.int64)
    open_step(state, starts, 0, parts)
    return state


@jit_inlined
def claim(state: Ints, part: int, begin: int, end: int, size: int) -> int:
    """Claim up to `size` members of a share; return the first, or `end` if none is left.

    Places only grow from step to step: a claimed member was free, however old a thread's view
    is.
    """
    place = _SHARES + part * _DONE
    first = look(state, place)
    while begin <= first < end:
        if swap(state, place, first, min(first + size, end)):
            return first
        first = look(state, place)
    return end


@jit_inlined
def take_part(state: Ints, part: int, t: int) -> None:
    """Record that a thread has a sum of its own in step t, before its members count as done."""
    state[_SHARES + part * _DONE + _JOINED] = t + 1


@jit_inlined
def in_step(state: Ints, part: int, t: int) -> bool:
    """Return whether a thread has a sum of its own in step t."""
    return state[_SHARES + part * _DONE + _JOINED] == t + 1


@jit_inlined
def done(state: Ints, members: int) -> None:
    """Count members as done: their contributions are in a sum, and their duals have moved."""
    count_up(state, _DONE, members)


@jit_inlined
def mine_to_release(state: Ints, starts: Ints, t: int) -> bool:
    """Return whether all members of step t are done and this thread is to release it.

    Guarantee: true for one thread and once for every step.
    """
    if look(state, _DONE) < starts[t + 1] - starts[0]:
        return False
    return swap(state, _RELEASED, t, t + 1)


# Looks at the state, besides those that a block may take, before a thread gives up: some tens
# of microseconds. And parts of a share that are claimed one by one if members are persons.
_PATIENCE = 2**14
_CLAIMS = 4


@jit_inlined
def _join(t: int, part: int, totals: Ints, state: Ints) -> None:
    """Add the sums of all threads of step t to this thread's sum."""
    total = totals[part]
    joined = in_step(state, part, t)
    for k in range(total.shape[0]):
        # Loops, not whole slices: those make copies, and messages for wrong shapes that
        # take longer to compile than the rest of this function.
        if not joined:
            for j in range(total.shape[1]):
                total[k, j] = 0
        for other in range(totals.shape[0]):
            if other != part and in_step(state, other, t):
                for j in range(total.shape[1]):
                    total[k, j] += totals[other, k, j]


@jit_uncounted
def _advance_part(
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, starts: Ints, normals: Floats,
    average_from: int, dual: Floats, shared: Floats, average: Floats, part: int, totals: Ints,
    state: Ints, work: Workspace, block: int, many: bool | None,
    persons: tuple[Persons, PersonBlocks] | None,
) -> None:  # fmt: skip
    outputs, parts = shared.shape[0], totals.shape[0]
    own = totals[part]
    # A look takes about as long as some entries of a row: so long may a block of another take.
    most = work.buffer.norm.shape[0]
    patience = _PATIENCE + outputs * pack.padded * (most + parts)
    t, last = look(state, STEP), starts.shape[0] - 1
    while t < last and look(state, CANCELLED) == 0:
        worked = 0
        for turn in range(parts):
            whose = (part + turn) % parts
            begin, end = share_of(starts, t, whose, parts)
            size = block if persons is None else max(1, (end - begin) // _CLAIMS)
            first = claim(state, whose, begin, end, size)
            while first < end:
                if worked == 0:
                    take_part(state, part, t)
                    fill_models(shared, constants.strength, work)
                    for k in range(outputs):
                        for j in range(pack.padded):
                            own[k, j] = 0
                until = min(first + size, end)
                worked += until - first
                if persons is not None:
                    add_persons(
                        loss, pack, constants, ids[first:until], *persons, work, dual, own, many
                    )
                else:
                    after = until
                    if until == end and t + 1 < last:
                        after = share_of(starts, t + 1, part, parts)[0]
                    add_members(
                        loss, pack, constants, ids, first, until, after, block, work, dual, own,
                        many,
                    )  # fmt: skip
                first = claim(state, whose, begin, end, size)
        if worked > 0:
            done(state, worked)
        looks = 0
        while look(state, STEP) == t:
            if mine_to_release(state, starts, t):
                _join(t, part, totals, state)
                release_step(constants, t, normals, average_from, shared, average, own)
                open_step(state, starts, t + 1, parts)
            elif looks > patience or look(state, CANCELLED) != 0:
                count_up(state, _IN_VAIN, 1)  # the thread that this one waited for goes on
                return
            looks += 1
        t = look(state, STEP)


def advance_part(
    loss: Loss,
    pack: Pack,
    constants: StepConstants,
    ids: Ints,
    starts: Ints,
    normals: Floats,
    average_from: int,
    dual: Floats,
    shared: Floats,
    average: Floats,
    part: int,
    totals: Ints,
    state: Ints,
    *persons: Persons,
) -> None:
    """Do the part of thread number `part` of a chunk of steps, beside other threads.

    Other parameters are those of :func:`~dpscd.kernels.packed.advance_packed`, buffers `totals`
    of shape (threads, outputs, padded), and the state. The thread that sees that all members
    are done releases the sum. A thread returns when the last step is done, when all are
    cancelled, or when it waited too long for another one, which then goes on.

    Guarantee: one step is the mechanism of docs/proofs/shared_vector.md, whichever threads take
    part: the shared vector is written when all members of the open step are done, once.
    """
    outputs = shared.shape[0]
    work, units = workspace_for(pack, outputs, persons)
    _advance_part(
        loss, pack, constants, ids, starts, normals, average_from, dual, shared, average, part,
        totals, state, work, block_of(pack), several(outputs), units,
    )  # fmt: skip
