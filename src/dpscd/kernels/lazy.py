"""The mechanism on sparse rows: the noise of a coordinate is drawn when it is next read.

Between two reads a coordinate moves by noise alone, but for the lot of the first read. A step
costs as much as its lot has entries. Amounts due are kept in whole numbers, which are exact.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit, jit_uncounted
from dpscd.kernels._memory import LINE, prefetch
from dpscd.kernels.dual import BlockBuffer, Records, StepConstants, on_lines, solve_block
from dpscd.kernels.rows import CsrRows, Floats, Ints
from dpscd.late import overload, register_jitable
from dpscd.losses import Loss

Whole = npt.NDArray[Any]
Values = npt.NDArray[Any]

# Columns of the state, one row a coordinate: the step up to which it has its noise, and
# the sum of k (k^2 - 1) over its stretches of k steps that are averaged.
_DONE, _TIMES = 0, 1
# Four columns an output follow: the value in grids; in cells what the lot of the last read
# added; twice the expected sum over the averaged steps, in grids; the rest of it, in cells.
FIRST, COLUMNS = 2, 4
_VALUE, DUE, _SUM, _REST = 0, 1, 2, 3


class Law(NamedTuple):
    """The noise of a step and its lattice."""

    variance: float  # of the noise of one step, in squared grids
    bits: int  # a grid has ``2^bits`` cells; between 0 and 42
    mask: int  # ``2^bits - 1``
    cell: float  # ``2^-bits``
    start: int  # first step whose shared vector is averaged: all coordinates are settled then


def new_state(width: int, outputs: int) -> Ints:
    """Return the state of a zero shared vector; its rows fill lines of memory."""
    columns = FIRST + COLUMNS * outputs
    line = LINE // 8
    stride = -(-columns // line) * line
    state = on_lines((width, stride), np.int64)  # on large pages, unlike np.zeros
    state[:] = 0
    return state


@register_jitable(forceinline=True)
def _deviation(variance: float) -> float:
    """Return the standard deviation of a normal that, rounded, is a lattice Gaussian."""
    return math.sqrt(max(variance - 1.0 / 12.0, 0.0))


def add_product(total: Any, times: Any, number: Any) -> Any:
    """Return ``total + times * number`` modulo 2^64, as a signed number of 64 bits."""
    exact = int(total) + int(times) * int(number)
    return np.int64((exact + 2**63) % 2**64 - 2**63)


@overload(add_product, jit_options={"forceinline": True})
def _add_product(total, times, number):
    def wrap(total, times, number):  # pragma: no cover - runs compiled only
        return np.int64(np.uint64(total) + np.uint64(times) * np.uint64(number))

    return wrap


@register_jitable(forceinline=True)
def settle(
    state: Ints, j: Any, column: int, last: bool, now: int, law: Law, normals: Floats, at: int
) -> tuple[int, float]:
    """Give one output of coordinate j the noise that is due before step `now`.

    Returns the place of the next normal, and the value in grids. The `last` output closes the
    stretch of steps.

    Guarantee: after k > 0 steps the value moves by what the lot of its last read added and a
    Gaussian of variance ``k law.variance``, rounded together. The state then knows mean and
    variance of the sum of the values on the way.
    Proof: docs/proofs/shared_vector.md, "Lazy noise".
    """
    done = state[j, _DONE]
    k = now - done
    value = state[j, column + _VALUE]
    if k > 0:
        due = state[j, column + DUE]
        whole = due >> law.bits
        rest = due & law.mask
        deviation = _deviation(np.float64(k) * law.variance)
        noise = np.int64(
            math.floor(np.float64(rest) * law.cell + deviation * normals[at] + 0.5)
        )
        at += 1
        before = add_product(value, 1, whole)
        value = add_product(before, 1, noise)
        state[j, column + _VALUE] = value
        state[j, column + DUE] = 0
        if done >= law.start:
            twice = add_product(state[j, column + _SUM], 2 * k, before)
            state[j, column + _SUM] = add_product(twice, k + 1, noise)
            state[j, column + _REST] += (k - 1) * rest
        if last:
            state[j, _DONE] = now
            if done >= law.start:
                state[j, _TIMES] += k * (k * k - 1)
    return at, np.float64(value)


@jit
def settle_all(
    law: Law, outputs: int, now: int, begin: int, normals: Floats, state: Ints
) -> tuple[int, int]:
    """Give coordinates from `begin` on the noise that is due; stop when normals run out."""
    used = 0
    for j in range(begin, state.shape[0]):
        if used + outputs > normals.shape[0]:
            return j, used
        for k in range(outputs):
            column, last = FIRST + COLUMNS * k, k + 1 == outputs
            used, _ = settle(state, j, column, last, now, law, normals, used)
    return state.shape[0], used


@jit
def shared_of(state: Ints, grid: float, out: Floats) -> None:
    """Fill `out` with the shared vector, once all coordinates are settled."""
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[k, j] = grid * np.float64(state[j, FIRST + COLUMNS * k + _VALUE])


@jit
def average_due(
    law: Law, coarse: int, begin: int, normals: Floats, state: Ints, out: Floats
) -> tuple[int, int]:
    """Fill `out` with sums of the shared vector over the averaged steps, to ``2^coarse`` grids.

    Called after :func:`settle_all`; stops when normals run out.

    Guarantee: given all values that were read, the sums have the joint law with them that sums
    of the values of every step have, rounded.
    Proof: docs/proofs/shared_vector.md, "Lazy noise".
    """
    used = 0
    for j in range(begin, state.shape[0]):
        if used + out.shape[0] > normals.shape[0]:
            return j, used
        deviation = _deviation(np.float64(state[j, _TIMES]) / 12.0 * law.variance)
        for k in range(out.shape[0]):
            o = FIRST + COLUMNS * k
            more = state[j, o + _REST] >> law.bits
            rest = np.float64(state[j, o + _REST] - (more << law.bits)) * law.cell
            twice = add_product(state[j, o + _SUM], 1, more)
            rest = 0.5 * (np.float64(twice & 1) + rest)
            noise = np.int64(math.floor(rest + deviation * normals[used] + 0.5))
            used += 1
            # Twice the sum is known modulo 2^64, so the sum modulo 2^63 and no better.
            total = add_product(twice >> 1, 1, noise)
            total = add_product(total, 1, total) >> 1
            half = (np.int64(1) << coarse) >> 1
            out[k, j] = np.float64(((total + half) >> coarse) << coarse)
    return state.shape[0], used


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
    """Add the steps of member b, in whole cells, to the amounts due to its coordinates.

    Guarantee: what :func:`dpscd.kernels.rows.add_truncated` adds, or nothing if that is no
    number.
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
    """Lay out members from `begin` to `end` for their steps, fewer if normals run out."""
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
        active = norms[i] > 0.0 and weights[i] > 0.0
        buffer.scale[b] = 0.0  # contributions are not those of a pack
        buffer.norm[b] = norms[i] if active else 0.0
        buffer.weight[b] = buffer.mass[b] = weights[i]
        buffer.label[b] = labels[i]
        for k in range(outputs):
            buffer.duals[k, b] = dual[i, k]
            buffer.steps[k, b] = 0.0
        if active:
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
    loss: Loss, rows: CsrRows, records: Records, constants: StepConstants, law: Law, ids: Ints,
    starts: Ints, first: int, begin: int, normals: Floats, dual: Floats, state: Ints,
    buffer: BlockBuffer,
) -> tuple[int, int]:  # fmt: skip
    """Run a chunk of steps from member `begin` on; stop early only when the normals run out.

    Members of step ``first + t`` are ``ids[starts[t]:starts[t + 1]]``. Returned are the member
    at which to go on and the count of used normals; the secret `dual` and `state` change in
    place.

    Guarantee: with :func:`settle_all` before anything is seen, the mechanism of
    docs/proofs/shared_vector.md, "Lazy noise".
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
