"""State of a shared vector with lazy noise: amounts due to each coordinate, and draws."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit
from dpscd.kernels._memory import LINE
from dpscd.late import overload, register_jitable

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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
    memory = np.empty(width * stride + line, np.int64)  # on large pages, unlike np.zeros
    memory[:] = 0
    skipped = -memory.ctypes.data % LINE // 8
    return memory[skipped : skipped + width * stride].reshape(width, stride)


@register_jitable(forceinline=True)
def _deviation(variance: float) -> float:
    """Return the standard deviation of a normal that, rounded, is a lattice Gaussian."""
    return math.sqrt(max(variance - 1.0 / 12.0, 0.0))


def add_product(total: Any, times: Any, number: Any) -> Any:
    """Return ``total + times * number`` modulo 2^64, as a signed number of 64 bits.

    Signed sums that leave their range are undefined when compiled; this one never is.
    """
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

    Returns the place of the next normal, and the value in grids. The `last` output closes
    the stretch: all outputs are read one after the other.

    Guarantee: after k > 0 steps the value moves by what the lot of its last read added and
    a Gaussian of variance ``k law.variance``, rounded together. The state then knows mean
    and variance of the sum of the values it had on the way.
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
    """Give coordinates from `begin` on the noise that is due; stop when normals run out.

    Returns the coordinate to go on with and how many normals were used.
    """
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
    """Fill `out` with the shared vector; all coordinates must have been settled."""
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[k, j] = grid * np.float64(state[j, FIRST + COLUMNS * k + _VALUE])


@jit
def average_due(
    law: Law, coarse: int, begin: int, normals: Floats, state: Ints, out: Floats
) -> tuple[int, int]:
    """Fill `out` with sums of the shared vector over the averaged steps, in grids.

    The sums are rounded to multiples of ``2^coarse`` grids; `out`, of shape (outputs, width),
    is filled from coordinate `begin` on. Called after :func:`settle_all`.

    Guarantee: given all values that were read, the sums are Gaussians around what the
    state expects, rounded; they have the joint law with them that sums of the values of every
    step have. They are taken modulo 2^63, then rounded.
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
