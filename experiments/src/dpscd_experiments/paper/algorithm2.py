"""Algorithm 2 of the paper, primalDP-SCD: coordinates of the model instead of records.

For reproduction only: what is and is not guaranteed is in
:data:`dpscd_experiments.paper.statements.STATEMENTS`.
"""

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import linalg

from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import CsrRows, Rows
from dpscd.losses import Hinge
from dpscd.privacy.random import Source
from dpscd.problem import Problem
from dpscd.solvers.observer import Look, Observer
from dpscd_experiments.kernels.primal import PrimalNumbers, advance_primal
from dpscd_experiments.kernels.published import combine
from dpscd_experiments.paper.algorithm1 import single_output
from dpscd_experiments.paper.draws import chunks
from dpscd_experiments.paper.settings import Settings
from dpscd_experiments.paper.theory import sensitivity_primal

__all__ = ["primal_dp_scd"]

Floats = npt.NDArray[np.float64]


def primal_dp_scd(
    problem: Problem,
    rows: Rows,
    records: Records,
    settings: Settings,
    source: Source,
    *,
    observer: Observer | None = None,
) -> Floats:
    """Run primalDP-SCD as published and return the shared vector, strength times the model.

    Guarantee: see ``STATEMENTS["primal-dp-scd"]``.
    """
    single_output(problem)
    if isinstance(problem.loss, Hinge):
        raise ParameterError("loss=Hinge() must be smooth in the primal: use Algorithm 1.")
    features, lengths = _features(problem, rows)
    count, width = len(records.labels), problem.width
    coef, predictions = np.zeros(width), np.zeros(count)
    numbers = PrimalNumbers(
        n=float(problem.n),
        separability=float(settings.lot_size),
        clip=settings.clip,
        std=settings.noise(sensitivity_primal(settings.clip, settings.lot_size)),
    )
    ridge = problem.strength / problem.n / lengths**2
    epoch = settings.steps_per_epoch(width)
    step = clipped = taken = 0
    for chunk in chunks(settings, source, width, count):
        clipped += advance_primal(
            problem.loss, features, records, numbers, ridge,
            chunk.lots.ids, chunk.lots.starts, chunk.own, chunk.shared, coef, predictions,
        )  # fmt: skip
        taken += len(chunk.lots.ids)
        step += len(chunk.shared)
        if observer is not None and step % epoch == 0:
            drift = -predictions
            combine(features, coef, drift)
            shared = problem.strength * coef[None] / lengths
            length = float(np.linalg.norm(drift))
            observer(Look(step // epoch, shared, None, length, clipped / max(1, taken)))
            clipped = taken = 0
    return problem.strength * coef[None] / lengths


def _features(problem: Problem, rows: Rows) -> tuple[Rows, Floats]:
    """Return the features as rows of length 1, and their lengths before (1 if empty)."""
    factor = np.where(np.isfinite(rows.norm), rows.factor, 0.0)
    tail = np.full((1, len(factor)), rows.tail)
    if isinstance(rows, CsrRows):
        each = np.repeat(factor, np.diff(rows.indptr))
        parts = (rows.values * each, rows.indices, rows.indptr)
        matrix = sparse.csr_array(parts, shape=(len(factor), rows.width)).T.tocsr()
        if rows.tail:
            matrix = sparse.vstack([matrix, sparse.csr_array(tail)], format="csr")
        matrix.sort_indices()
        lengths = _lengths(linalg.norm(matrix, axis=1))
        matrix.data /= np.repeat(lengths, np.diff(matrix.indptr))
    else:
        matrix = np.ascontiguousarray((rows.values * factor[:, None]).T)
        if rows.tail:
            matrix = np.vstack([matrix, tail])
        lengths = _lengths(np.linalg.norm(matrix, axis=1))
        matrix /= lengths[:, None]
    # Rows of another problem, with as many features as there are records.
    flipped = Problem(problem.loss, problem.lam, problem.width, len(factor))
    return flipped.rows(matrix), lengths


def _lengths(lengths: Floats) -> Floats:
    filled: Floats = np.where(lengths > 0.0, lengths, 1.0)
    return filled
