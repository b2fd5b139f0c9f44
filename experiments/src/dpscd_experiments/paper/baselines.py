"""The paper's baselines: the solvers of this library with the paper's settings."""

import math

import numpy as np
import numpy.typing as npt

from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.privacy.random import Source
from dpscd.problem import Problem
from dpscd.solvers.observer import Observer
from dpscd.solvers.sdca import sdca
from dpscd_experiments.paper.draws import chunks
from dpscd_experiments.paper.settings import Settings
from dpscd_experiments.solvers import sgd as gradient

__all__ = ["dp_sgd", "scd", "sgd"]

Floats = npt.NDArray[np.float64]


def scd(
    problem: Problem,
    rows: Rows,
    records: Records,
    settings: Settings,
    source: Source,
    *,
    observer: Observer | None = None,
) -> Floats:
    """Run SCD (SDCA) for the given epochs; return the shared vector. Not private."""
    shared, _ = sdca(
        problem,
        rows,
        records,
        source,
        tolerance=-math.inf,  # never: the epochs are fixed
        max_epochs=settings.epochs,
        observer=observer,
    )
    return shared


def sgd(
    problem: Problem,
    rows: Rows,
    records: Records,
    settings: Settings,
    source: Source,
    *,
    observer: Observer | None = None,
) -> Floats:
    """Run SGD without clipping or noise; return the shared vector. Not private."""
    return gradient.sgd(
        problem,
        rows,
        records,
        source,
        learning_rate=settings.learning_rate,
        lot_size=settings.lot_size,
        epochs=settings.epochs,
        observer=observer,
    )


def dp_sgd(
    problem: Problem,
    rows: Rows,
    records: Records,
    settings: Settings,
    source: Source,
    *,
    observer: Observer | None = None,
) -> Floats:
    """Run DP-SGD as the paper describes it; return the shared vector.

    Guarantee: see ``STATEMENTS["dp-sgd"]``. The one to compare with in earnest is
    :func:`dpscd_experiments.solvers.dp_sgd.dp_sgd`.
    """
    count = len(records.labels)
    size = problem.outputs * problem.width
    steps = settings.steps(count)
    randomness = chunks(settings, source, count, size, own=False)
    return gradient.descend_draws(
        problem,
        rows,
        records,
        ((chunk.lots, chunk.shared) for chunk in randomness),
        learning_rate=settings.learning_rate,
        lot_size=float(settings.lot_size),
        steps=steps,
        average_from=steps - 1,
        epoch=settings.steps_per_epoch(count),
        clip=settings.clip,
        std=settings.noise(settings.clip),
        observer=observer,
    )
