"""Data whose speed is measured, our own contenders, and Algorithm 1 as a plain Python loop.

Rows are Gaussian directions, labels noisy signs. Every contender returns a clock, which runs it
once and returns its seconds.
"""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from threadpoolctl import threadpool_limits

from dpscd import DPLogisticRegression
from dpscd.kernels.dual import Records, new_buffer
from dpscd.kernels.lazy import BLOCK, Law, advance_lazy, new_state
from dpscd.kernels.lots import advance
from dpscd.kernels.pack import pack_rows
from dpscd.kernels.packed import advance_packed
from dpscd.kernels.rows import CsrRows, DenseRows
from dpscd.kernels.sdca import sweep
from dpscd.losses import Logistic, Loss
from dpscd.privacy.random import SecureSource
from dpscd.problem import Problem
from dpscd.releases.training import Training
from dpscd.solvers.dp_scd import dp_scd, draws
from dpscd_experiments.solvers.lots import lots_training

#: Runs a contender once and returns its seconds.
Clock = Callable[[], float]

_EPOCHS = 4  # in one turn, or so many that some chunks of steps are drawn:
_LEAST_ROWS = 2**19
_EAGER_STEPS = 8
_LOOP_LOTS = 2  # of which an epoch of the plain loop is extrapolated
_LOOP_SIGMA = 1.2
_EDGE = 1e-4  # of the box of the duals


@dataclass(frozen=True)
class Case:
    """Data, and a plan whose noise is that of epsilon 1 or so."""

    X: Any
    y: npt.NDArray[np.float32]
    lot: int
    lam: float = 1e-4

    def problem(self, loss: Loss) -> Problem:
        """Return the problem without intercept."""
        n, d = self.X.shape
        return Problem(loss, self.lam, n, d)

    def plan(self, epochs: int) -> Training:
        """Return a plan of so many epochs."""
        n, d = self.X.shape
        return lots_training(
            n, d, self.lot, 1.0, 1e-6, lam=self.lam, clip=0.005, averaging=0.5,
            steps=max(1, round(epochs * n / self.lot)), noise_multiplier=1.2,
        )  # fmt: skip

    def records(self) -> Records:
        """Return labels and weights."""
        return Records(self.y.astype(float), np.ones(len(self.y)))


def make_case(n: int, d: int, lot: int) -> Case:
    """Return dense rows of length 1 in single precision."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n, d), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] + 0.05 * generator.normal(size=n) > 0.0, 1.0, -1.0)
    return Case(X, y.astype(np.float32), lot)


def make_sparse_case(n: int, d: int, entries: int, lot: int) -> Case:
    """Return sparse rows with so many entries each, spread evenly over the columns."""
    generator = np.random.default_rng(0)
    room = d // entries  # an entry in each part of the columns: none twice in a row
    columns = generator.integers(0, room, (n, entries)) + room * np.arange(entries)
    values = generator.standard_normal((n, entries), dtype=np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    pointers = np.arange(0, n * entries + 1, entries)
    flat = (values.ravel(), columns.ravel().astype(np.int32), pointers)
    y = np.where(values[:, 0] > 0.0, 1.0, -1.0).astype(np.float32)
    return Case(sparse.csr_matrix(flat, shape=(n, d)), y, lot)


def clocked(work: Callable[..., object], *arguments: Any) -> float:
    """Return the seconds that a call takes; its warnings are not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit of few epochs has not converged
        start = time.perf_counter()
        work(*arguments)
        return time.perf_counter() - start


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


def plain_loop(case: Case) -> Clock:
    """Return an epoch of the plain loop (logistic), from a few lots."""
    n, d = len(case.y), int(case.X.shape[1])
    strength, scale, size = case.lam * n, case.plan(1).clip, min(case.lot, n)
    generator = np.random.default_rng(0)
    X, y = case.X[: max(size, min(n, 20_000))].astype(np.float64), case.y

    def epoch() -> float:
        dual, shared = np.zeros(len(X)), np.zeros(d)
        start = time.perf_counter()
        for _ in range(_LOOP_LOTS):
            lot = generator.choice(len(X), size, replace=False)
            total = np.zeros(d)
            for j in lot:  # lines 6 to 10
                x, label = X[j], float(y[j])
                curvature = size * (x @ x) / strength
                step = _newton(label, dual[j], (x @ shared) / strength, curvature)
                step /= max(1.0, abs(step) / scale)
                dual[j] += step
                total += step * x
            std = math.sqrt(2.0) * _LOOP_SIGMA * scale
            dual[lot] += std * generator.normal(size=size)  # line 12
            shared += total + std * generator.normal(size=d)  # line 13
        return (time.perf_counter() - start) / (_LOOP_LOTS * size) * n

    return epoch


def _newton(label: float, dual: float, prediction: float, curvature: float) -> float:
    """Return the paper's step for the logistic loss: one of Newton's, inside the box."""
    b = min(max(label * dual, _EDGE), 1.0 - _EDGE)
    slope = math.log(b / (1.0 - b)) + label * prediction
    moved = b - slope / (1.0 / (b * (1.0 - b)) + curvature)
    return label * (min(max(moved, _EDGE), 1.0 - _EDGE) - b)
