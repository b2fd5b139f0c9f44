"""Compiled core: a chunk of lots of the secret-dual mechanism."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit, jit_uncounted
from dpscd.kernels.margin import MARGIN
from dpscd.kernels.rows import Rows, add_truncated, ordered_dot
from dpscd.losses import Loss, record_steps

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class StepConstants(NamedTuple):
    """Public numbers of a chunk, all fixed before the data are seen."""

    strength: float  # ``lam n`` in internal units: predictions are ``x . shared / strength``
    separability: float  # damping factor of the steps of one lot
    clip: float  # longest contribution of a record to a lot
    cell: float  # a power of two; contributions are cut to multiples of it
    grid: float  # a power of two; the shared vector moves in multiples of it
    spread: float  # standard deviation of the noise, in units of `grid`


class Records(NamedTuple):
    """Label and weight of each record.

    With one output `labels` are the labels themselves; with several they are class numbers, and
    record i is +1 for its own class and -1 for the others.
    """

    labels: Floats
    weights: Floats


@jit
def shorten(steps: Floats, norm: float, clip: float) -> bool:
    """Scale `steps` down until a record of length `norm` contributes at most `clip`.

    Returns whether the record contributes: not if a step is NaN or infinite.

    Guarantee: then ``|steps| norm <= clip (1 - 2^-21)`` for every input.
    Proof: docs/proofs/shared_vector.md, "The contribution of one record".
    """
    squares = 0.0
    for k in range(steps.shape[0]):
        squares += steps[k] * steps[k]
    length = math.sqrt(squares) * norm
    limit = clip * MARGIN
    if length <= limit:
        return True
    if not length < np.inf:
        return False
    for k in range(steps.shape[0]):
        steps[k] *= limit / length
    return True


@jit
def plain_steps(
    loss: Loss,
    rows: Rows,
    records: Records,
    constants: StepConstants,
    shared: Floats,
    dual: Floats,
    i: int,
    mass: float,
    steps: Floats,
) -> bool:
    """Compute record i's steps for all outputs, not clipped; return whether it has any.

    `mass` is the weight of all records that step with this one as one unit, its own included.
    `steps` depend on record i, its own duals, `mass` and the released `shared` alone.
    """
    weight = records.weights[i]
    norm = rows.norm[i]
    if not (norm > 0.0 and weight > 0.0):
        return False
    curvature = mass * constants.separability * norm * norm / constants.strength
    for k in range(steps.shape[0]):
        steps[k] = ordered_dot(rows, i, shared[k]) / constants.strength
    record_steps(loss, records.labels[i], weight, curvature, dual[i], steps)
    return True


@jit
def step_of(
    loss: Loss,
    rows: Rows,
    records: Records,
    constants: StepConstants,
    shared: Floats,
    dual: Floats,
    i: int,
    steps: Floats,
) -> bool:
    """Compute record i's clipped steps for all outputs.

    Returns whether the record contributes; `steps` is then filled.

    Guarantee: ``|steps| |record i| <= clip (1 - 2^-21)`` for every input, NaN and infinity
    included; the steps depend on record i, its own duals and the released `shared` alone.
    Proof: docs/proofs/shared_vector.md, "The contribution of one record".
    """
    mass = records.weights[i]
    if not plain_steps(loss, rows, records, constants, shared, dual, i, mass, steps):
        return False
    return shorten(steps, rows.norm[i], constants.clip)


@jit_uncounted
def release(total: Floats, normals: Floats, constants: StepConstants, shared: Floats) -> None:
    """Add the exact sum of a lot and its noise to the shared vector, on the grid.

    Guarantee: with S = cell * total and xi = grid * spread * normals, shared moves by
    ``grid floor((S + xi) / grid + 1/2)``: a function of S + xi, hence post-processing
    of the Gaussian mechanism. S / grid is split into its whole part, which commutes with
    the floor, and a rest in [0, 1), so that no precision of xi is lost to a large S.
    Requires: every coordinate, every step, empty lots too.
    Proof: docs/proofs/shared_vector.md, "Numbers, not reals".
    """
    fine = constants.cell / constants.grid
    for j in range(shared.shape[0]):
        exact = total[j] * fine
        whole = math.floor(exact)
        rest = exact - whole
        moved = whole + math.floor(rest + constants.spread * normals[j] + 0.5)
        shared[j] += constants.grid * moved


@jit
def add_lot(
    loss: Loss,
    rows: Rows,
    records: Records,
    constants: StepConstants,
    ids: Ints,
    dual: Floats,
    shared: Floats,
    total: Floats,
) -> None:
    """Add what the members `ids` of one lot contribute to `total`, and move their duals.

    Guarantee: that of :func:`step_of` and :func:`~dpscd.kernels.rows.add_truncated`, for
    every member. The total is exact, so parts of a lot may be added up anywhere; it is not
    yet noisy.
    """
    outputs = shared.shape[0]
    steps = np.empty(outputs)
    for p in range(ids.shape[0]):
        i = ids[p]
        if step_of(loss, rows, records, constants, shared, dual, i, steps):
            for k in range(outputs):
                dual[i, k] += steps[k]
                add_truncated(rows, i, steps[k] / constants.cell, total[k])


@jit
def advance(
    loss: Loss,
    rows: Rows,
    records: Records,
    constants: StepConstants,
    ids: Ints,
    starts: Ints,
    normals: Floats,
    average_from: int,
    dual: Floats,
    shared: Floats,
    average: Floats,
) -> None:
    """Run a chunk of steps, one per entry of `starts` but the last.

    Members of step t are ``ids[starts[t]:starts[t + 1]]``. `normals`, of shape (steps, outputs
    * width), has one standard normal per step and coordinate. From step `average_from` of the
    chunk on, the shared vector is added to `average`. The secret `dual`, of shape (records,
    outputs), and `shared` and `average`, of shape (outputs, width), are changed in place.

    Guarantee: one step is the mechanism of docs/proofs/shared_vector.md.
    Requires: lots are Poisson and whole; normals are fresh. All steps of a lot are
    computed from the shared vector as it was before the lot.
    """
    outputs, width = shared.shape
    total = np.empty((outputs, width))
    for t in range(starts.shape[0] - 1):
        total[:] = 0.0
        members = ids[starts[t] : starts[t + 1]]
        add_lot(loss, rows, records, constants, members, dual, shared, total)
        for k in range(outputs):
            noise = normals[t, k * width : (k + 1) * width]
            release(total[k], noise, constants, shared[k])
        if t >= average_from:
            average += shared


@jit
def predictions(rows: Rows, shared: Floats, strength: float, out: Floats) -> None:
    """Fill `out` with each record's prediction by one output's shared vector.

    An unusable record gets NaN: its indices must not be followed.
    """
    for i in range(out.shape[0]):
        out[i] = np.nan
        if rows.norm[i] >= 0.0:
            out[i] = ordered_dot(rows, i, shared) / strength
