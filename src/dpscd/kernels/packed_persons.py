"""Packed persons in a lot: the rows of a person step together, under one clip."""

import numpy as np
import numpy.typing as npt

from dpscd.kernels.block import BlockBuffer, cut_steps, move_duals, step_block
from dpscd.kernels.dual import StepConstants
from dpscd.kernels.members import Room, add_outputs, read_members
from dpscd.kernels.pack import Pack
from dpscd.kernels.persons import Desk, Persons, first_factors, gather, shorten_sum, weigh
from dpscd.late import register_jitable
from dpscd.losses import Loss

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@register_jitable
def _add_joint(
    pack: Pack, constants: StepConstants, ids: Ints, first: int, last: int, own: Ints,
    buffer: BlockBuffer, total: Ints, many: bool | None,
) -> None:  # fmt: skip
    """Add the contribution of a person, rows `first` to `last` of a block, as one vector."""
    for k in range(total.shape[0]):
        for j in range(own.shape[1]):
            own[k, j] = 0
    add_outputs(pack, ids[first:last], buffer.cells, first, own, many)
    factor = shorten_sum(own, constants)
    for k in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[k, j] += own[k, j]
        for b in range(first, last):
            buffer.steps[k, b] *= factor


@register_jitable
def add_persons(
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, persons: Persons, desk: Desk,
    room: Room, dual: Floats, total: Ints, many: bool | None = None,
) -> None:  # fmt: skip
    """Add the contributions of persons to `total`, each at most the clip; move their duals.

    Guarantee: that of :func:`~dpscd.kernels.persons.first_factors` for persons whose lengths
    add up to no more than the clip, of :func:`~dpscd.kernels.persons.shorten_sum` for others.
    """
    buffer = room.buffer
    place, done = 0, 0
    taken, count = gather(persons, ids, 0, desk.rows[0], desk.ends[0])
    while taken > 0:
        rows, ends = desk.rows[place, :count], desk.ends[place, :taken]
        done, place = done + taken, 1 - place
        taken, count = gather(persons, ids, done, desk.rows[place], desk.ends[place])
        read_members(pack, rows, desk.rows[place, :count], room, dual, many)
        weigh(ends, buffer)
        step_block(loss, constants, rows.shape[0], buffer)
        first_factors(constants, ends, buffer, desk.joint)
        cut_steps(constants, rows.shape[0], buffer)
        # Persons that need no common clip are added together, as far as they are neighbours.
        begin, last = 0, 0
        for p in range(ends.shape[0]):
            first, last = last, ends[p]
            if desk.joint[p]:
                add_outputs(pack, rows[begin:first], buffer.cells, begin, total, many)
                _add_joint(pack, constants, rows, first, last, desk.own, buffer, total, many)
                begin = last
        add_outputs(pack, rows[begin:last], buffer.cells, begin, total, many)
        move_duals(rows.shape[0], buffer)
        for k in range(total.shape[0]):
            for b in range(rows.shape[0]):
                dual[rows[b], k] = buffer.duals[k, b]
