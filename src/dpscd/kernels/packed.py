"""The mechanism on packed records: a chunk of lots in fixed point.

A lot is worked off in blocks that stay in the cache: predictions of all members, then
their steps in one loop of vector instructions, then their contributions.
"""

import math

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from dpscd.kernels._jit import REORDERED, jit, jit_inlined
from dpscd.kernels._memory import LINE, look, prefetch
from dpscd.kernels.block import (
    BlockBuffer,
    cut_steps,
    move_duals,
    new_buffer,
    solve_block,
    step_block,
)
from dpscd.kernels.dual import StepConstants
from dpscd.kernels.pack import LABEL, NORM, SCALE, WEIGHT, Pack
from dpscd.kernels.persons import (
    Persons,
    first_factors,
    gather,
    new_desk,
    shorten_sum,
    weigh,
)
from dpscd.kernels.sharing import (
    CALLED_OFF,
    STEP,
    claim,
    done,
    go_home,
    in_step,
    mine_to_release,
    new_gate,
    open_step,
    share_of,
    take_part,
)
from dpscd.losses import Loss

__all__ = [
    "add_packed_lot",
    "advance_packed",
    "advance_part",
    "release_cells",
]

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Shorts = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int64]
Cells = npt.NDArray[np.int64]

# Members of a block, and bytes of their rows: a share of the second cache.
_BLOCK = 128
_BLOCK_BYTES = 2**18

# Lines of a row that are asked for ahead, a block at a time: the memory goes on by itself
# once it has seen a few lines of a long row.
_LINES = 16

# Looks at the gate, besides those that a block may take, before a thread goes home: some tens
# of microseconds. And parts of a share that are claimed one by one if members are persons.
_PATIENCE = 2**14
_CLAIMS = 4


@register_jitable(fastmath=REORDERED)
def _product(cells: Shorts, i: int, model: Singles, size: int) -> np.float32:
    """Return the inner product of a row of `cells` with `model`, in single precision."""
    total = np.float32(0.0)
    for j in range(size):
        total += np.float32(cells[i, j]) * model[j]
    return total


@register_jitable(fastmath=REORDERED, forceinline=True)
def _eight_products(
    cells: Shorts, i: int, models: Singles, k: int, size: int
) -> tuple[np.float32, ...]:
    """Return the inner products of a row with eight models, from the k-th on.

    One row at a time: with several, how terms are summed could depend on a row's place.
    """
    a = b = c = d = e = f = g = h = np.float32(0.0)
    for j in range(size):
        x = np.float32(cells[i, j])
        a += x * models[k, j]
        b += x * models[k + 1, j]
        c += x * models[k + 2, j]
        d += x * models[k + 3, j]
        e += x * models[k + 4, j]
        f += x * models[k + 5, j]
        g += x * models[k + 6, j]
        h += x * models[k + 7, j]
    return a, b, c, d, e, f, g, h


@jit_inlined
def _model(shared: Floats, strength: float, model: Singles) -> float:
    """Fill `model` with the shared vector over a power of two; return that over strength."""
    largest = 0.0
    for j in range(shared.shape[0]):
        largest = max(largest, abs(shared[j]))
    unit = math.ldexp(1.0, math.frexp(largest)[1])
    for j in range(shared.shape[0]):
        model[j] = np.float32(shared[j] / unit)
    return unit / strength


@jit
def _read(
    pack: Pack, ids: Ints, coming: Ints, models: Singles, gains: Floats, dual: Floats,
    buffer: BlockBuffer,
) -> None:  # fmt: skip
    """Lay out what the members `ids` need for their steps; ask for the `coming` ones."""
    outputs = models.shape[0]
    eights = outputs - outputs % 8
    size = min(2 * pack.cells.shape[1], _LINES * LINE)
    for b in range(ids.shape[0]):
        if b < coming.shape[0]:
            prefetch(pack.cells, coming[b], size)
            prefetch(dual, coming[b], 8 * outputs)
        i = ids[b]
        scale = pack.state[i, pack.place + SCALE]
        buffer.scale[b] = scale
        buffer.norm[b] = pack.state[i, pack.place + NORM]
        buffer.label[b] = pack.state[i, pack.place + LABEL]
        buffer.weight[b] = buffer.mass[b] = pack.state[i, pack.place + WEIGHT]
        for k in range(outputs):
            buffer.duals[k, b] = dual[i, k]
        for k in range(eights, outputs):
            product = np.float64(_product(pack.cells, i, models[k], pack.padded))
            buffer.steps[k, b] = product * (scale * gains[k])
    for b in range(ids.shape[0], coming.shape[0]):
        prefetch(pack.cells, coming[b], size)
        prefetch(dual, coming[b], 8 * outputs)
    # Eight models stay in the first cache while all rows pass by, each converted once.
    for k in range(0, eights, 8):
        for b in range(ids.shape[0]):
            products = _eight_products(pack.cells, ids[b], models, k, pack.padded)
            for place in range(8):
                gain = buffer.scale[b] * gains[k + place]
                buffer.steps[k + place, b] = np.float64(products[place]) * gain


@jit
def _add(pack: Pack, ids: Ints, cells: npt.NDArray[np.int32], total: Ints) -> None:
    """Add ``cells[b]`` times the whole numbers of record ``ids[b]``, for all b."""
    count, size, b = ids.shape[0], total.shape[0], 0
    while b + 4 <= count:  # four at a time: the total is read and written less often
        q, r = pack.cells[ids[b]], pack.cells[ids[b + 1]]
        s, t = pack.cells[ids[b + 2]], pack.cells[ids[b + 3]]
        m, n = np.int64(cells[b]), np.int64(cells[b + 1])
        o, p = np.int64(cells[b + 2]), np.int64(cells[b + 3])
        for j in range(size):
            two = m * np.int64(q[j]) + n * np.int64(r[j])
            total[j] += two + o * np.int64(s[j]) + p * np.int64(t[j])
        b += 4
    while b < count:
        q, m = pack.cells[ids[b]], np.int64(cells[b])
        for j in range(size):
            total[j] += m * np.int64(q[j])
        b += 1


@jit
def _add_two(
    pack: Pack, ids: Ints, first: npt.NDArray[np.int32], second: npt.NDArray[np.int32],
    total: Ints, more: Ints,
) -> None:  # fmt: skip
    """Do what :func:`_add` does for two outputs, each row converted once."""
    count, size, b = ids.shape[0], total.shape[0], 0
    while b + 4 <= count:
        q, r = pack.cells[ids[b]], pack.cells[ids[b + 1]]
        s, t = pack.cells[ids[b + 2]], pack.cells[ids[b + 3]]
        m, n = np.int64(first[b]), np.int64(first[b + 1])
        o, p = np.int64(first[b + 2]), np.int64(first[b + 3])
        c, d = np.int64(second[b]), np.int64(second[b + 1])
        e, f = np.int64(second[b + 2]), np.int64(second[b + 3])
        for j in range(size):
            x, y = np.int64(q[j]), np.int64(r[j])
            z, w = np.int64(s[j]), np.int64(t[j])
            total[j] += m * x + n * y + (o * z + p * w)
            more[j] += c * x + d * y + (e * z + f * w)
        b += 4
    while b < count:
        q, m, c = pack.cells[ids[b]], np.int64(first[b]), np.int64(second[b])
        for j in range(size):
            total[j] += m * np.int64(q[j])
            more[j] += c * np.int64(q[j])
        b += 1


@jit_inlined
def _add_outputs(
    pack: Pack, ids: Ints, cells: npt.NDArray[np.int32], start: int, total: Ints
) -> None:
    """Add the numbers of the rows `ids`, which stand in `cells` from `start` on."""
    stop, pairs = start + ids.shape[0], total.shape[0] - total.shape[0] % 2
    for k in range(0, pairs, 2):
        one, other = cells[k, start:stop], cells[k + 1, start:stop]
        _add_two(pack, ids, one, other, total[k], total[k + 1])
    for k in range(pairs, total.shape[0]):
        _add(pack, ids, cells[k, start:stop], total[k])


@jit
def release_cells(
    total: Ints, normals: Floats, constants: StepConstants, bits: int, shared: Floats
) -> None:
    """Add the exact sum of a lot and its noise to the shared vector, on the grid.

    Parameters
    ----------
    total : array
        The sum in cells.
    normals : array
        Standard normals.
    numbers : StepConstants
        With a grid of ``2^bits`` cells.
    bits : int
        Between 0 and 52.
    shared : array
        Changed in place.

    Notes
    -----
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
def _block_of(pack: Pack) -> int:
    """Return how many members are worked on at a time."""
    return max(4, min(_BLOCK, _BLOCK_BYTES // (2 * pack.cells.shape[1])))


@jit_inlined
def _add_members(
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, coming: Ints, models: Singles,
    gains: Floats, dual: Floats, buffer: BlockBuffer, total: Ints,
) -> None:  # fmt: skip
    """Add what a block of members contributes to `total`, and move their duals."""
    _read(pack, ids, coming, models, gains, dual, buffer)
    solve_block(loss, constants, ids.shape[0], buffer)
    for k in range(total.shape[0]):
        for b in range(ids.shape[0]):
            dual[ids[b], k] = buffer.duals[k, b]
    _add_outputs(pack, ids, buffer.cells, 0, total)


@jit
def _add_joint(
    pack: Pack, constants: StepConstants, ids: Ints, first: int, last: int, own: Ints,
    buffer: BlockBuffer, total: Ints,
) -> None:  # fmt: skip
    """Add what a person, rows `first` to `last` of a block, contributes, as one vector."""
    for k in range(total.shape[0]):
        for j in range(own.shape[1]):
            own[k, j] = 0
    _add_outputs(pack, ids[first:last], buffer.cells, first, own)
    factor = shorten_sum(own, constants)
    for k in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[k, j] += own[k, j]
        for b in range(first, last):
            buffer.steps[k, b] *= factor


@jit
def _add_persons(
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, persons: Persons,
    models: Singles, gains: Floats, dual: Floats, buffer: BlockBuffer, total: Ints,
) -> None:  # fmt: skip
    """Add what persons contribute to `total`, each no more than the clip; move their duals.

    Notes
    -----
    Guarantee: that of :func:`~dpscd.kernels.persons.first_factors` for persons whose lengths
    add up to no more than the clip, of :func:`~dpscd.kernels.persons.shorten_sum` for others.
    """
    outputs = total.shape[0]
    desk, own = new_desk(buffer.norm.shape[0]), np.empty((outputs, total.shape[1]), np.int64)
    place, done = 0, 0
    taken, count = gather(persons, ids, 0, desk.rows[0], desk.ends[0])
    while taken > 0:
        rows, ends = desk.rows[place, :count], desk.ends[place, :taken]
        done, place = done + taken, 1 - place
        taken, count = gather(persons, ids, done, desk.rows[place], desk.ends[place])
        _read(pack, rows, desk.rows[place, :count], models, gains, dual, buffer)
        weigh(ends, buffer)
        step_block(loss, constants, rows.shape[0], buffer)
        first_factors(constants, ends, buffer, desk.joint)
        cut_steps(constants, rows.shape[0], buffer)
        # Persons that need no common clip are added together, as far as they are neighbours.
        begin, last = 0, 0
        for p in range(ends.shape[0]):
            first, last = last, ends[p]
            if desk.joint[p]:
                _add_outputs(pack, rows[begin:first], buffer.cells, begin, total)
                _add_joint(pack, constants, rows, first, last, own, buffer, total)
                begin = last
        _add_outputs(pack, rows[begin:last], buffer.cells, begin, total)
        move_duals(rows.shape[0], buffer)
        for k in range(outputs):
            for b in range(rows.shape[0]):
                dual[rows[b], k] = buffer.duals[k, b]


@jit
def add_packed_lot(
    loss: Loss,
    pack: Pack,
    constants: StepConstants,
    ids: Ints,
    dual: Floats,
    shared: Floats,
    total: Cells,
    persons: Persons | None = None,
) -> None:
    """Add what the members `ids` of one lot contribute to `total`, and move their duals.

    Parameters
    ----------
    loss, pack, numbers
        The problem.
    ids : array
        Members.
    dual : array of shape (records, outputs)
        Secret; changed in place.
    shared : array of shape (outputs, width)
        As it was before the lot.
    total : int64 array of shape (outputs, padded)
        Sums in cells, to be added to.
    persons : Persons or None
        Whose rows are whose: members are persons. None if they are records.

    Notes
    -----
    Guarantee: that of :func:`~dpscd.kernels.block.solve_block` for every member that is a
    record, of :func:`_add_persons` for every one that is a person. The total is exact, so
    parts of a lot may be added up anywhere; it is not yet noisy.
    """
    outputs = shared.shape[0]
    block = _block_of(pack)
    models = np.zeros((outputs, pack.padded), np.float32)
    gains = np.empty(outputs)
    for k in range(outputs):
        gains[k] = _model(shared[k], constants.strength, models[k])
    if persons is not None:
        room = new_buffer(outputs, max(block, persons.most))
        _add_persons(loss, pack, constants, ids, persons, models, gains, dual, room, total)
        return
    buffer = new_buffer(outputs, block)
    for first in range(0, ids.shape[0], block):
        members = ids[first : first + block]
        coming = ids[first + block : first + 2 * block]
        _add_members(loss, pack, constants, members, coming, models, gains, dual, buffer, total)


@jit_inlined
def _release_step(
    constants: StepConstants, t: int, normals: Floats, average_from: int, shared: Floats,
    average: Floats, part: int, totals: Cells, gate: Ints,
) -> None:  # fmt: skip
    """Add up the sums of all who took part in step t, in this thread's, and release that."""
    parts, outputs, width = totals.shape[0], shared.shape[0], shared.shape[1]
    bits = math.frexp(constants.grid / constants.cell)[1] - 1
    joined = in_step(gate, part, t)
    for k in range(outputs):
        total = totals[part, k]
        # Loops, not whole slices: those make copies, and messages for wrong shapes that
        # take longer to compile than the rest of this function.
        if not joined:
            for j in range(width):
                total[j] = 0
        for other in range(parts):
            if other != part and in_step(gate, other, t):
                for j in range(width):
                    total[j] += totals[other, k, j]
        noise = normals[t, k * width : (k + 1) * width]
        release_cells(total, noise, constants, bits, shared[k])
        if t >= average_from:
            for j in range(width):
                average[k, j] += shared[k, j]


@jit
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
    persons: Persons | None = None,
) -> None:
    """Do one thread's part of :func:`advance_packed`; others may run at the same time.

    Each thread adds up members that it claims (:mod:`dpscd.kernels.sharing`); one of them, who
    sees that all are done, releases the sum, and the next step begins. Sums of whole numbers do
    not depend on how they are shared. A thread comes back when the last step is done, when the
    gate is called off, or when it waited in vain for another one, which then goes on.

    Parameters
    ----------
    part : int
        Which thread this is.
    totals : array of shape (threads, outputs, padded)
        Room for the sums.
    gate : array
        From :func:`~dpscd.kernels.sharing.new_gate`.
    persons : Persons or None
        As for :func:`add_packed_lot`.

    Notes
    -----
    Guarantee: one step is the mechanism of docs/proofs/shared_vector.md, whichever threads take
    part: the shared vector is written when all members of the open step are done, once.
    """
    outputs, parts = shared.shape[0], totals.shape[0]
    block = _block_of(pack)
    most = block if persons is None else max(block, persons.most)
    buffer = new_buffer(outputs, most)
    models = np.zeros((outputs, pack.padded), np.float32)
    gains = np.empty(outputs)
    own = totals[part]
    # A look takes about as long as some entries of a row: so long may a block of another take.
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
                    for k in range(outputs):
                        gains[k] = _model(shared[k], constants.strength, models[k])
                        for j in range(pack.padded):
                            own[k, j] = 0
                members = ids[first : min(first + size, end)]
                worked += members.shape[0]
                if persons is not None:
                    _add_persons(
                        loss, pack, constants, members, persons, models, gains, dual, buffer,
                        own,
                    )  # fmt: skip
                else:
                    coming = ids[first + size : min(first + 2 * size, end)]
                    if first + size >= end and t + 1 < last:
                        after, until = share_of(starts, t + 1, part, parts)
                        coming = ids[after : min(after + size, until)]
                    _add_members(
                        loss, pack, constants, members, coming, models, gains, dual, buffer,
                        own,
                    )  # fmt: skip
                first = claim(gate, whose, begin, end, size)
        if worked > 0:
            done(gate, worked)
        looks = 0
        while look(gate, STEP) == t:
            if mine_to_release(gate, starts, t):
                _release_step(
                    constants, t, normals, average_from, shared, average, part, totals, gate
                )
                open_step(gate, starts, t + 1, parts)
            elif looks > patience or look(gate, CALLED_OFF) != 0:
                go_home(gate)  # the thread that this one waited for goes on
                return
            looks += 1
        t = look(gate, STEP)


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
    """Run a chunk of steps on packed records.

    Parameters are those of :func:`dpscd.kernels.dual.advance`, with a pack for rows and
    records, a grid of 2^0 to 2^52 cells, and whose rows are whose if members are persons.

    Notes
    -----
    Guarantee: one step is the mechanism of docs/proofs/shared_vector.md.
    Requires: lots are Poisson and whole; normals are fresh; no more records than
    ``Plan.capacity``. All steps of a lot are computed from the shared vector as it was
    before the lot.
    """
    totals = np.empty((1, shared.shape[0], pack.padded), np.int64)
    gate = new_gate(starts, 1)
    # Not compiled itself: one machine code serves one thread and several.
    advance_part(
        loss, pack, constants, ids, starts, normals, average_from, dual, shared, average,
        0, totals, gate, *persons,
    )  # fmt: skip
