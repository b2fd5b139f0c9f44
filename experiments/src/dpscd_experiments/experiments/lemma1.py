"""Lemma 1 of the paper put to the test: a search for the sensitivity of Algorithm 1."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpscd.kernels.dual import Records
from dpscd.losses import Squared
from dpscd.problem import Problem
from dpscd_experiments.kernels.published import PublishedNumbers, advance_published
from dpscd_experiments.metrics import Metrics
from dpscd_experiments.runner import Cell

__all__ = ["SEARCHES", "sensitivity"]

#: Neighbours of the search for the sensitivity, and what is looked at.
SEARCHES = ("no step", "label kept", "label kept, shared alone")


def sensitivity(cell: Cell) -> Metrics:
    """Search random states for the largest change of one lot when a record is zeroed."""
    parameters: Any = cell.parameters
    generator = np.random.default_rng([cell.seed, SEARCHES.index(cell.method)])
    best, curve = 0.0, []
    for number, change in enumerate(_changes(cell.method, parameters["states"], generator), 1):
        if change > best or number == parameters["states"]:
            best = max(best, change)
            curve.append((float(number), best))
    return {"largest": best, "search": curve}


def _changes(search: str, states: int, generator: np.random.Generator) -> Iterator[float]:
    """Yield the change of (dual, shared), or of shared alone, over C for random states."""
    size, width, clip = 4, 3, 0.1
    problem = Problem(Squared(), 0.05, 60, width)
    numbers = PublishedNumbers(problem.strength, float(size), clip, 0.0)
    lot, ends = np.arange(size), np.array([0, size])
    own, noise = np.zeros(size), np.zeros((1, width))
    for _ in range(states):
        X = generator.normal(size=(size, width))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        zeroed = X.copy()
        zeroed[0] = 0.0
        labels, dual = generator.normal(size=(2, size))
        shared = 3.0 * generator.normal(size=width)
        weights = np.ones(size)
        silent = weights.copy()
        silent[0] = 0.0 if search == "no step" else 1.0
        ends_of = []
        for matrix, weight in ((X, weights), (zeroed, silent)):
            a, v = dual.copy(), shared.copy()
            advance_published(
                problem.loss, problem.rows(matrix), Records(labels, weight), numbers, False,
                lot, ends, own, noise, a, v,
            )  # fmt: skip
            ends_of.append(v if search.endswith("alone") else np.concatenate([a, v]))
        yield float(np.linalg.norm(ends_of[0] - ends_of[1])) / clip
