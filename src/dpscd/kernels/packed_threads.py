"""The mechanism on packed records in threads: each does a part of every step."""

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit_inlined, jit_uncounted
from dpscd.kernels._memory import look
from dpscd.kernels.dual import StepConstants
from dpscd.kernels.members import Room, add_members, block_of, fill_models, several
from dpscd.kernels.pack import Pack
from dpscd.kernels.packed import release_step, room_for
from dpscd.kernels.packed_persons import add_persons
from dpscd.kernels.persons import Desk, Persons
from dpscd.kernels.sharing import (
    CALLED_OFF,
    STEP,
    claim,
    done,
    go_home,
    in_step,
    mine_to_release,
    open_step,
    share_of,
    take_part,
)
from dpscd.losses import Loss

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Cells = npt.NDArray[np.int64]

# Looks at the gate, besides those that a block may take, before a thread goes home: some tens
# of microseconds. And parts of a share that are claimed one by one if members are persons.
_PATIENCE = 2**14
_CLAIMS = 4


@jit_inlined
def _join(t: int, part: int, totals: Cells, gate: Ints) -> None:
    """Add the sums of all threads of step t to this thread's sum."""
    total = totals[part]
    joined = in_step(gate, part, t)
    for k in range(total.shape[0]):
        # Loops, not whole slices: those make copies, and messages for wrong shapes that
        # take longer to compile than the rest of this function.
        if not joined:
            for j in range(total.shape[1]):
                total[k, j] = 0
        for other in range(totals.shape[0]):
            if other != part and in_step(gate, other, t):
                for j in range(total.shape[1]):
                    total[k, j] += totals[other, k, j]


@jit_uncounted
def _advance_part(
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, starts: Ints, normals: Floats,
    average_from: int, dual: Floats, shared: Floats, average: Floats, part: int, totals: Cells,
    gate: Ints, room: Room, block: int, many: bool | None,
    persons: tuple[Persons, Desk] | None,
) -> None:  # fmt: skip
    outputs, parts = shared.shape[0], totals.shape[0]
    own = totals[part]
    # A look takes about as long as some entries of a row: so long may a block of another take.
    most = room.buffer.norm.shape[0]
    patience = _PATIENCE + outputs * pack.padded * (most + parts)
    t, last = look(gate, STEP), starts.shape[0] - 1
    while t < last and look(gate, CALLED_OFF) == 0:
        worked = 0
        for turn in range(parts):
            whose = (part + turn) % parts
            begin, end = share_of(starts, t, whose, parts)
            size = block if persons is None else max(1, (end - begin) // _CLAIMS)
            first = claim(gate, whose, begin, end, size)
            while first < end:
                if worked == 0:
                    take_part(gate, part, t)
                    fill_models(shared, constants.strength, room)
                    for k in range(outputs):
                        for j in range(pack.padded):
                            own[k, j] = 0
                until = min(first + size, end)
                worked += until - first
                if persons is not None:
                    add_persons(
                        loss, pack, constants, ids[first:until], *persons, room, dual, own, many
                    )
                else:
                    after = until
                    if until == end and t + 1 < last:
                        after = share_of(starts, t + 1, part, parts)[0]
                    add_members(
                        loss, pack, constants, ids, first, until, after, block, room, dual, own,
                        many,
                    )  # fmt: skip
                first = claim(gate, whose, begin, end, size)
        if worked > 0:
            done(gate, worked)
        looks = 0
        while look(gate, STEP) == t:
            if mine_to_release(gate, starts, t):
                _join(t, part, totals, gate)
                release_step(constants, t, normals, average_from, shared, average, own)
                open_step(gate, starts, t + 1, parts)
            elif looks > patience or look(gate, CALLED_OFF) != 0:
                go_home(gate)  # the thread that this one waited for goes on
                return
            looks += 1
        t = look(gate, STEP)


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
    totals: Cells,
    gate: Ints,
    *persons: Persons,
) -> None:
    """Do one thread's part of a chunk of steps, beside other threads.

    Each thread adds up members that it claims (:mod:`dpscd.kernels.sharing`). The thread that
    sees that all are done releases the sum, and the next step begins. Sums of whole numbers do
    not depend on how they are shared. A thread returns when the last step is done, when the
    gate is called off, or when it waited too long for another one, which then goes on.
    Parameters are those of :func:`~dpscd.kernels.packed.advance_packed`, the number `part` of
    this thread, buffers `totals` of shape (threads, outputs, padded), and the gate.

    Guarantee: one step is the mechanism of docs/proofs/shared_vector.md, whichever threads take
    part: the shared vector is written when all members of the open step are done, once.
    """
    outputs = shared.shape[0]
    room, units = room_for(pack, outputs, persons)
    _advance_part(
        loss, pack, constants, ids, starts, normals, average_from, dual, shared, average, part,
        totals, gate, room, block_of(pack), several(outputs), units,
    )  # fmt: skip
