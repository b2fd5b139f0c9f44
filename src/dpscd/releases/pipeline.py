"""The one order of a private fit: what its plan lists, from the first release to the last."""

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
    """Release everything that the plan lists and return what is public then.

    Parameters
    ----------
    problem, plan
        Public; the problem not yet standardised.
    store : RecordStore
        The records; only sums leave it.
    source_of : callable
        Returns a fresh source of randomness, another one for every text.
    loss_of : callable, optional
        Given what labels mean, returns the loss for labels in the user's units: where their
        bounds are released, it may follow them.
    progress
        As for :func:`~dpscd.solvers.dp_scd.dp_scd`.

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
