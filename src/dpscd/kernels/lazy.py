"""The mechanism on sparse rows: the noise of a coordinate is drawn when it is next read.

Between two reads a coordinate of the shared vector moves by noise alone, except for the lot of
the first read. So nothing is drawn until the next read, and then the sum of the noise due is
drawn at once; a step costs as much as its lot has entries. The amounts due to a coordinate are
kept in whole numbers, which are exact.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit_uncounted
from dpscd.kernels._memory import LINE, prefetch
from dpscd.kernels.block import BlockBuffer, solve_block
from dpscd.kernels.dual import Records, StepConstants
from dpscd.kernels.lazy_state import COLUMNS, DUE, FIRST, Law, settle
from dpscd.kernels.rows import CsrRows
from dpscd.late import register_jitable
from dpscd.losses import Loss

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Whole = npt.NDArray[Any]
Values = npt.NDArray[Any]

# How far ahead members, then their entries, then their coordinates are asked for.
_MEMBERS_AHEAD, _ENTRIES_AHEAD, _COORDINATES_AHEAD = 16, 8, 3
_LINES = 2  # of a row's entries, at first

#: Members of a block: their coordinates stay in the cache until their steps are known.
BLOCK = 32


@register_jitable(forceinline=True)
def _predict(
    indices: Whole, values: Values, factor: float, tail: float, now: int, law: Law,
    constants: StepConstants, normals: Floats, at: int, state: Ints, out: Floats, b: int,
) -> int:  # fmt: skip
    """Settle the coordinates of member b of a block and fill in its predictions."""
    outputs = out.shape[0]
    for k in range(outputs):
        column, last = FIRST + COLUMNS * k, k + 1 == outputs
        total = 0.0
        for q in range(indices.shape[0]):
            # Without sign, so that no index is taken to count from the end.
            j = np.uint64(indices[q])
            at, value = settle(state, j, column, last, now, law, normals, at)
            total += np.float64(values[q]) * value
        total *= constants.grid * factor
        if tail != 0.0:
            j = np.uint64(state.shape[0] - 1)
            at, value = settle(state, j, column, last, now, law, normals, at)
            total += tail * (constants.grid * value)
        out[k, b] = total / constants.strength
    return at


@register_jitable(forceinline=True)
def _owe(
    indices: Whole, values: Values, factor: float, tail: float, steps: Floats, b: int,
    cell: float, state: Ints,
) -> None:  # fmt: skip
    """Add the steps of member b, cut to whole cells, to the amounts due to its coordinates.

    Guarantee: what is added is what :func:`dpscd.kernels.rows.add_truncated` adds, or nothing
    if that is no number.
    """
    for k in range(steps.shape[0]):
        column = FIRST + COLUMNS * k + DUE
        scale = steps[k, b] / cell
        scaled = scale * factor
        if not (math.isfinite(scale) and math.isfinite(scaled)):
            continue  # no whole number of cells stands for it
        for q in range(indices.shape[0]):
            j = np.uint64(indices[q])
            state[j, column] += np.int64(scaled * np.float64(values[q]))
        if tail != 0.0:
            state[state.shape[0] - 1, column] += np.int64(scale * tail)


@jit_uncounted
def _read_block(
    rows: CsrRows, records: Records, constants: StepConstants, law: Law, ids: Ints, begin: int,
    end: int, now: int, normals: Floats, used: int, dual: Floats, state: Ints,
    buffer: BlockBuffer,
) -> tuple[int, int]:  # fmt: skip
    """Lay out what members from `begin` to `end` need for their steps; prefetch later ones.

    Returns their number, smaller if normals run out, and the place of the next normal.
    """
    indptr, indices, values, tail = rows.indptr, rows.indices, rows.values, rows.tail
    norms, factors, labels, weights = rows.norm, rows.factor, records.labels, records.weights
    outputs, count, b = buffer.steps.shape[0], ids.shape[0], 0
    for p in range(begin, end):
        # Members to come, then their entries, then their coordinates.
        if p + _MEMBERS_AHEAD < count:
            i = ids[p + _MEMBERS_AHEAD]
            prefetch(norms, i, 8)
            prefetch(weights, i, 8)
            prefetch(indptr, i, 16)
        if p + _ENTRIES_AHEAD < count:
            i = ids[p + _ENTRIES_AHEAD]
            prefetch(factors, i, 8)
            prefetch(labels, i, 8)
            prefetch(dual, i, 8)
            if norms[i] > 0.0:
                prefetch(indices, indptr[i], _LINES * LINE)
                prefetch(values, indptr[i], _LINES * LINE)
        if p + _COORDINATES_AHEAD < count:
            i = ids[p + _COORDINATES_AHEAD]
            if norms[i] > 0.0:
                own = indices[indptr[i] : min(indptr[i + 1], indptr[i] + LINE)]
                for q in range(own.shape[0]):
                    prefetch(state, own[q], LINE)
        i = ids[p]
        speaks = norms[i] > 0.0 and weights[i] > 0.0
        buffer.scale[b] = 0.0  # contributions are not those of a pack
        buffer.norm[b] = norms[i] if speaks else 0.0
        buffer.weight[b] = buffer.mass[b] = weights[i]
        buffer.label[b] = labels[i]
        for k in range(outputs):
            buffer.duals[k, b] = dual[i, k]
            buffer.steps[k, b] = 0.0
        if speaks:
            low, high = indptr[i], indptr[i + 1]
            if used + (high - low + 1) * outputs > normals.shape[0]:
                break
            used = _predict(
                indices[low:high], values[low:high], factors[i], tail, now, law, constants,
                normals, used, state, buffer.steps, b,
            )  # fmt: skip
        b += 1
    return b, used


@jit_uncounted
def _owe_block(
    rows: CsrRows, cell: float, ids: Ints, dual: Floats, state: Ints, buffer: BlockBuffer
) -> None:
    """Keep the new duals of a block and put its contributions aside."""
    for b in range(ids.shape[0]):
        if buffer.norm[b] > 0.0:
            i = ids[b]
            low, high = rows.indptr[i], rows.indptr[i + 1]
            for k in range(buffer.steps.shape[0]):
                dual[i, k] = buffer.duals[k, b]
            _owe(
                rows.indices[low:high], rows.values[low:high], rows.factor[i], rows.tail,
                buffer.steps, b, cell, state,
            )  # fmt: skip


@jit_uncounted
def advance_lazy(
    loss: Loss,
    rows: CsrRows,
    records: Records,
    constants: StepConstants,
    law: Law,
    ids: Ints,
    starts: Ints,
    first: int,
    begin: int,
    normals: Floats,
    dual: Floats,
    state: Ints,
    buffer: BlockBuffer,
) -> tuple[int, int]:
    """Run a chunk of steps; stop early only when the normals run out.

    Members of step ``first + t`` are ``ids[starts[t]:starts[t + 1]]``; work goes on at member
    `begin`, and `normals` are used in their order. `dual`, of shape (records, outputs), and
    `state` are secret and changed in place: which coordinates are settled shows the lots.
    Returned are the member at which to go on (their number when done) and the count of used
    normals.

    Guarantee: with :func:`~dpscd.kernels.lazy_state.settle_all` before anything is seen, the
    mechanism of docs/proofs/shared_vector.md, "Lazy noise".
    Requires: lots are Poisson and whole; normals are fresh. Between ``law.start`` - 1 and
    ``law.start`` all coordinates are settled.
    """
    block, count, used, t = buffer.norm.shape[0], ids.shape[0], 0, 0
    while begin < count:
        while starts[t + 1] <= begin:
            t += 1
        end = min(begin + block, starts[t + 1])
        size, used = _read_block(
            rows, records, constants, law, ids, begin, end, first + t, normals, used, dual,
            state, buffer,
        )  # fmt: skip
        solve_block(loss, constants, size, buffer)
        _owe_block(rows, constants.cell, ids[begin : begin + size], dual, state, buffer)
        begin += size
        if begin < end:
            break
    return begin, used
