"""Run a private fit: every release of its plan, in order."""

import functools
from collections.abc import Callable
from typing import Any

from dpscd.losses import Loss
from dpscd.plan import Plan
from dpscd.privacy.random import Source
from dpscd.problem import Problem
from dpscd.releases.base import Parties, State
from dpscd.releases.shared_vector import SharedVector
from dpscd.releases.store import RecordStore

__all__ = ["run_plan"]


def run_plan(
    problem: Problem,
    plan: Plan,
    store: RecordStore,
    source_of: Callable[[str], Source],
    *,
    loss_of: Callable[[Any], Loss] | None = None,
    progress: Callable[[int], None] | None = None,
) -> State:
    """Make every release of the plan and return the public state at the end.

    The problem is not yet standardised. `source_of` returns another fresh source of randomness
    for every text. `loss_of` returns the loss in the user's units for an encoding of labels,
    since it may follow released bounds.

    Notes
    -----
    Guarantee: what is released, hence the model, satisfies ``plan.claim()``.
    Proof: docs/proofs/moments.md, docs/proofs/shared_vector.md and docs/proofs/after.md.
    """
    state = State(store.meaning, problem, problem, plan=plan, loss_of=loss_of)
    source_of = functools.cache(source_of)  # a stream that is used twice is noticed
    parties = Parties(store, source_of, source_of(""), progress)
    for release in (*plan.first, SharedVector(plan), *plan.after):
        state = release.run(state, parties)
    return state
