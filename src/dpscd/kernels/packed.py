"""The mechanism on packed records, in fixed point: a lot, or a chunk of lots, in one thread."""

import math

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit_inlined, jit_uncounted
from dpscd.kernels._memory import on_lines
from dpscd.kernels.dual import StepConstants
from dpscd.kernels.members import (
    Room,
    add_members,
    block_of,
    fill_models,
    new_room,
    several,
)
from dpscd.kernels.pack import Pack
from dpscd.kernels.packed_persons import add_persons
from dpscd.kernels.persons import Desk, Persons, new_desk
from dpscd.losses import Loss

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Cells = npt.NDArray[np.int64]


@jit_inlined
def release_cells(
    total: Ints, normals: Floats, constants: StepConstants, bits: int, shared: Floats
) -> None:
    """Add the exact sum of a lot, in cells, and its noise to the shared vector, on the grid.

    A grid has ``2^bits`` cells, with `bits` between 0 and 52. `shared` is changed in place.

    Guarantee: that of :func:`dpscd.kernels.dual.release`, on whole numbers of 64 bits.
    Requires: every coordinate, every step, empty lots too.
    """
    cell = math.ldexp(1.0, -bits)
    for j in range(shared.shape[0]):
        whole = total[j] >> bits
        rest = np.float64(total[j] - (whole << bits)) * cell
        moved = whole + math.floor(rest + constants.spread * normals[j] + 0.5)
        shared[j] += constants.grid * np.float64(moved)


@jit_inlined
def release_step(
    constants: StepConstants, t: int, normals: Floats, average_from: int, shared: Floats,
    average: Floats, total: Cells,
) -> None:  # fmt: skip
    """Release the sum of step t; add the shared vector to its average, from its step on."""
    width = shared.shape[1]
    bits = math.frexp(constants.grid / constants.cell)[1] - 1
    for k in range(shared.shape[0]):
        noise = normals[t, k * width : (k + 1) * width]
        release_cells(total[k], noise, constants, bits, shared[k])
        if t >= average_from:
            for j in range(width):
                average[k, j] += shared[k, j]


def room_for(
    pack: Pack, outputs: int, persons: tuple[Persons, ...]
) -> tuple[Room, tuple[Persons, Desk] | None]:
    """Return the workspace of members, and of persons if members are persons."""
    if not persons:
        return new_room(pack, outputs), None
    room = new_room(pack, outputs, persons[0].most)
    return room, (persons[0], new_desk(room.buffer.norm.shape[0], outputs, pack.padded))


# Kernels get all the room they need from those that call them, and allocate nothing; and what
# is for several outputs or for persons is left out of them where there is one output, or where
# members are records. The first fit waits for their compilation.


@jit_uncounted
def _add_lot(
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, dual: Floats, shared: Floats,
    total: Cells, room: Room, block: int, many: bool | None,
    persons: tuple[Persons, Desk] | None,
) -> None:  # fmt: skip
    fill_models(shared, constants.strength, room)
    if persons is not None:
        add_persons(loss, pack, constants, ids, *persons, room, dual, total, many)
    else:
        end = ids.shape[0]
        add_members(loss, pack, constants, ids, 0, end, end, block, room, dual, total, many)


def add_packed_lot(
    loss: Loss,
    pack: Pack,
    constants: StepConstants,
    ids: Ints,
    dual: Floats,
    shared: Floats,
    total: Cells,
    *persons: Persons,
) -> None:
    """Add the contributions of the members `ids` of one lot to `total`, and move their duals.

    The secret `dual`, of shape (records, outputs), and the int64 `total`, sums in cells of
    shape (outputs, padded), are changed in place; `shared` is as it was before the lot.
    `persons` is given if members are persons.

    Guarantee: that of :func:`~dpscd.kernels.block.solve_block` for every member that is a
    record, of :func:`~dpscd.kernels.packed_persons.add_persons` for every one that is a person.
    The total is exact, so parts of a lot may be added up anywhere; it is not yet noisy.
    """
    outputs = shared.shape[0]
    room, units = room_for(pack, outputs, persons)
    _add_lot(
        loss, pack, constants, ids, dual, shared, total, room, block_of(pack),
        several(outputs), units,
    )  # fmt: skip


@jit_uncounted
def _advance(
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, starts: Ints, normals: Floats,
    average_from: int, dual: Floats, shared: Floats, average: Floats, total: Cells, room: Room,
    block: int, many: bool | None, persons: tuple[Persons, Desk] | None,
) -> None:  # fmt: skip
    for t in range(starts.shape[0] - 1):
        fill_models(shared, constants.strength, room)
        for k in range(total.shape[0]):
            for j in range(total.shape[1]):
                total[k, j] = 0
        begin, end = starts[t], starts[t + 1]
        if persons is not None:
            add_persons(
                loss, pack, constants, ids[begin:end], *persons, room, dual, total, many
            )
        else:
            add_members(
                loss, pack, constants, ids, begin, end, end, block, room, dual, total, many
            )
        release_step(constants, t, normals, average_from, shared, average, total)


def advance_packed(
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
    *persons: Persons,
) -> None:
    """Run a chunk of steps on packed records, as :func:`dpscd.kernels.dual.advance` does.

    The grid has 2^0 to 2^52 cells; `persons` is given if members are persons.

    Guarantee: one step is the mechanism of docs/proofs/shared_vector.md.
    Requires: lots are Poisson and whole; normals are fresh; no more records than
    ``capacity_of``. All steps of a lot are computed from the shared vector as it was
    before the lot.
    """
    outputs = shared.shape[0]
    room, units = room_for(pack, outputs, persons)
    total = on_lines((outputs, pack.padded), np.int64)
    _advance(
        loss, pack, constants, ids, starts, normals, average_from, dual, shared, average,
        total, room, block_of(pack), several(outputs), units,
    )  # fmt: skip
