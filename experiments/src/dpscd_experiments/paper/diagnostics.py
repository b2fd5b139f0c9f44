"""The curves that the paper plots. They read the records: never private."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.kernels.sdca import objectives
from dpscd.problem import Problem
from dpscd.solvers.observer import Look
from dpscd_experiments.kernels.published import combine, project_all
from dpscd_experiments.paper.algorithm1 import single_output

__all__ = ["NOT_PRIVATE", "Diagnostics", "Point", "Trace"]

NOT_PRIVATE = "not private"


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


@dataclass(frozen=True)
class Trace:
    """The points of a run, in order, and the stamp that goes wherever they go."""

    points: tuple[Point, ...]
    stamp: str = field(default=NOT_PRIVATE, init=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as plain JSON values, stamp included."""
        return {**asdict(self), "points": [point._asdict() for point in self.points]}


class Diagnostics:
    """An observer that computes a :class:`Trace`; give it to a method as `observer`."""

    def __init__(self, problem: Problem, rows: Rows, records: Records) -> None:
        single_output(problem)
        self._problem, self._rows, self._records = problem, rows, records
        start = np.zeros((1, problem.width))
        dual = np.zeros((len(records.labels), 1))
        self._points = [self._point(Look(0, start, dual, 0.0, 0.0))]

    def __call__(self, look: Look) -> None:
        """Add a point."""
        self._points.append(self._point(look))

    @property
    def trace(self) -> Trace:
        """What was seen so far."""
        return Trace(tuple(self._points))

    def _point(self, look: Look) -> Point:
        problem, shared = self._problem, look.shared[0]
        known = look.dual is not None
        duals = look.dual[:, 0] if look.dual is not None else np.zeros(len(self._rows.norm))
        nearest = project_all(problem.loss, self._records, duals)
        losses, conjugates = objectives(
            problem.loss,
            self._rows,
            self._records,
            problem.strength,
            0,
            nearest[:, None],
            shared[None],
        )
        own = np.zeros(problem.width)
        combine(self._rows, nearest, own)
        ridge = 2.0 * problem.strength * problem.n
        primal = losses / problem.n + float(shared @ shared) / ridge
        dual = conjugates / problem.n + float(own @ own) / ridge if known else math.nan
        return Point(look.epoch, primal, dual, primal + dual, look.drift, look.clipped)
