"""Persons with several rows: the rows that step together, and the one clip of all their steps.

The rows of a person are adjacent. When a person is drawn its rows step together, up to a fixed
number at a time; their contribution is shortened as one vector.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit
from dpscd.kernels.block import BlockBuffer
from dpscd.kernels.dual import Records, StepConstants, plain_steps, release, shorten
from dpscd.kernels.margin import MARGIN
from dpscd.kernels.rows import Rows, add, add_truncated, move_out
from dpscd.losses import Loss

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Rows of a person that may step together: with more, whole numbers would not hold their sum.
MOST_ROWS = 2**14


class Persons(NamedTuple):
    """The rows of each person."""

    # of length persons + 1: the rows of person g are ``starts[g]`` to ``starts[g + 1]``
    starts: Ints
    turns: Ints  # next row of each person; secret, as it shows how often the person was drawn
    most: int  # rows of a person that step together: public, at most MOST_ROWS


class Desk(NamedTuple):
    """Workspace of two blocks of persons: this one and the next."""

    rows: Ints
    ends: Ints
    joint: npt.NDArray[np.bool_]
    own: Ints  # what one person contributes, in cells


def new_desk(rows: int, outputs: int, width: int) -> Desk:
    """Return the workspace for blocks of `rows` rows, and for a contribution."""
    blocks = np.empty((2, 2, rows), np.int64)
    own = np.empty((outputs, width), np.int64)
    return Desk(blocks[0], blocks[1], np.empty(rows, np.bool_), own)


@jit
def _taken(persons: Persons, g: int, rows: Ints) -> int:
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
    """Take whole persons from ``ids[first]`` on while `rows` has space for their rows.

    `rows`, which holds at least one person's, gets row numbers, and `ends` the end of each
    person in it; turns advance. Returned are the numbers of persons and of rows.
    """
    count, taken = 0, 0
    while first + taken < ids.shape[0] and taken < ends.shape[0]:
        g = ids[first + taken]
        size = min(persons.starts[g + 1] - persons.starts[g], persons.most)
        if count + size > rows.shape[0]:
            break
        count += _taken(persons, g, rows[count:])
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
    the clip, however each is cut toward zero: the sum of their lengths is within it. No row
    contributes more than the clip by itself. A row whose steps are no numbers is silent.
    Proof: docs/proofs/persons.md, "One clip".
    """
    limit = constants.clip * MARGIN
    begin = 0
    for p in range(ends.shape[0]):
        reach, largest = 0.0, 0.0
        for b in range(begin, ends[p]):
            length = math.sqrt(buffer.squares[b]) * buffer.norm[b]
            speaks = (buffer.norm[b] > 0.0) & (buffer.weight[b] > 0.0) & (length < np.inf)
            buffer.squares[b] = 1.0 if speaks else 0.0
            if speaks:
                reach += length
                largest = max(largest, length)
        joint[p] = not reach <= limit and ends[p] - begin > 1
        if largest > limit:
            for b in range(begin, ends[p]):
                buffer.squares[b] *= limit / largest
        begin = ends[p]


@jit
def shorten_sum(total: Ints, constants: StepConstants) -> float:
    """Shorten the contribution of a person to the clip, in place; return the factor.

    `total`, of shape (outputs, width), is the sum over the person's rows in whole cells.

    Guarantee: ``cell |total| <= clip``. One vector is cut toward zero, which never makes it
    longer; sums of vectors that were cut one by one may be.
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


@jit
def add_lot_of_persons(
    loss: Loss,
    rows: Rows,
    records: Records,
    persons: Persons,
    constants: StepConstants,
    ids: Ints,
    dual: Floats,
    shared: Floats,
    total: Floats,
) -> None:
    """Add the contributions of the persons `ids` of a lot to `total`, and move their duals.

    Guarantee: a person contributes no more than the clip, for every input; it depends on the
    person's own rows, duals and turn and on the released vector alone. A person of one row
    contributes what :func:`~dpscd.kernels.dual.add_lot` lets a record contribute, to the last
    bit. The total is exact, so parts of a lot may be added up anywhere; it is not yet noisy.
    Proof: docs/proofs/persons.md, "One clip".
    """
    outputs, width = shared.shape
    own = np.empty(persons.most, np.int64)
    steps = np.empty((persons.most, outputs))
    speaks = np.empty(persons.most, np.bool_)
    vectors = np.zeros((outputs, width))
    places, entries = np.empty((outputs, width), np.int64), np.empty((outputs, width))
    filled = np.empty(outputs, np.int64)
    limit = constants.clip * MARGIN
    for p in range(ids.shape[0]):
        taken = _taken(persons, ids[p], own)
        mass = 0.0
        for r in range(taken):
            weight = records.weights[own[r]]
            if rows.norm[own[r]] > 0.0 and weight > 0.0:
                mass += weight
        reach, largest = 0.0, 0.0
        for r in range(taken):
            i = own[r]
            speaks[r] = plain_steps(
                loss, rows, records, constants, shared, dual, i, mass, steps[r]
            )
            if not speaks[r]:
                continue
            if taken == 1:
                speaks[r] = shorten(steps[r], rows.norm[i], constants.clip)
                continue
            squares = 0.0
            for k in range(outputs):
                squares += steps[r, k] * steps[r, k]
            length = math.sqrt(squares) * rows.norm[i]
            speaks[r] = length < np.inf
            if speaks[r]:
                reach += length
                largest = max(largest, length)
        factor = 1.0
        if reach <= limit:  # of one row too, which is shortened already
            for r in range(taken):
                if speaks[r]:
                    for k in range(outputs):
                        add_truncated(rows, own[r], steps[r, k] / constants.cell, total[k])
        else:
            factor = min(1.0, limit / largest)
            filled[:] = 0
            for r in range(taken):
                if speaks[r]:
                    for k in range(outputs):
                        scale = steps[r, k] * factor / constants.cell
                        add(rows, own[r], scale, vectors[k])
            squares = 0.0
            for r in range(taken):
                if speaks[r]:
                    for k in range(outputs):
                        filled[k] = move_out(
                            rows, own[r], vectors[k], places[k], entries[k], filled[k]
                        )
            for k in range(outputs):
                for q in range(filled[k]):
                    squares += entries[k, q] * entries[k, q]
            length = math.sqrt(squares) * constants.cell
            more = limit / length if length > limit else 1.0
            for k in range(outputs):
                for q in range(filled[k]):
                    total[k, places[k, q]] += np.trunc(more * entries[k, q])
            factor *= more
        for r in range(taken):
            if speaks[r]:
                for k in range(outputs):
                    dual[own[r], k] += factor * steps[r, k]


@jit
def advance_persons(
    loss: Loss,
    rows: Rows,
    records: Records,
    persons: Persons,
    constants: StepConstants,
    ids: Ints,
    starts: Ints,
    normals: Floats,
    average_from: int,
    dual: Floats,
    shared: Floats,
    average: Floats,
) -> None:
    """Run a chunk of steps over persons, as :func:`dpscd.kernels.dual.advance` does.

    Guarantee: one step is the mechanism of docs/proofs/shared_vector.md with persons for
    records.
    Requires: lots of persons are Poisson and whole; normals are fresh.
    """
    outputs, width = shared.shape
    total = np.empty((outputs, width))
    for t in range(starts.shape[0] - 1):
        total[:] = 0.0
        members = ids[starts[t] : starts[t + 1]]
        add_lot_of_persons(
            loss, rows, records, persons, constants, members, dual, shared, total
        )
        for k in range(outputs):
            noise = normals[t, k * width : (k + 1) * width]
            release(total[k], noise, constants, shared[k])
        if t >= average_from:
            average += shared
