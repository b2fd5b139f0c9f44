"""Algorithm 1 of the paper as a plain Python loop over records, the way it is published.

Vectors are numpy's, as in the authors' script; everything else is Python.
"""

import math
import time

import numpy as np

from dpscd_experiments.speed.cases import Case
from dpscd_experiments.speed.contest import Clock

__all__ = ["plain_loop"]

_LOTS = 2  # of which an epoch is extrapolated
_SIGMA = 1.2
_EDGE = 1e-4  # of the box of the duals


def plain_loop(case: Case) -> Clock:
    """Return an epoch of the plain loop (logistic), from a few lots."""
    n, d = len(case.y), int(case.X.shape[1])
    strength, scale, size = case.lam * n, case.plan(1).clip, min(case.lot, n)
    generator = np.random.default_rng(0)
    X, y = case.X[: max(size, min(n, 20_000))].astype(np.float64), case.y

    def epoch() -> float:
        dual, shared = np.zeros(len(X)), np.zeros(d)
        start = time.perf_counter()
        for _ in range(_LOTS):
            lot = generator.choice(len(X), size, replace=False)
            total = np.zeros(d)
            for j in lot:  # lines 6 to 10
                x, label = X[j], float(y[j])
                curvature = size * (x @ x) / strength
                step = _newton(label, dual[j], (x @ shared) / strength, curvature)
                step /= max(1.0, abs(step) / scale)
                dual[j] += step
                total += step * x
            std = math.sqrt(2.0) * _SIGMA * scale
            dual[lot] += std * generator.normal(size=size)  # line 12
            shared += total + std * generator.normal(size=d)  # line 13
        return (time.perf_counter() - start) / (_LOTS * size) * n

    return epoch


def _newton(label: float, dual: float, prediction: float, curvature: float) -> float:
    """Return the paper's step for the logistic loss: one of Newton's, inside the box."""
    b = min(max(label * dual, _EDGE), 1.0 - _EDGE)
    slope = math.log(b / (1.0 - b)) + label * prediction
    moved = b - slope / (1.0 / (b * (1.0 - b)) + curvature)
    return label * (min(max(moved, _EDGE), 1.0 - _EDGE) - b)
