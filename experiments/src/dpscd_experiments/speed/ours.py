"""Our own contenders."""

import time
from itertools import count

import numpy as np
from threadpoolctl import threadpool_limits

from dpscd import DPLogisticRegression
from dpscd.kernels.block import new_buffer
from dpscd.kernels.dual import advance
from dpscd.kernels.lazy import BLOCK, advance_lazy
from dpscd.kernels.lazy_state import Law, new_state
from dpscd.kernels.pack import pack_rows
from dpscd.kernels.packed import advance_packed
from dpscd.kernels.rows import CsrRows, DenseRows
from dpscd.kernels.sdca import sweep
from dpscd.losses import Logistic, Loss
from dpscd.privacy.random import SecureSource
from dpscd.solvers.dp_scd import dp_scd, draws
from dpscd_experiments.speed.cases import Case
from dpscd_experiments.speed.contest import Clock, clocked

__all__ = [
    "default_fit",
    "drawn_beforehand",
    "eager_epoch",
    "lazy_beforehand",
    "packed_bytes",
    "plain_epoch",
    "private_epoch",
    "private_run",
]

_EPOCHS = 4  # in one turn, or so many that some chunks of steps are drawn:
_LEAST_ROWS = 2**19
_EAGER_STEPS = 8


def private_epoch(case: Case, loss: Loss | None = None, threads: int = 1) -> Clock:
    """Return an epoch with everything that a private fit does in it.

    The clock runs from the end of the first chunk of steps to the end of the last: packing
    the rows and what a lazy fit settles at its end belong to no epoch.
    """
    problem, records = case.problem(loss or Logistic()), case.records()
    rows = problem.rows(case.X)
    plan = case.plan(max(_EPOCHS, -(-_LEAST_ROWS // len(case.y))))

    def epoch() -> float:
        stamps: list[tuple[float, int]] = []
        dp_scd(
            problem, plan, rows, records, SecureSource(), threads=threads,
            progress=lambda steps: stamps.append((time.perf_counter(), steps)),
        )  # fmt: skip
        steps = sum(done for _, done in stamps[1:])
        return (stamps[-1][0] - stamps[0][0]) / steps / plan.rate

    return epoch


def private_run(case: Case) -> Clock:
    """Return an epoch as a share of a whole run of four, with all that begins and ends it."""
    problem, records, plan = case.problem(Logistic()), case.records(), case.plan(_EPOCHS)
    rows = problem.rows(case.X)

    def run() -> float:
        source = SecureSource()
        return clocked(dp_scd, problem, plan, rows, records, source) / plan.steps / plan.rate

    return run


def drawn_beforehand(case: Case) -> Clock:
    """Return an epoch of the same kernel on lots drawn before, without noise."""
    problem, plan = case.problem(Logistic()), case.plan(_EPOCHS)
    rows = problem.rows(case.X)
    assert isinstance(rows, DenseRows)  # noqa: S101 - dense cases only
    pack = pack_rows(rows, case.records())
    numbers = plan.constants(problem.strength, fixed_point=True)
    chunks = [
        (*lots, np.zeros_like(normals))
        for lots, normals in draws(plan, SecureSource(), len(case.y), pause=plan.steps)
    ]

    def epoch() -> float:
        dual, shared = np.zeros((len(case.y), 1)), np.zeros((1, problem.d))
        average = np.zeros_like(shared)
        start = time.perf_counter()
        for ids, starts, zeros in chunks:
            advance_packed(
                problem.loss, pack, numbers, ids, starts, zeros, 0, dual, shared, average
            )
        return (time.perf_counter() - start) / plan.steps / plan.rate

    return epoch


def lazy_beforehand(case: Case) -> Clock:
    """Return an epoch of the lazy kernel on lots drawn before, without noise."""
    problem, records, plan = case.problem(Logistic()), case.records(), case.plan(_EPOCHS)
    rows, numbers = problem.rows(case.X), plan.constants(problem.strength)
    assert isinstance(rows, CsrRows)  # noqa: S101 - sparse cases only
    bits, total = plan.grid_bits, len(case.y)
    law = Law(0.0, bits, 2**bits - 1, 2.0**-bits, plan.average_from)
    ids, starts = plan.lots.draw(SecureSource(), 0, round(1.0 / plan.rate), total)
    zeros, buffer = np.zeros(2**16), new_buffer(1, BLOCK)

    def epoch() -> float:
        dual, state = np.zeros((total, 1)), new_state(problem.width, 1)
        begin, start = 0, time.perf_counter()
        while begin < len(ids):
            begin, _ = advance_lazy(
                problem.loss, rows, records, numbers, law, ids, starts, 0, begin, zeros, dual,
                state, buffer,
            )  # fmt: skip
        return time.perf_counter() - start

    return epoch


def eager_epoch(case: Case) -> Clock:
    """Return an epoch with noise on every coordinate at every step, from a few steps."""
    problem, records, plan = case.problem(Logistic()), case.records(), case.plan(_EPOCHS)
    rows, numbers = problem.rows(case.X), plan.constants(problem.strength)

    def epoch() -> float:
        source, total = SecureSource(), len(case.y)
        shared = np.zeros((1, problem.d))
        dual, average = np.zeros((total, 1)), np.zeros_like(shared)
        start = time.perf_counter()
        for step in range(_EAGER_STEPS):
            lots = plan.lots.draw(source, step, 1, total)
            normals = plan.noise.draw(source, step, 1, plan.size)
            advance(
                problem.loss, rows, records, numbers, *lots, normals, 1, dual, shared, average
            )
        return (time.perf_counter() - start) / _EAGER_STEPS / plan.rate

    return epoch


def plain_epoch(case: Case) -> Clock:
    """Return an epoch of our SDCA, which is not private."""
    problem, records = case.problem(Logistic()), case.records()
    rows, generator = problem.rows(case.X), np.random.default_rng(0)

    def epoch() -> float:
        order = generator.permutation(len(case.y))
        dual, shared = np.zeros((len(order), 1)), np.zeros((1, problem.d))
        start = time.perf_counter()
        sweep(problem.loss, rows, records, problem.strength, order, dual, shared)
        return time.perf_counter() - start

    return epoch


def default_fit(case: Case) -> Clock:
    """Return a whole fit with default parameters at epsilon 1, calibration included.

    Every turn asks for an epsilon that nobody asked for before, a little below 1: no
    calibration can be remembered.
    """
    X, y = case.X.astype(np.float64), case.y
    nobody_had = count(time.time_ns() % 10**9)

    def fit() -> float:
        model = DPLogisticRegression(epsilon=1.0 - 1e-12 * next(nobody_had), classes=[-1, 1])
        with threadpool_limits(1, user_api="blas"):
            return clocked(model.fit, X, y)

    return fit


def packed_bytes(case: Case) -> int:
    """Return the bytes of a record as the private dense kernel reads it."""
    few = Case(case.X[:1], case.y[:1], 1)
    rows = few.problem(Logistic()).rows(few.X)
    assert isinstance(rows, DenseRows)  # noqa: S101 - dense cases only
    return int(pack_rows(rows, few.records()).cells.strides[0])
