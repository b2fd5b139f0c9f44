"""Persons with several rows: rows that step together, and the one clip of all their steps."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit
from dpscd.kernels.dual import BlockBuffer, StepConstants
from dpscd.kernels.rows import MARGIN, Ints

#: Rows of a person that may step together: with more, whole numbers would not hold their sum.
MOST_ROWS = 2**14


class Persons(NamedTuple):
    """The rows of each person."""

    # of length persons + 1: the rows of person g are ``starts[g]`` to ``starts[g + 1]``
    starts: Ints
    turns: Ints  # next row of each person; secret, as it shows how often the person was drawn
    most: int  # rows of a person that step together: public, at most MOST_ROWS


class PersonBlocks(NamedTuple):
    """Workspace of two blocks of persons: this one and the next."""

    rows: Ints
    ends: Ints
    joint: npt.NDArray[np.bool_]
    own: Ints  # what one person contributes, in cells


def new_person_blocks(rows: int, outputs: int, width: int) -> PersonBlocks:
    """Return the workspace for blocks of `rows` rows, and for a contribution."""
    blocks = np.empty((2, 2, rows), np.int64)
    own = np.empty((outputs, width), np.int64)
    return PersonBlocks(blocks[0], blocks[1], np.empty(rows, np.bool_), own)


@jit
def taken_rows(persons: Persons, g: int, rows: Ints) -> int:
    """Fill in which rows of person g step now; return their number, and advance the turn."""
    first = persons.starts[g]
    size = persons.starts[g + 1] - first
    taken = min(size, persons.most)
    turn = persons.turns[g]
    for r in range(taken):
        place = turn + r
        rows[r] = first + (place if place < size else place - size)
    if size > taken:
        persons.turns[g] = (turn + taken) % size
    return taken


@jit
def gather(persons: Persons, ids: Ints, first: int, rows: Ints, ends: Ints) -> tuple[int, int]:
    """Take whole persons from ``ids[first]`` on while `rows` has space; return numbers of both.

    `rows` gets row numbers, and `ends` the end of each person in it; turns advance.
    """
    count, taken = 0, 0
    while first + taken < ids.shape[0] and taken < ends.shape[0]:
        g = ids[first + taken]
        size = min(persons.starts[g + 1] - persons.starts[g], persons.most)
        if count + size > rows.shape[0]:
            break
        count += taken_rows(persons, g, rows[count:])
        ends[taken] = count
        taken += 1
    return taken, count


@jit
def weigh(ends: Ints, buffer: BlockBuffer) -> None:
    """Give every row of a block the weight of all rows that step with it."""
    begin = 0
    for p in range(ends.shape[0]):
        mass = 0.0
        for b in range(begin, ends[p]):
            if buffer.norm[b] > 0.0 and buffer.weight[b] > 0.0:
                mass += buffer.weight[b]
        for b in range(begin, ends[p]):
            buffer.mass[b] = mass
        begin = ends[p]


@jit
def first_factors(
    constants: StepConstants, ends: Ints, buffer: BlockBuffer, joint: npt.NDArray[np.bool_]
) -> None:
    """Replace squares by the factors of the steps before their sum is measured.

    `ends` says where in the block each person ends; `joint` is filled with whether the sum of a
    person's contributions may still be too long.

    Guarantee: where `joint` is false, all rows of the person together contribute no more than
    the clip, however each is cut toward zero. No row contributes more by itself, and one whose
    steps are not numbers nothing.
    Proof: docs/proofs/persons.md, "One clip".
    """
    limit = constants.clip * MARGIN
    begin = 0
    for p in range(ends.shape[0]):
        reach, largest = 0.0, 0.0
        for b in range(begin, ends[p]):
            length = math.sqrt(buffer.squares[b]) * buffer.norm[b]
            active = (buffer.norm[b] > 0.0) & (buffer.weight[b] > 0.0) & (length < np.inf)
            buffer.squares[b] = 1.0 if active else 0.0
            if active:
                reach += length
                largest = max(largest, length)
        joint[p] = not reach <= limit and ends[p] - begin > 1
        if largest > limit:
            for b in range(begin, ends[p]):
                buffer.squares[b] *= limit / largest
        begin = ends[p]


@jit
def shorten_sum(total: Ints, constants: StepConstants) -> float:
    """Shorten a person's contribution, in cells, to the clip, in place; return the factor.

    Guarantee: ``cell |total| <= clip``. One vector is cut toward zero, never longer.
    Proof: docs/proofs/persons.md, "One clip".
    """
    squares = 0.0
    for k in range(total.shape[0]):
        for j in range(total.shape[1]):
            entry = np.float64(total[k, j])
            squares += entry * entry
    length = math.sqrt(squares) * constants.cell
    limit = constants.clip * MARGIN
    if length <= limit:
        return 1.0
    factor = limit / length
    for k in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[k, j] = np.int64(factor * np.float64(total[k, j]))  # toward zero
    return factor
