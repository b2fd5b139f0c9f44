"""SDCA, one record at a time: the optimum, without privacy."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dpscd.kernels.draws import shuffle
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.kernels.sdca import joint_sweep, sweep
from dpscd.losses import is_joint
from dpscd.privacy.random import Purpose, Source
from dpscd.problem import Floats, Problem


def sdca(
    problem: Problem,
    rows: Rows,
    records: Records,
    source: Source,
    *,
    tolerance: float = 1e-6,
    max_epochs: int = 1000,
    observer: Callable[[int, Floats, Floats], Any] | None = None,
) -> tuple[Floats, bool]:
    """Return the shared vector at the optimum and whether it was reached; not private.

    `observer` is shown the epoch, the shared vector and the duals after every epoch.
    """
    # Epochs go over all records in a fresh random order until the duality gap of every output,
    # or of all if the loss is joint, is at most `tolerance` of its objective.
    count = len(records.labels)
    dual = np.zeros((count, problem.outputs))
    shared = np.zeros((problem.outputs, problem.width))
    order, joint = np.arange(count), is_joint(problem.loss)
    next_check = 1
    for epoch in range(1, max_epochs + 1):
        shuffle(source.words(Purpose.ORDER, epoch, 1, count)[0], order)
        if joint:
            workspace = np.empty(problem.outputs)
            joint_sweep(
                problem.loss, rows, records, problem.strength, order, dual, shared, workspace
            )
        else:
            sweep(problem.loss, rows, records, problem.strength, order, dual, shared)
        if observer is not None:
            observer(epoch, shared, dual)
        # The gap costs as much as an epoch: look at it less and less often.
        if epoch >= next_check or epoch == max_epochs:
            next_check = epoch + 1 + epoch // 10
            if _converged(problem, rows, records, dual, shared, tolerance):
                return shared, True
    return shared, False


def _converged(
    problem: Problem,
    rows: Rows,
    records: Records,
    dual: Floats,
    shared: Floats,
    tolerance: float,
) -> bool:
    for output in range(1 if is_joint(problem.loss) else problem.outputs):
        primal, gap = problem.gap(rows, records, dual, shared, output)
        if not gap <= tolerance * primal:
            return False
    return True
