"""A whole private training: moments, standardising, a pilot if planned, and the main part."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpscd.plan import Plan
from dpscd.privacy.random import Source
from dpscd.problem import Model, Problem
from dpscd.solvers.holders import Holder, Left
from dpscd.solvers.moments import release_labels, release_moments, release_spread
from dpscd.standard import standard_of

__all__ = ["train_private"]

# What a pilot leaves must be less than this part of the spread before it, to start from it.
_MUCH = 0.85


def train_private(
    problem: Problem,
    plan: Plan,
    held: Holder,
    source_of: Callable[[str], Source],
    *,
    progress: Callable[[int], None] | None = None,
) -> Model:
    """Release everything that the plan lists and return the model, in the user's units.

    Parameters
    ----------
    problem, plan
        Public; the problem not yet standardised.
    held : Holder
        The records, labels in the user's units; only the model may leave.
    source_of : callable
        Returns a fresh source of randomness, another one for every text.
    progress
        As for :func:`~dpscd.solvers.dp_scd.dp_scd`.

    Notes
    -----
    Guarantee: what is released, hence the model, satisfies ``plan.claim()``.
    Proof: docs/proofs/moments.md and docs/proofs/shared_vector.md.
    """
    source = source_of("")
    unit = problem.label_scale  # labels in this unit are within [-1, 1] of the centre
    if plan.label_noise:
        first = problem
        found = release_labels(
            plan,
            lambda: held.label_total(first, plan),
            lambda centre: held.distance_total(first, plan, centre),
            source,
        )
        problem = replace(
            problem,
            label_centre=problem.label_centre + unit * found.centre,
            label_scale=unit * _seen(found.spread, plan),
        )
    if plan.moments_noise:
        moments = release_moments(plan, held.moments_total(problem, plan), source)
        intercept = problem.constant != 0.0
        standard = standard_of(
            *moments, centred=held.dense and intercept, turned=held.dense and not intercept
        )
        problem = replace(problem, standard=standard)
    start = left = None
    if plan.pilot is not None:
        pilot = replace(problem, lam=plan.pilot.lam)
        shared = held.train(pilot, plan.pilot, source_of("pilot"), None, progress)
        after = Left(pilot, shared, problem.label_scale / unit)
        spread = _seen(release_spread(plan, held.left_total(plan, after), source, time=1), plan)
        if spread * unit < _MUCH * problem.label_scale:
            start = pilot.model(shared, plan.pilot.shared_noise)
            left = replace(after, factor=problem.label_scale / (spread * unit))
            problem = replace(problem, label_centre=0.0, label_scale=spread * unit)
    shared = held.train(problem, plan, source, left, progress)
    model = problem.model(shared, plan.shared_noise)
    if start is None:
        return model
    return Model(
        start.coef + model.coef,
        start.intercept + model.intercept,
        np.hypot(start.coef_noise, model.coef_noise),
        np.hypot(start.intercept_noise, model.intercept_noise),
        (*start.runs, *model.runs),
    )


def _seen(spread: float, plan: Plan) -> float:
    """Return a released spread, but no smaller than what is told from nothing."""
    error = 2.0 * plan.label_noise / plan.n
    return min(1.0, max(spread, 2.0 * error, 1e-3))
