"""Stochastic gradient descent without privacy, and the loop it shares with DP-SGD."""

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from dpscd.errors import ParameterError
from dpscd.kernels.dual import Records
from dpscd.kernels.rows import Rows
from dpscd.privacy.random import Source
from dpscd.privacy.sampling import Lots
from dpscd.problem import Problem
from dpscd.solvers.observer import Look, Observer
from dpscd_experiments.kernels.gradient import descend
from dpscd_experiments.solvers.shuffled import shuffled_lots

__all__ = ["decay_of", "descend_draws", "follow", "sgd"]

Floats = npt.NDArray[np.float64]
Draw = tuple[Lots, Floats]

_CHUNK = 2**16  # numbers handled between two returns to Python


def sgd(
    problem: Problem,
    rows: Rows,
    records: Records,
    source: Source,
    *,
    learning_rate: float,
    lot_size: int,
    epochs: int,
    averaging: float = 0.0,
    observer: Observer | None = None,
) -> Floats:
    """Run SGD over shuffled lots and return the shared vector: not private in any way."""
    count = len(records.labels)
    if not (1 <= lot_size <= count and epochs >= 1):
        raise ParameterError(
            f"lot_size={lot_size!r} must lie in [1, n={count}] and epochs={epochs!r} be at "
            "least 1."
        )
    size = problem.outputs * problem.width
    chunk = max(1, _CHUNK // max(size, lot_size))
    steps = epochs * math.ceil(count / lot_size)

    def silent() -> Iterator[Draw]:
        for lots in shuffled_lots(source, count, lot_size, epochs, chunk):
            yield lots, np.zeros((len(lots.starts) - 1, size))

    return descend_draws(
        problem,
        rows,
        records,
        silent(),
        learning_rate=learning_rate,
        lot_size=float(lot_size),
        steps=steps,
        average_from=min(steps - 1, steps - round(averaging * steps)),
        epoch=steps // epochs,
        observer=observer,
    )


def descend_draws(
    problem: Problem,
    rows: Rows,
    records: Records,
    draws: Iterable[Draw],
    *,
    learning_rate: float,
    lot_size: float,
    steps: int,
    average_from: int,
    epoch: int,
    clip: float = math.inf,
    std: float = 0.0,
    observer: Observer | None = None,
) -> Floats:
    """Run plain SGD over given lots and normals; return the shared vector.

    Guarantee: none, with noise or without: lots are whatever the caller gives.
    """
    decay, rate = decay_of(problem, learning_rate), learning_rate / lot_size

    def advance(lots: Lots, normals: Floats, start: int, model: Floats, mean: Floats) -> int:
        return descend(
            problem.loss, rows, records, clip, std, decay, rate,
            lots.ids, lots.starts, normals, start, model, mean,
        )  # fmt: skip

    return follow(problem, draws, advance, steps, average_from, epoch, observer)


def decay_of(problem: Problem, learning_rate: float) -> float:
    """Return the factor by which the ridge shrinks the model in one step."""
    if not (math.isfinite(learning_rate) and learning_rate > 0.0):
        raise ParameterError(f"learning_rate={learning_rate!r} must be positive and finite.")
    return 1.0 - learning_rate * problem.strength / problem.n


def follow(
    problem: Problem,
    draws: Iterable[Draw],
    advance: Callable[[Lots, Floats, int, Floats, Floats], int],
    steps: int,
    average_from: int,
    epoch: int,
    observer: Observer | None,
) -> Floats:
    """Let `advance` take the model through all chunks; return the shared vector."""
    model = np.zeros((problem.outputs, problem.width))
    average = np.zeros_like(model)
    first = clipped = taken = 0
    for lots, normals in draws:
        clipped += advance(lots, normals, average_from - first, model, average)
        taken += len(lots.ids)
        first += len(normals)
        if observer is not None and first % epoch == 0:
            shared = problem.strength * model
            observer(Look(first // epoch, shared, clipped=clipped / max(1, taken)))
            clipped = taken = 0
    return average * (problem.strength / (steps - average_from))
