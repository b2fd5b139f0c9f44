"""Steps, clip and noise of the secret-dual mechanism: of one record, and of a block of rows."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit, jit_inlined, jit_uncounted
from dpscd.kernels._memory import LINE
from dpscd.kernels.rows import MARGIN, Floats, Rows, ordered_dot
from dpscd.late import overload, register_jitable
from dpscd.losses import Loss, dual_step, fill_steps, is_joint, record_steps

Memory = Callable[[int], npt.NDArray[np.uint8]]


class StepConstants(NamedTuple):
    """Public numbers of a chunk, all fixed before the data are seen."""

    strength: float  # ``lam n`` in internal units: predictions are ``x . shared / strength``
    separability: float  # damping factor of the steps of one lot
    clip: float  # longest contribution of a record to a lot
    cell: float  # a power of two; contributions are cut to multiples of it
    grid: float  # a power of two; the shared vector moves in multiples of it
    spread: float  # standard deviation of the noise, in units of `grid`


class Records(NamedTuple):
    """Label and weight of each record; with several outputs labels are class numbers."""

    labels: Floats
    weights: Floats


@jit
def shorten(steps: Floats, norm: float, clip: float) -> bool:
    """Scale `steps` down until a record of length `norm` contributes at most `clip`.

    Guarantee: ``|steps| norm <= clip (1 - 2^-21)`` for every input, or False is returned: a
    step is NaN or infinite, and the record contributes nothing.
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

    They depend on record i, its own duals, the released `shared` and `mass` alone: the weight
    of all records that step with this one as one unit.
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
    floor((S + xi) / grid + 1/2)``, a function of S + xi: post-processing of the Gaussian
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


def unwritten(size: int) -> npt.NDArray[np.uint8]:
    """Return bytes that are not initialised."""
    return np.empty(size, np.uint8)


def on_lines(
    shape: tuple[int, ...], kind: npt.DTypeLike = np.float64, memory_of: Memory = unwritten
) -> npt.NDArray[Any]:
    """Return an uninitialised array that is aligned to a line of memory."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    memory = memory_of(size + LINE)
    skipped = -memory.ctypes.data % LINE
    return memory[skipped : skipped + size].view(kind).reshape(shape)


class BlockBuffer(NamedTuple):
    """Buffers of a block: one number per row, or one per output and row."""

    scale: Floats
    norm: Floats
    label: Floats
    weight: Floats
    mass: Floats  # weight of all rows of the same unit that step together
    squares: Floats  # of steps; then what steps are multiplied by
    steps: Floats  # predictions at first
    duals: Floats
    cells: npt.NDArray[np.int32]
    workspace: Floats  # for joint losses: four numbers a row


def new_buffer(outputs: int, block: int) -> BlockBuffer:
    """Return buffers for `block` rows."""
    scale, norm, label, weight, mass, squares = on_lines((6, block))
    return BlockBuffer(
        scale,
        norm,
        label,
        weight,
        mass,
        squares,
        on_lines((outputs, block)),
        on_lines((outputs, block)),
        on_lines((outputs, block), np.int32),
        on_lines((4, block)),
    )


@jit_inlined
def step_block(loss: Loss, constants: StepConstants, count: int, buffer: BlockBuffer) -> None:
    """Turn predictions into steps, not yet clipped, and add up their squares over outputs.

    Steps of a row depend on this row, its duals, its `mass` and the released vector alone.
    """
    _fill_block(loss, constants, count, buffer)


@register_jitable(forceinline=True)
def _curvature(constants: StepConstants, buffer: BlockBuffer, b: int) -> float:
    norm = buffer.norm[b]
    return buffer.mass[b] * constants.separability * norm * norm / constants.strength


@register_jitable(forceinline=True)
def _fill_separate(
    loss: Loss, constants: StepConstants, count: int, buffer: BlockBuffer
) -> None:
    """Fill steps output by output, in loops of vector instructions over the rows."""
    outputs = buffer.steps.shape[0]
    for b in range(count):
        buffer.squares[b] = 0.0
    for k in range(outputs):
        steps, duals = buffer.steps[k], buffer.duals[k]
        for b in range(count):
            label, weight = buffer.label[b], buffer.weight[b]
            weight = weight if weight > 0.0 else 1.0  # it is inactive
            if outputs > 1:
                label = 1.0 if label == k else -1.0
            curvature = _curvature(constants, buffer, b)
            # A loss of weight w has w times the conjugate, at the dual divided by w.
            step = weight * dual_step(loss, steps[b], duals[b] / weight, label, curvature)
            steps[b] = step
            buffer.squares[b] += step * step


@register_jitable
def _fill_joint(loss: Loss, constants: StepConstants, count: int, buffer: BlockBuffer) -> None:
    """Fill steps for all outputs together."""
    weight, curvature = buffer.squares, buffer.workspace[3]
    for b in range(count):
        weight[b] = buffer.weight[b] if buffer.weight[b] > 0.0 else 1.0  # it is inactive
        curvature[b] = _curvature(constants, buffer, b)
    steps, duals = buffer.steps, buffer.duals
    fill_steps(loss, count, buffer.label, weight, curvature, duals, steps, buffer.workspace)
    for b in range(count):
        buffer.squares[b] = 0.0
    for k in range(steps.shape[0]):
        for b in range(count):
            buffer.squares[b] += steps[k, b] * steps[k, b]


def _fill_block(loss: Loss, constants: StepConstants, count: int, buffer: BlockBuffer) -> None:
    (_fill_joint if is_joint(loss) else _fill_separate)(loss, constants, count, buffer)


@overload(_fill_block, strict=False, jit_options={"forceinline": True})
def _fill_compiled(loss, constants, count, buffer):  # pragma: no cover - runs in the compiler
    return _fill_joint if is_joint(loss.instance_class) else _fill_separate


@jit_inlined
def shorten_alone(constants: StepConstants, count: int, buffer: BlockBuffer) -> None:
    """Replace squares by the factors that clip the steps of each row as a unit by itself."""
    limit = constants.clip * MARGIN
    for b in range(count):
        length = math.sqrt(buffer.squares[b]) * buffer.norm[b]
        active = (buffer.norm[b] > 0.0) & (buffer.weight[b] > 0.0) & (length < np.inf)
        factor = limit / length if length > limit else 1.0
        buffer.squares[b] = factor if active else 0.0


@jit_inlined
def cut_steps(constants: StepConstants, count: int, buffer: BlockBuffer) -> None:
    """Multiply steps by their factors, and give whole numbers of cells, toward zero."""
    fine = 1.0 / constants.cell
    for k in range(buffer.steps.shape[0]):
        steps, cells = buffer.steps[k], buffer.cells[k]
        for b in range(count):
            factor = buffer.squares[b]
            step = steps[b] * factor if factor > 0.0 else 0.0
            steps[b] = step
            cells[b] = np.int32(step * buffer.scale[b] * fine)  # toward zero


@jit_inlined
def move_duals(count: int, buffer: BlockBuffer) -> None:
    """Add the steps to the duals."""
    for k in range(buffer.steps.shape[0]):
        steps, duals = buffer.steps[k], buffer.duals[k]
        for b in range(count):
            duals[b] += steps[b]


@jit_inlined
def solve_block(loss: Loss, constants: StepConstants, count: int, buffer: BlockBuffer) -> None:
    """Turn predictions into clipped steps, new duals and whole numbers of cells.

    Guarantee: where each row is a unit by itself, the vector of all ``cells[k, b] cell q_b`` of
    row b, over all outputs k, is no longer than the clip, for every input, NaN and infinity
    included; it depends on record b, its own duals and the released vector alone.
    Requires: masses are weights.
    Proof: docs/proofs/shared_vector.md, "Fixed point".
    """
    step_block(loss, constants, count, buffer)
    shorten_alone(constants, count, buffer)
    cut_steps(constants, count, buffer)
    move_duals(count, buffer)
