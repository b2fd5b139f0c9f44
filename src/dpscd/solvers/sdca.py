"""SDCA, one record at a time: the optimum, without privacy."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpscd.kernels.draws import shuffle
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.kernels.sdca import joint_sweep, sweep
from dpscd.losses import is_joint
from dpscd.privacy.random import Purpose, Source
from dpscd.problem import Floats, Problem


class Look(NamedTuple):
    """The state of a solver at the end of an epoch. Arrays are views: copy to keep them."""

    epoch: int  # epochs done
    # of shape (outputs, width): ``strength`` times the model, before any averaging
    shared: Floats
    # of shape (records, outputs), where duals exist and are not secret
    dual: Floats | None = None
    # distance between the auxiliary vector and the vector it stands for
    drift: float = math.nan
    clipped: float = math.nan  # share of this epoch's steps that were scaled down


Observer = Callable[[Look], None]


def sdca(
    problem: Problem,
    rows: Rows,
    records: Records,
    source: Source,
    *,
    tolerance: float = 1e-6,
    max_epochs: int = 1000,
    observer: Observer | None = None,
) -> tuple[Floats, bool]:
    """Return the shared vector at the optimum and whether it was reached; not private."""
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
            observer(Look(epoch, shared, dual, 0.0, 0.0))
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
