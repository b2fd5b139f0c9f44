"""The curves that the paper plots. They read the records: never private."""

import math
from typing import NamedTuple

import numpy as np

from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.kernels.sdca import objectives
from dpscd.problem import Problem
from dpscd_experiments.kernels.published import combine, project_all
from dpscd_experiments.paper.algorithms import single_output
from dpscd_experiments.solvers.looks import Look


class Point(NamedTuple):
    """The state of a run after an epoch."""

    epoch: int  # epochs done; 0 is before the first
    primal: float  # primal objective of the model
    # Dual objective at the feasible duals nearest to those of the run, with their own shared
    # vector: noise takes the stored duals out of their box, where the dual objective is
    # infinite. NaN for a method without visible duals.
    dual: float
    gap: float  # ``primal + dual``, an upper bound on the suboptimality of the model
    drift: float  # ``|v - X a|``, or ``|v - X^T w|`` in Algorithm 2
    clipped: float  # share of the steps of the epoch that were scaled down


class Diagnostics:
    """Give it to a method as `observer`: it computes a point for every epoch."""

    def __init__(self, problem: Problem, rows: Rows, records: Records) -> None:
        single_output(problem)
        self._problem, self._rows, self._records = problem, rows, records
        start = np.zeros((1, problem.width))
        dual = np.zeros((len(records.labels), 1))
        self.points = [self._point(Look(0, start, dual, 0.0, 0.0))]

    def __call__(self, look: Look) -> None:
        """Add a point."""
        self.points.append(self._point(look))

    def _point(self, look: Look) -> Point:
        problem, shared, known = self._problem, look.shared[0], look.dual is not None
        duals = np.zeros(len(self._rows.norm)) if look.dual is None else look.dual[:, 0]
        nearest = project_all(problem.loss, self._records, duals)
        losses, conjugates = objectives(
            problem.loss, self._rows, self._records, problem.strength, 0,
            nearest[:, None], shared[None],
        )  # fmt: skip
        own = np.zeros(problem.width)
        combine(self._rows, nearest, own)
        ridge = 2.0 * problem.strength * problem.n
        primal = losses / problem.n + float(shared @ shared) / ridge
        dual = conjugates / problem.n + float(own @ own) / ridge if known else math.nan
        return Point(look.epoch, primal, dual, primal + dual, look.drift, look.clipped)
