"""A training on the device: chunks of steps, each lot in blocks of fixed size."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax

from dpscd.device.backend import compiled, exactly
from dpscd.device.contribution import Numbers, contributions, work_type
from dpscd.device.random import draw_lot, draw_normals, key_of
from dpscd.device.rows import MOST, DeviceRows, gather, rounded_shared, sums

Floats = npt.NDArray[np.float64]

# Numbers of a block of members that are worked on at once, at most: rows times outputs.
_ENTRIES = 2**26
_ALIGNED = 64


class Job(NamedTuple):
    """Static facts of the compiled code: a loss and sizes; all public."""

    loss: str  # the name of its class in lower case
    outputs: int  # the shape of the shared vector is (outputs, width)
    width: int
    block: int  # members of a lot that are processed together


class DampingState(NamedTuple):
    """Damping, the first and the last vector of a group, and the squares between them."""

    separability: Any
    first: Any
    last: Any
    moved: Any


def new_damping(start: float, shared: Any) -> DampingState:
    """Return the state before the first step."""
    # Arrays of their own: each is written in its place.
    return DampingState(
        jnp.asarray(start, jnp.float64),
        shared.copy(),
        shared.copy(),
        jnp.asarray(0.0, jnp.float64),
    )


def damping_before(rule: Any, step: Any, shared: Any, state: DampingState) -> DampingState:
    """Return the state with the damping of a step, by the rule of :mod:`dpscd.solvers.dp_scd`.

    Guarantee: a function of public numbers and of released vectors.
    """
    place = step % rule.period
    looks = place < rule.seen
    begins = place == 0
    first = jnp.where(begins, shared, state.first)
    gone = jnp.where(begins, 0.0, jnp.sum((shared - state.last) ** 2))
    moved = jnp.where(begins, 0.0, state.moved) + jnp.where(looks, gone, 0.0)
    left = jnp.sum((shared - first) ** 2)
    swings = (moved > rule.more * rule.expected) & (left < rule.left * moved)
    raised = jnp.minimum(2.0 * state.separability, rule.most)
    rises = swings & (place == rule.seen - 1)
    return DampingState(jnp.where(rises, raised, state.separability), first, shared, moved)


class State(NamedTuple):
    """State of a training between steps; duals and their number are secret."""

    shared: Any
    average: Any
    dual: Any
    damping: DampingState


def block_for(lot_size: float, outputs: int) -> int:
    """Return how many members of a lot are processed together, from public numbers."""
    # So that a lot is rarely a little larger than a whole number of blocks.
    most = min(MOST, max(_ALIGNED, _ENTRIES // outputs // _ALIGNED * _ALIGNED))
    share = lot_size / math.ceil(max(lot_size, 1.0) / most)
    wanted = math.ceil((share + 4.0 * math.sqrt(share) + 1.0) / _ALIGNED) * _ALIGNED
    return min(wanted, most)


def new_state(job: Job, room: int, separability: float) -> State:
    """Return the state before the first step: all zero."""
    shared = jnp.zeros((job.outputs, job.width))
    return State(
        shared,
        jnp.zeros_like(shared),
        jnp.zeros((room, job.outputs), work_type(job.loss)),
        new_damping(separability, shared),
    )


def release(total: Any, normals: Any, numbers: Numbers, shared: Any) -> Any:
    """Return the shared vector with the exact sum of a lot and its noise, on the grid.

    Guarantee: that of :func:`dpscd.kernels.packed.release_cells`, the same formula.
    Requires: every coordinate, every step, empty lots too.
    Proof: docs/proofs/shared_vector.md, "Numbers, not reals".
    """
    whole = total >> numbers.bits
    rest = (total - (whole << numbers.bits)).astype(jnp.float64) * (numbers.cell / numbers.grid)
    drawn = jnp.floor(rest + numbers.spread * normals + 0.5).astype(jnp.int64)
    return shared + numbers.grid * (whole + drawn).astype(jnp.float64)


def _lot_sum(
    job: Job, rows: DeviceRows, numbers: Numbers, lot: Any, state: State
) -> tuple[Any, Any]:
    """Return the exact sum of a lot, and the duals after it."""
    ids, size = lot
    padded = 4 * rows.high.shape[1]
    shared = rounded_shared(state.shared, padded)

    def add_block(number: Any, carried: tuple[Any, Any]) -> tuple[Any, Any]:
        total, dual = carried
        mine = lax.dynamic_slice(ids, (number * job.block,), (job.block,))
        members = gather(rows, mine)
        duals = jnp.take(dual, mine, axis=0, mode="fill", fill_value=0)
        found = contributions(
            job.loss, numbers, state.damping.separability, members, shared, duals
        )
        dual = dual.at[mine].set(
            duals + found.moves, mode="drop", unique_indices=True, indices_are_sorted=True
        )
        return total + sums(members.high, members.low, found.cut), dual

    blocks = (size + job.block - 1) // job.block
    nothing = jnp.zeros((job.outputs, padded), jnp.int64)
    total, dual = lax.fori_loop(0, blocks, add_block, (nothing, state.dual))
    return total[:, : job.width], dual


def _run_steps(
    job: Job, rows: DeviceRows, numbers: Numbers, rule: Any, key: Any, state: State,
    first: Any, last: Any,
) -> State:  # fmt: skip
    def step(number: Any, state: State) -> State:
        damping = damping_before(rule, number, state.shared, state.damping)
        state = state._replace(damping=damping)
        lot = draw_lot(key, number, numbers.threshold, numbers.count, rows.room, job.block)
        total, dual = _lot_sum(job, rows, numbers, lot, state)
        noise = draw_normals(key, number, job.outputs * job.width)
        shared = release(total, noise.reshape(total.shape), numbers, state.shared)
        averaged = jnp.where(number >= numbers.average_from, shared, 0.0)
        return State(shared, state.average + averaged, dual, damping)

    found: State = lax.fori_loop(first, last, step, state)
    return found


#: Run the steps from `first` up to `last`; the state that is given is used up.
run_steps = compiled(_run_steps, static_argnums=0, donate_argnums=5)


def train(
    job: Job,
    rows: DeviceRows,
    numbers: Numbers,
    rule: Any,
    secret: bytes,
    stops: list[int],
    seen: Callable[[int, Callable[[], Floats]], None],
) -> Floats:
    """Run all steps and return the sum of the shared vectors that are averaged.

    After each of the ascending `stops`, the last being the end, the host calls `seen` with the
    number of steps and a function that returns the shared vector.

    Guarantee: one step is the mechanism of docs/proofs/shared_vector.md. Duals and rows are
    deleted from the device when this returns or fails.
    Requires: `secret`, 32 bytes, is uniform, known to nobody and used for no other training.
    Proof: docs/proofs/tensor_cores.md.
    """
    with exactly():
        key = jnp.asarray(key_of(secret))
        state = new_state(job, rows.room, rule.start)
        try:
            first = 0
            for stop in stops:
                state = run_steps(job, rows, numbers, rule, key, state, first, stop)
                state.shared.block_until_ready()
                first = stop
                seen(stop, lambda: np.array(state.shared))  # noqa: B023 - called at once
            return np.array(state.average)
        finally:
            for array in jax.tree.leaves((state, rows, key)):
                if not array.is_deleted():
                    array.delete()
