"""Contributions of members: steps become whole numbers whose length is checked."""

from typing import Any, NamedTuple

import jax.numpy as jnp

from dpscd.device.limbs import LARGEST_CUT, margins
from dpscd.device.rows import Members
from dpscd.device.steps import dual_steps, sum_of_parts, work_type

# Steps are shortened to this part of the clip, so that rounding rarely lifts one above.
_SHORTER = 1.0 - 2.0**-12
# What is left of the square of the clip for rounding in the check itself.
_LEFT = 1.0 - 2.0**-20


class Numbers(NamedTuple):
    """Public numbers of a training, float64 except for whole numbers and the threshold."""

    count: Any  # number of records
    threshold: Any  # uint32: the largest random word of a member
    strength: Any  # these as in :class:`dpscd.kernels.dual.StepConstants`
    clip: Any
    cell: Any
    grid: Any
    spread: Any
    bits: Any  # a grid has 2^bits cells
    average_from: Any  # the first step that is averaged


class Cut(NamedTuple):
    """Contributions of members and moves of their duals, of shape (members, outputs)."""

    cut: Any
    moves: Any


def contributions(
    loss: str, numbers: Numbers, separability: Any, members: Members, shared: Any, duals: Any
) -> Cut:
    """Return the contributions of members of a lot, all from the same shared vector.

    `shared` is that of :func:`~dpscd.device.limbs.rounded_shared`; `duals`, of shape (members,
    outputs), are the members'.

    Guarantee: that of :func:`clipped`; and what a member contributes is a function of its
    record, its own duals and the released vector alone.
    Proof: docs/proofs/tensor_cores.md.
    """
    work = work_type(loss)
    high, low, unit = shared
    whole = margins(members.high, members.low, high, low, work)
    scale = (members.scale * (256.0 / numbers.strength)).astype(work)
    u = whole * scale[:, None] * unit.astype(work)
    weight = jnp.where(members.weight > 0.0, members.weight, 1.0)  # it will not speak
    norm = members.scale * jnp.sqrt(members.squares)
    curvature = weight * separability * norm * norm / numbers.strength
    steps = dual_steps(
        loss, u, duals, members.label.astype(work), weight.astype(work), curvature.astype(work)
    )
    return clipped(numbers, members, steps)


def clipped(numbers: Numbers, members: Members, steps: Any) -> Cut:
    """Shorten steps, cut them toward zero to whole numbers of cells and check these.

    Guarantee: the vector of all ``cut cell q`` of a member, over all outputs, is no longer
    than the clip, for every input, NaN and infinity included: its square is computed from the
    whole numbers themselves, and a member for which it is too large contributes nothing.
    Proof: docs/proofs/tensor_cores.md, "What a record can move".
    """
    work = steps.dtype
    norm = members.scale * jnp.sqrt(members.squares)
    top = jnp.max(jnp.abs(steps), axis=1)
    shares = steps / jnp.where(top > 0.0, top, 1.0)[:, None]
    length = top * jnp.sqrt(sum_of_parts(shares * shares)) * norm.astype(work)
    limit = (numbers.clip * _SHORTER).astype(work)
    factor = jnp.where(length > limit, limit / length, 1.0)
    steps = steps * factor[:, None]
    fine = (members.scale / numbers.cell).astype(work)
    cells = jnp.trunc(steps * fine[:, None])  # toward zero
    speaks = (members.scale > 0.0) & (members.weight > 0.0) & (length < jnp.inf)
    speaks &= jnp.all(jnp.isfinite(cells), axis=1)
    cells = jnp.where(speaks[:, None], cells, 0.0)
    cut = jnp.clip(cells, -LARGEST_CUT, LARGEST_CUT).astype(jnp.int32)
    squares = jnp.sum(cut.astype(jnp.int64) ** 2, axis=1).astype(jnp.float64)
    allowed = (numbers.clip / numbers.cell) ** 2 * _LEFT
    speaks &= squares * members.squares <= allowed
    return Cut(
        jnp.where(speaks[:, None], cut, 0), jnp.where(speaks[:, None], steps, 0.0).astype(work)
    )
