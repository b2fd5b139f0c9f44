"""The damping of each step, from the released path: the rule of dpscd.solvers.brake."""

from typing import Any, NamedTuple

import jax.numpy as jnp

__all__ = ["BrakeState", "damping_before", "new_brake"]


class BrakeState(NamedTuple):
    """Damping, the first and the last vector of a group, and the squares between them."""

    separability: Any
    first: Any
    last: Any
    moved: Any


def new_brake(start: float, shared: Any) -> BrakeState:
    """Return the state before the first step."""
    # Arrays of their own: each is written in its place.
    return BrakeState(
        jnp.asarray(start, jnp.float64),
        shared.copy(),
        shared.copy(),
        jnp.asarray(0.0, jnp.float64),
    )


def damping_before(rule: Any, step: Any, shared: Any, state: BrakeState) -> BrakeState:
    """Return the state with the damping of a step that starts from the released `shared`.

    Notes
    -----
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
    return BrakeState(jnp.where(rises, raised, state.separability), first, shared, moved)
