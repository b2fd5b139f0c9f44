"""Algorithm 1 of the paper, DP-SCD, and the loop that Algorithm 3 shares with it.

For reproduction only: what is and is not guaranteed is in
:data:`dpscd_experiments.paper.statements.STATEMENTS`. The product is
:func:`dpscd.solvers.dp_scd.dp_scd`.
"""

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.privacy.random import Source
from dpscd.problem import Problem
from dpscd.solvers.observer import Look, Observer
from dpscd_experiments.kernels.published import PublishedNumbers, advance_published, combine
from dpscd_experiments.paper.draws import chunks
from dpscd_experiments.paper.settings import Settings
from dpscd_experiments.paper.theory import sensitivity_dual

__all__ = ["dp_scd", "dual_lots", "single_output"]

Floats = npt.NDArray[np.float64]


def dp_scd(
    problem: Problem,
    rows: Rows,
    records: Records,
    settings: Settings,
    source: Source,
    *,
    observer: Observer | None = None,
) -> Floats:
    """Run DP-SCD as published and return the shared vector.

    Guarantee: see ``STATEMENTS["dp-scd"]``; in short, not the published one.
    """
    std = settings.noise(sensitivity_dual(settings.clip))
    return dual_lots(problem, rows, records, settings, source, std, False, observer)


def dual_lots(
    problem: Problem,
    rows: Rows,
    records: Records,
    settings: Settings,
    source: Source,
    std: float,
    sequential: bool,
    observer: Observer | None,
) -> Floats:
    """Run the lots of Algorithm 1, or those of Algorithm 3 if `sequential`."""
    single_output(problem)
    count = len(records.labels)
    dual, shared = np.zeros(count), np.zeros(problem.width)
    numbers = PublishedNumbers(
        strength=problem.strength,
        separability=float(settings.lot_size),
        clip=settings.clip,
        std=std,
    )
    epoch = settings.steps_per_epoch(count)
    step = clipped = taken = 0
    for chunk in chunks(settings, source, count, problem.width):
        clipped += advance_published(
            problem.loss, rows, records, numbers, sequential,
            chunk.lots.ids, chunk.lots.starts, chunk.own, chunk.shared, dual, shared,
        )  # fmt: skip
        taken += len(chunk.lots.ids)
        step += len(chunk.shared)
        if observer is not None and step % epoch == 0:
            drift = -shared
            combine(rows, dual, drift)
            observer(
                Look(
                    step // epoch,
                    shared[None],
                    dual[:, None],
                    float(np.linalg.norm(drift)),
                    clipped / max(1, taken),
                )
            )
            clipped = taken = 0
    return shared[None]


def single_output(problem: Problem) -> None:
    """Raise ParameterError unless one model is trained: the paper has no other."""
    if problem.outputs != 1:
        raise ParameterError(
            f"outputs={problem.outputs!r} must be 1: the paper trains one model at a time."
        )
