"""A block of rows of a lot: from predictions to clipped steps and new duals."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpscd.kernels._jit import jit_inlined
from dpscd.kernels._memory import on_lines
from dpscd.kernels.dual import StepConstants
from dpscd.kernels.rows import MARGIN
from dpscd.late import overload, register_jitable
from dpscd.losses import Loss, dual_step, fill_steps, is_joint

Floats = npt.NDArray[np.float64]


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

    The steps of a row depend on this row, on its own duals, on the weight of the rows that step
    with it and on the released vector alone.
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
