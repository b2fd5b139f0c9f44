"""Dense records in fixed point: the input of the private dense kernel.

A record ``(factor x, tail)`` is stored as whole numbers ``q`` of 16 bits, ``|q| <= 32767``, and
one ``scale``: half the memory of float32, and sums of multiples of ``q`` are exact in any
order. Scale, norm, label and weight of a row follow its numbers.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit_uncounted
from dpscd.kernels._memory import LINE
from dpscd.kernels.dual import Records
from dpscd.kernels.norms import largest_of
from dpscd.kernels.rows import DenseRows

Floats = npt.NDArray[np.float64]
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


def _memory(size: int) -> npt.NDArray[np.uint8]:
    return np.empty(size, dtype=np.uint8)


def empty_pack(
    count: int,
    features: int,
    tail: float,
    memory_of: Callable[[int], npt.NDArray[np.uint8]] = _memory,
) -> Pack:
    """Return the memory for `count` records, to be filled.

    `tail` is the constant column; `memory_of` allocates bytes, on disk if memory is too small.
    """
    width = features + (1 if tail != 0.0 else 0)
    padded, stride = _layout(width, 4 * features)
    # Not to be initialised twice: the rows are filled, padding included.
    memory = memory_of(count * stride + LINE)
    skipped = -memory.ctypes.data % LINE
    bytes_of = memory[skipped : skipped + count * stride].reshape(count, stride)
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

    `records` are the labels and weights of all records.

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
