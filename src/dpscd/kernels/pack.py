"""Dense records in fixed point, the input of the private dense kernel, and blocks of members.

A record ``(factor x, tail)`` is stored as whole numbers ``q`` of 16 bits and one ``scale``:
half the memory of float32, and sums of multiples of ``q`` are exact in any order.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import REORDERED, jit_inlined, jit_uncounted
from dpscd.kernels._memory import LINE, prefetch
from dpscd.kernels.dual import (
    BlockBuffer,
    Memory,
    Records,
    StepConstants,
    new_buffer,
    on_lines,
    solve_block,
    unwritten,
)
from dpscd.kernels.passes import largest_of
from dpscd.kernels.rows import DenseRows, Floats, Ints
from dpscd.late import register_jitable
from dpscd.losses import Loss

Singles = npt.NDArray[np.float32]
Shorts = npt.NDArray[np.int16]

#: The largest whole number of a row; every row that is not inactive has it, up to its sign.
LARGEST = 32767

#: Places in the state of a record, and their number.
SCALE, NORM, LABEL, WEIGHT = range(4)
STATE = 4

# Rows whose largest entry is not above this count as empty: scales of smaller ones would
# leave the range in which doubles have their full precision.
_SHORTEST = 2.0**-900

# Added to a small number and taken away again, it leaves the nearest whole one.
_TO_WHOLE = 1.5 * 2.0**52

# Whole numbers of a row are padded with zeros to a multiple of this many (64 bytes), if
# that leaves the pack no larger than the matrix in float32.
_ALIGNED = LINE // 2
_LEAST_ALIGNED = 4


class Pack(NamedTuple):
    """Records in fixed point."""

    # int16, of shape (records, stride): the whole numbers of a record, padded with zeros
    cells: Shorts
    # float64, of shape (records, stride / 4): the same memory; SCALE, NORM, LABEL and WEIGHT
    # from column `place` on
    state: Floats
    width: int  # whole numbers of a record, including the constant column
    padded: int  # `width` including the padding
    place: int  # column of `state` at which the state of a record begins


def pack_rows(rows: DenseRows, records: Records) -> Pack:
    """Return dense records in fixed point; the guarantee is that of :func:`fill_pack`."""
    count, features = rows.values.shape
    pack = empty_pack(count, features, rows.tail)
    fill_pack(rows, records, pack, 0)
    return pack


def empty_pack(count: int, features: int, tail: float, memory_of: Memory = unwritten) -> Pack:
    """Return the memory for `count` records; `memory_of` allocates bytes, perhaps on disk."""
    width = features + (1 if tail != 0.0 else 0)
    padded, stride = _layout(width, 4 * features)
    # Not to be initialised twice: the rows are filled, padding included.
    bytes_of = on_lines((count, stride), np.uint8, memory_of)
    return Pack(bytes_of.view(np.int16), bytes_of.view(np.float64), width, padded, padded // 4)


def _layout(width: int, allowed: int) -> tuple[int, int]:
    """Return the padded width and the bytes of a row, in at most `allowed` if possible."""
    padded = -(-width // _ALIGNED) * _ALIGNED
    stride = -(-(2 * padded + 8 * STATE) // LINE) * LINE
    if stride > allowed:
        padded = -(-width // _LEAST_ALIGNED) * _LEAST_ALIGNED
        stride = 2 * padded + 8 * STATE
    return padded, stride


@jit_uncounted
def fill_pack(rows: DenseRows, records: Records, pack: Pack, first: int) -> None:
    """Put a block of dense rows into the pack, from record `first` on.

    Guarantee: record i is replaced by ``scale q``, a function of this record alone, each entry
    within ``2^-16`` of its largest one. ``norm (1 + 2^-40)`` is at least the length of ``scale
    q``. Records whose norm is not positive, NaN included, get norm 0: they contribute nothing.
    """
    features = rows.values.shape[1]
    for i in range(rows.values.shape[0]):
        k = first + i
        x, cells, state = rows.values[i], pack.cells[k], pack.state[k, pack.place :]
        for j in range(pack.padded):
            cells[j] = 0
        state[LABEL], state[WEIGHT] = records.labels[k], records.weights[k]
        state[SCALE] = state[NORM] = 0.0
        if not rows.norm[i] > 0.0:
            continue
        factor = rows.factor[i]
        largest = max(factor * largest_of(x), abs(rows.tail))
        if not largest > _SHORTEST:
            continue
        finest = LARGEST / largest
        for j in range(features):
            entry = factor * np.float64(x[j]) * finest
            cells[j] = np.int16(entry + _TO_WHOLE - _TO_WHOLE)
        if pack.width > features:
            cells[features] = np.int16(rows.tail * finest + _TO_WHOLE - _TO_WHOLE)
        squares = np.int64(0)
        for j in range(pack.width):
            squares += np.int64(cells[j]) * np.int64(cells[j])
        state[SCALE] = largest / LARGEST
        state[NORM] = state[SCALE] * math.sqrt(np.float64(squares))


# Members of a block, and bytes of their rows: a share of the second cache.
_BLOCK = 128
_BLOCK_BYTES = 2**18

# Lines of a row that are asked for ahead, a block at a time: the memory goes on by itself
# once it has seen a few lines of a long row.
_LINES = 16


class Workspace(NamedTuple):
    """Workspace of a block of members, with the model that they see."""

    models: Singles  # the shared vector, one row an output, each over a power of two
    gains: Floats  # what products with it are multiplied by
    buffer: BlockBuffer


def new_workspace(pack: Pack, outputs: int, most: int = 0) -> Workspace:
    """Return the workspace of a block, or of `most` members if those are more."""
    models = on_lines((outputs, pack.padded), np.float32)
    models[:] = 0.0  # behind the shared vector they are not written any more
    return Workspace(models, np.empty(outputs), new_buffer(outputs, max(block_of(pack), most)))


def several(outputs: int) -> bool | None:
    """Return True if there are several outputs, else None: its type leaves their code out."""
    return True if outputs > 1 else None


def block_of(pack: Pack) -> int:
    """Return how many members are processed at a time."""
    return max(4, min(_BLOCK, _BLOCK_BYTES // (2 * pack.cells.shape[1])))


@jit_inlined
def fill_models(shared: Floats, strength: float, work: Workspace) -> None:
    """Fill in the models: the shared vector over powers of two, and those over strength."""
    for k in range(shared.shape[0]):
        largest = 0.0
        for j in range(shared.shape[1]):
            largest = max(largest, abs(shared[k, j]))
        unit = math.ldexp(1.0, math.frexp(largest)[1])
        for j in range(shared.shape[1]):
            work.models[k, j] = np.float32(shared[k, j] / unit)
        work.gains[k] = unit / strength


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
    """Return the inner products of a row with eight models, from the k-th on."""
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


@register_jitable
def _predict_eights(pack: Pack, ids: Ints, eights: int, work: Workspace) -> None:
    """Fill in predictions of the first `eights` outputs, a multiple of eight."""
    models, gains, buffer = work.models, work.gains, work.buffer
    # Eight models stay in the first cache while all rows pass by, each converted once.
    for k in range(0, eights, 8):
        for b in range(ids.shape[0]):
            products = _eight_products(pack.cells, ids[b], models, k, pack.padded)
            for place in range(8):
                gain = buffer.scale[b] * gains[k + place]
                buffer.steps[k + place, b] = np.float64(products[place]) * gain


@jit_inlined
def read_members(
    pack: Pack,
    ids: Ints,
    coming: Ints,
    work: Workspace,
    dual: Floats,
    many: bool | None = None,
) -> None:
    """Lay out what the members `ids` need for their steps; prefetch the `coming` ones."""
    models, gains, buffer = work.models, work.gains, work.buffer
    outputs = models.shape[0]
    eights = 0
    if many is not None:
        eights = outputs - outputs % 8
    size = min(2 * pack.cells.shape[1], _LINES * LINE)
    for b in range(max(ids.shape[0], coming.shape[0])):
        if b < coming.shape[0]:
            prefetch(pack.cells, coming[b], size)
            prefetch(dual, coming[b], 8 * outputs)
        if b < ids.shape[0]:
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
    if many is not None:
        _predict_eights(pack, ids, eights, work)


@register_jitable
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


@register_jitable
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
def add_outputs(
    pack: Pack, ids: Ints, cells: npt.NDArray[np.int32], start: int, total: Ints,
    many: bool | None = None,
) -> None:  # fmt: skip
    """Add the numbers of the rows `ids`; their cells begin at `start` in `cells`."""
    stop, pairs = start + ids.shape[0], 0
    if many is not None:
        pairs = total.shape[0] - total.shape[0] % 2
        for k in range(0, pairs, 2):
            one, other = cells[k, start:stop], cells[k + 1, start:stop]
            _add_two(pack, ids, one, other, total[k], total[k + 1])
    for k in range(pairs, total.shape[0]):
        _add(pack, ids, cells[k, start:stop], total[k])


@jit_inlined
def add_members(
    loss: Loss, pack: Pack, constants: StepConstants, ids: Ints, begin: int, end: int,
    after: int, block: int, work: Workspace, dual: Floats, total: Ints,
    many: bool | None = None,
) -> None:  # fmt: skip
    """Add the contributions of the members ``ids[begin:end]`` to `total`; move their duals.

    Those to be processed next begin at ``ids[after]``; `block` are processed at a time.

    Guarantee: that of :func:`~dpscd.kernels.dual.solve_block` for every member. The total, of
    shape (outputs, padded) in cells, is exact.
    """
    buffer = work.buffer
    for first in range(begin, end, block):
        last = min(first + block, end)
        then = last if last < end else after
        members = ids[first:last]
        read_members(pack, members, ids[then : then + block], work, dual, many)
        solve_block(loss, constants, members.shape[0], buffer)
        for k in range(total.shape[0]):
            for b in range(members.shape[0]):
                dual[members[b], k] = buffer.duals[k, b]
        add_outputs(pack, members, buffer.cells, 0, total, many)
