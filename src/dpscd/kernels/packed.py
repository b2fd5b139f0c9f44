"""The mechanism on packed records, in fixed point: a lot, or a chunk of lots, in one thread."""

import math

import numpy as np

from dpscd.kernels._jit import jit_inlined, jit_uncounted
from dpscd.kernels.dual import (
    BlockBuffer,
    StepConstants,
    cut_steps,
    move_duals,
    on_lines,
    step_block,
)
from dpscd.kernels.pack import (
    Pack,
    Workspace,
    add_members,
    add_outputs,
    block_of,
    fill_models,
    new_workspace,
    read_members,
    several,
)
from dpscd.kernels.persons import (
    PersonBlocks,
    Persons,
    first_factors,
    gather,
    new_person_blocks,
    shorten_sum,
    weigh,
)
from dpscd.kernels.rows import Floats, Ints
from dpscd.late import register_jitable
from dpscd.losses import Loss


@jit_inlined
def release_cells(
    total: Ints, normals: Floats, constants: StepConstants, bits: int, shared: Floats
) -> None:
    """Add the exact sum of a lot, in cells, and its noise to the shared vector, on the grid.

    Guarantee: that of :func:`dpscd.kernels.dual.release`, on whole numbers of 64 bits, a grid
    having ``2^bits`` cells with `bits` between 0 and 52.
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
    average: Floats, total: Ints,
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


def workspace_for(
    pack: Pack, outputs: int, persons: tuple[Persons, ...]
) -> tuple[Workspace, tuple[Persons, PersonBlocks] | None]:
    """Return the workspace of members, and of persons if members are persons."""
    if not persons:
        return new_workspace(pack, outputs), None
    work = new_workspace(pack, outputs, persons[0].most)
    return work, (
        persons[0],
        new_person_blocks(work.buffer.norm.shape[0], outputs, pack.padded),
    )


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
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, persons: Persons,
    blocks: PersonBlocks, work: Workspace, dual: Floats, total: Ints, many: bool | None = None,
) -> None:  # fmt: skip
    """Add the contributions of persons to `total`, each at most the clip; move their duals.

    Guarantee: that of :func:`~dpscd.kernels.persons.first_factors` for persons whose lengths
    add up to no more than the clip, of :func:`~dpscd.kernels.persons.shorten_sum` for others.
    """
    buffer = work.buffer
    place, done = 0, 0
    taken, count = gather(persons, ids, 0, blocks.rows[0], blocks.ends[0])
    while taken > 0:
        rows, ends = blocks.rows[place, :count], blocks.ends[place, :taken]
        done, place = done + taken, 1 - place
        taken, count = gather(persons, ids, done, blocks.rows[place], blocks.ends[place])
        read_members(pack, rows, blocks.rows[place, :count], work, dual, many)
        weigh(ends, buffer)
        step_block(loss, constants, rows.shape[0], buffer)
        first_factors(constants, ends, buffer, blocks.joint)
        cut_steps(constants, rows.shape[0], buffer)
        # Persons that need no common clip are added together, as far as they are neighbours.
        begin, last = 0, 0
        for p in range(ends.shape[0]):
            first, last = last, ends[p]
            if blocks.joint[p]:
                add_outputs(pack, rows[begin:first], buffer.cells, begin, total, many)
                _add_joint(pack, constants, rows, first, last, blocks.own, buffer, total, many)
                begin = last
        add_outputs(pack, rows[begin:last], buffer.cells, begin, total, many)
        move_duals(rows.shape[0], buffer)
        for k in range(total.shape[0]):
            for b in range(rows.shape[0]):
                dual[rows[b], k] = buffer.duals[k, b]


# Kernels get the workspace they need from those that call them, and allocate nothing; and what
# is for several outputs or for persons is left out of them where there is one output, or where
# members are records. The first fit waits for their compilation.


@jit_uncounted
def _add_lot(
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, dual: Floats, shared: Floats,
    total: Ints, work: Workspace, block: int, many: bool | None,
    persons: tuple[Persons, PersonBlocks] | None,
) -> None:  # fmt: skip
    fill_models(shared, constants.strength, work)
    if persons is not None:
        add_persons(loss, pack, constants, ids, *persons, work, dual, total, many)
    else:
        end = ids.shape[0]
        add_members(loss, pack, constants, ids, 0, end, end, block, work, dual, total, many)


def add_packed_lot(
    loss: Loss,
    pack: Pack,
    constants: StepConstants,
    ids: Ints,
    dual: Floats,
    shared: Floats,
    total: Ints,
    *persons: Persons,
) -> None:
    """Add the contributions of the members `ids` of one lot to `total`, and move their duals.

    Guarantee: that of :func:`~dpscd.kernels.dual.solve_block` for every member that is a
    record, of :func:`add_persons` for every one that is a person. The total, of shape (outputs,
    padded) in cells, is exact, so parts of a lot may be added up anywhere; it is not yet noisy.
    """
    outputs = shared.shape[0]
    work, units = workspace_for(pack, outputs, persons)
    _add_lot(
        loss, pack, constants, ids, dual, shared, total, work, block_of(pack),
        several(outputs), units,
    )  # fmt: skip


@jit_uncounted
def _advance(
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, starts: Ints, normals: Floats,
    average_from: int, dual: Floats, shared: Floats, average: Floats, total: Ints,
    work: Workspace, block: int, many: bool | None,
    persons: tuple[Persons, PersonBlocks] | None,
) -> None:  # fmt: skip
    for t in range(starts.shape[0] - 1):
        fill_models(shared, constants.strength, work)
        for k in range(total.shape[0]):
            for j in range(total.shape[1]):
                total[k, j] = 0
        begin, end = starts[t], starts[t + 1]
        if persons is not None:
            add_persons(
                loss, pack, constants, ids[begin:end], *persons, work, dual, total, many
            )
        else:
            add_members(
                loss, pack, constants, ids, begin, end, end, block, work, dual, total, many
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
    """Run a chunk of steps on packed records, as :func:`dpscd.kernels.lots.advance` does.

    Guarantee: one step is the mechanism of docs/proofs/shared_vector.md.
    Requires: lots are Poisson and whole; normals are fresh; no more records than
    ``capacity_of``; a grid has 2^0 to 2^52 cells.
    """
    outputs = shared.shape[0]
    work, units = workspace_for(pack, outputs, persons)
    total = on_lines((outputs, pack.padded), np.int64)
    _advance(
        loss, pack, constants, ids, starts, normals, average_from, dual, shared, average,
        total, work, block_of(pack), several(outputs), units,
    )  # fmt: skip
