"""A whole private training: moments, standardising, a pilot if planned, and the main part."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.kernels.dual import Records, predictions
from dpscd.kernels.rows import Rows
from dpscd.plan import Plan
from dpscd.privacy.random import Source
from dpscd.problem import DeferredRows, Model, Problem
from dpscd.solvers.dp_scd import dp_scd
from dpscd.solvers.moments import release_labels, release_moments, release_spread
from dpscd.standard import standard_of

__all__ = ["train_private"]

Floats = npt.NDArray[np.float64]

# What a pilot leaves must be less than this part of the spread before it, to start from it.
_MUCH = 0.85


def train_private(
    problem: Problem,
    plan: Plan,
    X: Any,
    labels: Floats,
    weights: Floats,
    source_of: Callable[[str], Source],
    *,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Model:
    """Release everything that the plan lists and return the model, in the user's units.

    Parameters
    ----------
    problem, plan
        Public; the problem not yet standardised.
    X, labels, weights
        The records, labels in the user's units; only the model may leave.
    source_of : callable
        Returns a fresh source of randomness, another one for every text.
    threads, progress
        As for :func:`~dpscd.solvers.dp_scd.dp_scd`.

    Notes
    -----
    Guarantee: what is released, hence the model, satisfies ``plan.claim()``.
    Proof: docs/proofs/moments.md and docs/proofs/shared_vector.md.
    """
    source = source_of("")
    unit = problem.label_scale  # labels in this unit are within [-1, 1] of the centre
    if plan.label_noise:
        found = release_labels(plan, problem.labels(labels), weights, source)
        problem = replace(
            problem,
            label_centre=problem.label_centre + unit * found.centre,
            label_scale=unit * _seen(found.spread, plan),
        )
    if plan.moments_noise:
        moments = release_moments(plan, problem.plain_rows(X), weights, source)
        dense, intercept = not hasattr(X, "indptr"), problem.constant != 0.0
        standard = standard_of(
            *moments, centred=dense and intercept, turned=dense and not intercept
        )
        problem = replace(problem, standard=standard)
    rows = problem.rows(X) if hasattr(X, "indptr") else DeferredRows(problem, X)
    inner = problem.labels(labels)
    start = None
    if plan.pilot is not None:
        pilot = replace(problem, lam=plan.pilot.lam)
        shared = dp_scd(
            pilot, plan.pilot, rows, Records(inner, weights), source_of("pilot"),
            threads=threads, progress=progress,
        )  # fmt: skip
        left = inner - _predicted(pilot, rows, shared)
        distances = left * (problem.label_scale / unit)
        spread = _seen(release_spread(plan, distances, weights, source, time=1), plan)
        if spread * unit < _MUCH * problem.label_scale:
            start = pilot.model(shared, plan.pilot.shared_noise)
            inner = left * (problem.label_scale / (spread * unit))
            problem = replace(problem, label_centre=0.0, label_scale=spread * unit)
    shared = dp_scd(
        problem, plan, rows, Records(inner, weights), source,
        threads=threads, progress=progress,
    )  # fmt: skip
    model = problem.model(shared, plan.shared_noise)
    if start is None:
        return model
    return Model(
        start.coef + model.coef,
        start.intercept + model.intercept,
        np.hypot(start.coef_noise, model.coef_noise),
        np.hypot(start.intercept_noise, model.intercept_noise),
    )


def _seen(spread: float, plan: Plan) -> float:
    """Return a released spread, but no smaller than what is told from nothing."""
    error = 2.0 * plan.label_noise / plan.n
    return min(1.0, max(spread, 2.0 * error, 1e-3))


def _predicted(problem: Problem, rows: Rows | DeferredRows, shared: Floats) -> Floats:
    if isinstance(rows, DeferredRows):
        parts = [_predicted(problem, block, shared) for _, block in rows.blocks()]
        return np.concatenate(parts)
    out = np.empty(len(rows.norm))
    predictions(rows, shared[0], problem.strength, out)
    return out
