"""Parts of the secret-dual mechanism on rows in floating point: steps, clip and noise."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit, jit_uncounted
from dpscd.kernels.rows import MARGIN, Rows, ordered_dot
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

    With several outputs `labels` are class numbers: record i is +1 for its own class and -1 for
    others.
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
    loss: Loss, rows: Rows, records: Records, constants: StepConstants, shared: Floats,
    dual: Floats, i: int, mass: float, steps: Floats,
) -> bool:  # fmt: skip
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
    loss: Loss, rows: Rows, records: Records, constants: StepConstants, shared: Floats,
    dual: Floats, i: int, steps: Floats,
) -> bool:  # fmt: skip
    """Compute record i's clipped steps for all outputs; return whether it contributes.

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

    Guarantee: with S = cell * total and xi = grid * spread * normals, shared moves by ``grid
    floor((S + xi) / grid + 1/2)``: a function of S + xi, hence post-processing of the Gaussian
    mechanism. S / grid is split into a whole part and a rest, so that no precision of xi is
    lost.
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
def predictions(rows: Rows, shared: Floats, strength: float, out: Floats) -> None:
    """Fill `out` with each record's prediction by one output's shared vector.

    An unusable record gets NaN: its indices must not be followed.
    """
    for i in range(out.shape[0]):
        out[i] = np.nan
        if rows.norm[i] >= 0.0:
            out[i] = ordered_dot(rows, i, shared) / strength
