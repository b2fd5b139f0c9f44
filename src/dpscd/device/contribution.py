"""Dual steps of members by the formulas of dpscd.losses, as whole numbers of checked length."""

from typing import Any, NamedTuple

import jax.numpy as jnp

from dpscd.device.rows import LARGEST_CUT, Members, margins

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
    """Return the contributions of members of a lot, from the same rounded shared vector.

    Guarantee: that of :func:`clipped`; what a member contributes is a function of its record,
    its own duals and the released vector alone.
    Proof: docs/proofs/tensor_cores.md.
    """
    work = work_type(loss)
    high, low, unit = shared
    whole = margins(members.high, members.low, high, low, work)
    scale = (members.scale * (256.0 / numbers.strength)).astype(work)
    u = whole * scale[:, None] * unit.astype(work)
    weight = jnp.where(members.weight > 0.0, members.weight, 1.0)  # it is inactive
    norm = members.scale * jnp.sqrt(members.squares)
    curvature = weight * separability * norm * norm / numbers.strength
    steps = dual_steps(
        loss, u, duals, members.label.astype(work), weight.astype(work), curvature.astype(work)
    )
    return clipped(numbers, members, steps)


def clipped(numbers: Numbers, members: Members, steps: Any) -> Cut:
    """Shorten steps, cut them toward zero to whole numbers of cells and check these.

    Guarantee: the vector of all ``cut cell q`` of a member, over all outputs, is no longer than
    the clip, for every input, NaN and infinity included: its square is computed from the whole
    numbers themselves, and a member for which it is too large contributes nothing.
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
    active = (members.scale > 0.0) & (members.weight > 0.0) & (length < jnp.inf)
    active &= jnp.all(jnp.isfinite(cells), axis=1)
    cells = jnp.where(active[:, None], cells, 0.0)
    cut = jnp.clip(cells, -LARGEST_CUT, LARGEST_CUT).astype(jnp.int32)
    squares = jnp.sum(cut.astype(jnp.int64) ** 2, axis=1).astype(jnp.float64)
    allowed = (numbers.clip / numbers.cell) ** 2 * _LEFT
    active &= squares * members.squares <= allowed
    return Cut(
        jnp.where(active[:, None], cut, 0), jnp.where(active[:, None], steps, 0.0).astype(work)
    )


_STEEPEST = 1e140  # squares of larger curvatures leave the range of doubles
_LOWEST = -700.0  # exp(-700) is 1e-304: zero for every purpose here
# Sums over outputs are of multiples of 2^-40, and fit 64 bits for up to 2^20 outputs.
_FINE = 2.0**40


def work_type(loss: str) -> Any:
    """Return the type that steps and duals are computed in: single for many classes."""
    return jnp.float32 if loss == "softmax" else jnp.float64


def sum_of_parts(parts: Any) -> Any:
    """Return the sum over outputs of numbers from 0 to 4, the same in every order."""
    # Each is first cut to a multiple of 2^-40, so that the sum is one of whole numbers.
    whole = jnp.sum((parts * _FINE).astype(jnp.int64), axis=1, dtype=jnp.int64)
    return whole.astype(parts.dtype) * (1.0 / _FINE)


def dual_steps(loss: str, u: Any, a: Any, label: Any, weight: Any, k: Any) -> Any:
    """Return the steps of members, not yet clipped; `k` is the curvature of each."""
    # Predictions `u` and duals `a` have shape (members, outputs); weights are positive.
    outputs = u.shape[1]
    y = label[:, None]
    weight, k = weight[:, None], k[:, None]
    if loss == "softmax":
        return _softmax(u, a / weight, y == jnp.arange(outputs), weight, k)
    if outputs > 1:
        y = jnp.where(y == jnp.arange(outputs), 1.0, -1.0)
    one = {"squared": _squared, "logistic": _logistic, "hinge": _hinge}[loss]
    return weight * one(u, a / weight, y, k)


def _squared(u: Any, a: Any, y: Any, k: Any) -> Any:
    return (y - u - a) / (1.0 + k)


def _hinge(u: Any, a: Any, y: Any, k: Any) -> Any:
    b = jnp.clip(y * a, 0.0, 1.0)
    ahead = 1.0 - y * u
    flat = jnp.where(ahead > 0.0, y, 0.0) - a
    curved = y * jnp.clip(b + ahead / jnp.where(k > 0.0, k, 1.0), 0.0, 1.0) - a
    return jnp.where(k > 0.0, curved, flat)


def _logistic(u: Any, a: Any, y: Any, k: Any) -> Any:
    """Solve ``s + k sigmoid(s) = p`` by Halley's method, as dpscd.losses.logistic does."""
    k = jnp.minimum(k, _STEEPEST)
    p = k * jnp.clip(y * a, 0.0, 1.0) - y * u
    near = jnp.minimum(p, k - p)
    x = near + jnp.log(k - jnp.clip(near, 0.0, 0.5 * k))
    above = jnp.maximum(x, 0.0)
    w = above - jnp.log1p(above) + 0.567 / (1.0 + 0.2 * above + (above - x))
    s = jnp.minimum(near - w, 0.0)
    r, move = _halley(s, near, k)
    r, move = _halley(s - move, near, k)
    b = r - r * (1.0 - r) * move * (1.0 - 0.5 * move * (1.0 - 2.0 * r))
    return y * jnp.where(p > 0.5 * k, 1.0 - b, b) - a


def _halley(s: Any, p: Any, k: Any) -> tuple[Any, Any]:
    e = jnp.exp(jnp.maximum(s, _LOWEST))
    r = e / (1.0 + e)
    bend = k * r * (1.0 - r)
    steep = 1.0 + bend
    above = s + k * r - p
    return r, 2.0 * above * steep / (2.0 * steep * steep - above * bend * (1.0 - 2.0 * r))


def _softmax(u: Any, a: Any, own: Any, weight: Any, k: Any) -> Any:
    """Move from p towards softmax(u) by the step of :mod:`dpscd.losses.softmax`."""
    e = jnp.exp(u - jnp.max(u, axis=1, keepdims=True))
    probability = e / sum_of_parts(e)[:, None]
    direction = (jnp.where(own, 1.0, 0.0).astype(u.dtype) - a) - probability
    size = sum_of_parts(jnp.abs(direction))[:, None]
    square = size * size
    below = square + k * sum_of_parts(direction * direction)[:, None]
    return direction * (weight * square / jnp.where(below != 0.0, below, 1.0))
