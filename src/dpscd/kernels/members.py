"""A packed block of members of a lot: predictions, steps and contributions.

A block stays in the cache: it is read for predictions, then all members step in one loop of
vector instructions, then it is read again for their contributions.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import REORDERED, jit_inlined
from dpscd.kernels._memory import LINE, on_lines, prefetch
from dpscd.kernels.block import BlockBuffer, new_buffer, solve_block
from dpscd.kernels.dual import StepConstants
from dpscd.kernels.pack import LABEL, NORM, SCALE, WEIGHT, Pack
from dpscd.late import register_jitable
from dpscd.losses import Loss

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Shorts = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int64]

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
    """Return True if there are several outputs, and None if there is one.

    None has a type of its own: code for several outputs is then left out of the compiled
    kernel.
    """
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

    Those to be processed next begin at ``ids[after]``; `block` are processed at a time. The
    secret `dual`, of shape (records, outputs), and the int64 `total`, sums in cells of shape
    (outputs, padded), are changed in place.

    Guarantee: that of :func:`~dpscd.kernels.block.solve_block` for every member. The total is
    exact.
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
