"""Lots of records, or of persons, on rows in floating point: the mechanism's reference."""

import math

import numpy as np

from dpscd.kernels._jit import jit
from dpscd.kernels.dual import Records, StepConstants, plain_steps, release, shorten, step_of
from dpscd.kernels.persons import Persons, taken_rows
from dpscd.kernels.rows import MARGIN, Floats, Ints, Rows, add, add_truncated, move_out
from dpscd.losses import Loss


@jit
def _add_records(
    loss: Loss, rows: Rows, records: Records, constants: StepConstants, ids: Ints, dual: Floats,
    shared: Floats, total: Floats,
) -> None:  # fmt: skip
    """Add the contributions of the records `ids` to `total`, and move their duals."""
    outputs = shared.shape[0]
    steps = np.empty(outputs)
    for p in range(ids.shape[0]):
        i = ids[p]
        if step_of(loss, rows, records, constants, shared, dual, i, steps):
            for k in range(outputs):
                dual[i, k] += steps[k]
                add_truncated(rows, i, steps[k] / constants.cell, total[k])


@jit
def _add_persons(
    loss: Loss, rows: Rows, records: Records, persons: Persons, constants: StepConstants,
    ids: Ints, dual: Floats, shared: Floats, total: Floats,
) -> None:  # fmt: skip
    """Add the contributions of the persons `ids` to `total`, and move their duals."""
    outputs, width = shared.shape
    own = np.empty(persons.most, np.int64)
    steps = np.empty((persons.most, outputs))
    active = np.empty(persons.most, np.bool_)
    vectors = np.zeros((outputs, width))
    places, entries = np.empty((outputs, width), np.int64), np.empty((outputs, width))
    filled = np.empty(outputs, np.int64)
    limit = constants.clip * MARGIN
    for p in range(ids.shape[0]):
        taken = taken_rows(persons, ids[p], own)
        mass = 0.0
        for r in range(taken):
            weight = records.weights[own[r]]
            if rows.norm[own[r]] > 0.0 and weight > 0.0:
                mass += weight
        reach, largest = 0.0, 0.0
        for r in range(taken):
            i = own[r]
            active[r] = plain_steps(
                loss, rows, records, constants, shared, dual, i, mass, steps[r]
            )
            if not active[r]:
                continue
            if taken == 1:
                active[r] = shorten(steps[r], rows.norm[i], constants.clip)
                continue
            squares = 0.0
            for k in range(outputs):
                squares += steps[r, k] * steps[r, k]
            length = math.sqrt(squares) * rows.norm[i]
            active[r] = length < np.inf
            if active[r]:
                reach += length
                largest = max(largest, length)
        factor = 1.0
        if reach <= limit:  # of one row too, which is shortened already
            for r in range(taken):
                if active[r]:
                    for k in range(outputs):
                        add_truncated(rows, own[r], steps[r, k] / constants.cell, total[k])
        else:
            factor = min(1.0, limit / largest)
            filled[:] = 0
            for r in range(taken):
                if active[r]:
                    for k in range(outputs):
                        scale = steps[r, k] * factor / constants.cell
                        add(rows, own[r], scale, vectors[k])
            squares = 0.0
            for r in range(taken):
                if active[r]:
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
            if active[r]:
                for k in range(outputs):
                    dual[own[r], k] += factor * steps[r, k]


@jit
def add_lot(
    loss: Loss, rows: Rows, records: Records, constants: StepConstants, ids: Ints, dual: Floats,
    shared: Floats, total: Floats, persons: Persons | None = None,
) -> None:  # fmt: skip
    """Add what the members `ids` of a lot contribute to `total`, and move their duals.

    Guarantee: a member, a record or a person, contributes no more than the clip, for every
    input; it depends on the member's own rows, duals and turn and on the released vector alone.
    A person of one row contributes what a record does, to the last bit. The total is exact, so
    parts of a lot may be added up anywhere; it is not yet noisy.
    Proof: docs/proofs/shared_vector.md, docs/proofs/persons.md, "One clip".
    """
    if persons is None:
        _add_records(loss, rows, records, constants, ids, dual, shared, total)
    else:
        _add_persons(loss, rows, records, persons, constants, ids, dual, shared, total)


@jit
def advance(
    loss: Loss, rows: Rows, records: Records, constants: StepConstants, ids: Ints, starts: Ints,
    normals: Floats, average_from: int, dual: Floats, shared: Floats, average: Floats,
    persons: Persons | None = None,
) -> None:  # fmt: skip
    """Run a chunk of steps, one per entry of `starts` but the last.

    Members of step t, records or `persons`, are ``ids[starts[t]:starts[t + 1]]``; row t of
    `normals` is its noise. From step `average_from` of the chunk on, the shared vector is added
    to `average`. The secret `dual`, of shape (records, outputs), and `shared` and `average`, of
    shape (outputs, width), change in place.

    Guarantee: one step is the mechanism of docs/proofs/shared_vector.md.
    Requires: lots are Poisson and whole; normals are fresh. All steps of a lot are computed
    from the shared vector as it was before the lot.
    """
    outputs, width = shared.shape
    total = np.empty((outputs, width))
    for t in range(starts.shape[0] - 1):
        total[:] = 0.0
        members = ids[starts[t] : starts[t + 1]]
        add_lot(loss, rows, records, constants, members, dual, shared, total, persons)
        for k in range(outputs):
            noise = normals[t, k * width : (k + 1) * width]
            release(total[k], noise, constants, shared[k])
        if t >= average_from:
            average += shared
