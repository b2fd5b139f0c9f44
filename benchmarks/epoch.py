"""What an epoch costs: ours with privacy against others without, as ratios of one run.

Run ``python benchmarks/epoch.py``; ``--help`` lists the sizes. The contenders take turns,
because machines are noisy, and medians are compared. An epoch of a library that only has
``fit`` is the difference of two fits, over the difference of their epochs. Snap ML takes
part if it is installed. ``--sparse`` measures noise on sparse rows instead: drawn where it
is read against drawn everywhere, and against an epoch without privacy.

The rows are Gaussian directions in float32, the labels noisy signs of one feature.
"""

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from dpscd.kernels.dual import Records, advance, sweep
from dpscd.kernels.lazy import BLOCK, Law, advance_lazy, new_state
from dpscd.kernels.pack import pack_rows
from dpscd.kernels.packed import advance_packed, new_desk
from dpscd.losses import Hinge, Logistic, Loss
from dpscd.plan import Plan
from dpscd.privacy.random import SecureSource
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem
from dpscd.solvers.dp_scd import dp_scd, draws

EPOCHS = 4  # of ours in one turn
FIRST, SECOND = 3, 9  # epochs of the two fits of another library

Contender = Callable[[], float]


@dataclass(frozen=True)
class Case:
    """Data and a plan whose noise is that of epsilon 1 or so."""

    X: np.ndarray | scipy.sparse.csr_matrix
    y: np.ndarray
    lot: int
    lam: float

    def problem(self, loss: Loss) -> Problem:
        """Return the problem without intercept."""
        n, d = self.X.shape
        return Problem(loss, self.lam, n, d)

    def plan(self, epochs: int) -> Plan:
        """Return a plan of so many epochs."""
        n, d = self.X.shape
        return Plan(
            epsilon=1.0,
            delta=1e-6,
            relation=Relation.ZERO_OUT,
            n=n,
            d=d,
            outputs=1,
            intercept=False,
            lam=self.lam,
            steps=max(1, round(epochs * n / self.lot)),
            rate=self.lot / n,
            clip=0.005,
            separability=float(self.lot),
            averaging=0.5,
            noise_multiplier=1.2,
        )

    def records(self) -> Records:
        """Return labels and weights."""
        return Records(self.y.astype(float), np.ones(len(self.y)))


def make_case(n: int, d: int, lot: int) -> Case:
    """Return a data set of the given size."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, d)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] + 0.05 * generator.normal(size=n) > 0.0, 1.0, -1.0)
    return Case(X, y.astype(np.float32), lot, 1e-4)


def make_sparse_case(n: int, d: int, entries: int, lot: int) -> Case:
    """Return sparse rows with so many entries each, spread evenly over the columns."""
    generator = np.random.default_rng(0)
    room = d // entries  # an entry in each part of the columns: none twice in a row
    columns = generator.integers(0, room, (n, entries)) + room * np.arange(entries)
    values = generator.normal(size=(n, entries)).astype(np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    pointers = np.arange(0, n * entries + 1, entries)
    flat = (values.ravel(), columns.ravel().astype(np.int32), pointers)
    y = np.where(values[:, 0] > 0.0, 1.0, -1.0)
    return Case(scipy.sparse.csr_matrix(flat, shape=(n, d)), y, lot, 1e-4)


def eager(case: Case, loss: Loss, steps: int) -> Contender:
    """Return an epoch with noise on every coordinate at every step, from a few steps."""
    problem, records, plan = case.problem(loss), case.records(), case.plan(EPOCHS)
    rows, numbers = problem.rows(case.X), plan.numbers(problem.strength)

    def epoch() -> float:
        source, count = SecureSource(), len(case.y)
        shared = np.zeros((1, problem.d))
        dual, average = np.zeros((count, 1)), np.zeros_like(shared)
        start = time.perf_counter()
        for step in range(steps):
            lots = plan.lots.draw(source, step, 1, count)
            normals = plan.noise.draw(source, step, 1, plan.size)
            advance(
                loss, rows, records, numbers, *lots, normals, 1, dual, shared, average
            )  # fmt: skip
        return (time.perf_counter() - start) / steps / plan.rate

    return epoch


def not_private(case: Case, loss: Loss) -> Contender:
    """Return an epoch of SDCA."""
    problem, records = case.problem(loss), case.records()
    rows, generator = problem.rows(case.X), np.random.default_rng(0)

    def epoch() -> float:
        order = generator.permutation(len(case.y))
        dual, shared = np.zeros((len(order), 1)), np.zeros((1, problem.d))
        start = time.perf_counter()
        sweep(loss, rows, records, problem.strength, order, dual, shared)
        return time.perf_counter() - start

    return epoch


def lazy_kernel(case: Case, loss: Loss) -> Contender:
    """Return an epoch of the lazy kernel on lots drawn before, without noise."""
    problem, records, plan = case.problem(loss), case.records(), case.plan(EPOCHS)
    rows, numbers = problem.rows(case.X), plan.numbers(problem.strength)
    bits, count = plan.grid_bits, len(case.y)
    law = Law(0.0, bits, 2**bits - 1, 2.0**-bits, plan.average_from)
    ids, starts = plan.lots.draw(SecureSource(), 0, round(1.0 / plan.rate), count)
    zeros, desk = np.zeros(2**16), new_desk(1, BLOCK)

    def epoch() -> float:
        dual, state = np.zeros((count, 1)), new_state(problem.width, 1)
        begin, start = 0, time.perf_counter()
        while begin < len(ids):
            begin, _ = advance_lazy(
                loss, rows, records, numbers, law, ids, starts, 0, begin, zeros, dual, state,
                desk,
            )  # fmt: skip
        return time.perf_counter() - start

    return epoch


def sparse_contenders(case: Case) -> dict[str, Contender]:
    """Return what is measured on sparse rows, by name."""
    return {
        "lazy noise": ours(case, Logistic(), 1),
        "noise everywhere": eager(case, Logistic(), 8),
        "lazy kernel, no noise, lots drawn before": lazy_kernel(case, Logistic()),
        "not private": not_private(case, Logistic()),
    }


def ours(case: Case, loss: Loss, threads: int) -> Contender:
    """Return an epoch with everything a private fit does.

    The clock runs from the end of the first chunk of steps to the end of the fit: packing
    the rows belongs to no epoch.
    """
    problem, records, plan = case.problem(loss), case.records(), case.plan(EPOCHS)
    rows = problem.rows(case.X)

    def epoch() -> float:
        stamps: list[tuple[float, int]] = []
        dp_scd(
            problem, plan, rows, records, SecureSource(), threads=threads,
            progress=lambda steps: stamps.append((time.perf_counter(), steps)),
        )  # fmt: skip
        steps = sum(done for _, done in stamps[1:])
        return (stamps[-1][0] - stamps[0][0]) / steps / plan.rate

    return epoch


def drawn_beforehand(case: Case, loss: Loss) -> Contender:
    """Return an epoch of the same kernel on lots drawn before, without noise."""
    problem, plan = case.problem(loss), case.plan(EPOCHS)
    pack = pack_rows(problem.rows(case.X), case.records())
    numbers = plan.numbers(problem.strength, fixed_point=True)
    chunks = [
        (*lots, np.zeros_like(normals))
        for lots, normals in draws(plan, SecureSource(), len(case.y), pause=plan.steps)
    ]

    def epoch() -> float:
        dual, shared = np.zeros((len(case.y), 1)), np.zeros((1, problem.d))
        average = np.zeros_like(shared)
        start = time.perf_counter()
        for ids, starts, zeros in chunks:
            advance_packed(loss, pack, numbers, ids, starts, zeros, 0, dual, shared, average)
        return (time.perf_counter() - start) / plan.steps / plan.rate

    return epoch


def product(case: Case) -> Contender:
    """Return a float32 product of the matrix with a vector, which streams it once."""
    vector = np.ones(case.X.shape[1], np.float32)

    def stream() -> float:
        start = time.perf_counter()
        case.X @ vector
        return time.perf_counter() - start

    return stream


def by_difference(fit: Callable[[int], object]) -> Contender:
    """Return an epoch of a library as the difference of two fits."""

    def clock(epochs: int) -> float:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it did not converge
            fit(epochs)
        return time.perf_counter() - start

    return lambda: (clock(SECOND) - clock(FIRST)) / (SECOND - FIRST)


def snap_ml(case: Case, threads: int) -> Contender:
    """Return an epoch of Snap ML's dual solver, which is not private."""
    from snapml import LogisticRegression

    def fit(epochs: int) -> object:
        return LogisticRegression(
            max_iter=epochs, regularizer=case.lam * len(case.y), dual=True, tol=0.0,
            n_jobs=threads, fit_intercept=False,
        ).fit(case.X, case.y)  # fmt: skip

    return by_difference(fit)


def liblinear(case: Case) -> Contender:
    """Return an epoch of liblinear's dual solver for the hinge loss, which is not private."""
    from sklearn.svm import LinearSVC

    def fit(epochs: int) -> object:
        return LinearSVC(
            loss="hinge", C=1.0 / (case.lam * len(case.y)), max_iter=epochs, tol=1e-12,
            fit_intercept=False, random_state=0,
        ).fit(case.X, case.y)  # fmt: skip

    return by_difference(fit)


def contenders(case: Case) -> dict[str, Contender]:
    """Return what is measured, by name."""
    found = {
        "ours, private": ours(case, Logistic(), 1),
        "ours, private, 2 threads": ours(case, Logistic(), 2),
        "ours, no noise, lots drawn before": drawn_beforehand(case, Logistic()),
        "ours, private, hinge": ours(case, Hinge(), 1),
        "product with a vector": product(case),
        "liblinear, hinge": liblinear(case),
    }
    try:
        import snapml  # noqa: F401
    except ImportError:
        sys.stderr.write("Snap ML is not installed: it takes no part\n")
    else:
        found["Snap ML"] = snap_ml(case, 1)
        found["Snap ML, 2 threads"] = snap_ml(case, 2)
    return found


#: Ratios of the result: name, numerator, denominator.
RATIOS = [
    ("Snap ML against ours", "Snap ML", "ours, private"),
    ("the same with 2 threads", "Snap ML, 2 threads", "ours, private, 2 threads"),
    ("liblinear against our hinge", "liblinear, hinge", "ours, private, hinge"),
    ("private against drawn before", "ours, private", "ours, no noise, lots drawn before"),
    ("product with a vector against ours", "product with a vector", "ours, private"),
    ("noise everywhere against lazy noise", "noise everywhere", "lazy noise"),
    (
        "lazy noise against its kernel without noise",
        "lazy noise",
        "lazy kernel, no noise, lots drawn before",
    ),
    ("lazy noise against not private", "lazy noise", "not private"),
    ("1 thread against 2", "ours, private", "ours, private, 2 threads"),
]


def main() -> None:
    """Print nanoseconds a row and the ratios, each the median over the turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=348_000)
    parser.add_argument("--d", type=int, default=90)
    parser.add_argument("--lot", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--sparse", action="store_true", help="200k x 1M, 20 entries a row")
    options = parser.parse_args()
    if options.sparse:
        options.n = 200_000
        field = sparse_contenders(make_sparse_case(options.n, 1_000_000, 20, 200))
    else:
        field = contenders(make_case(options.n, options.d, options.lot))
    times: dict[str, list[float]] = {name: [] for name in field}
    for turn in range(1 + options.turns):
        for name, epoch in field.items():
            seconds = epoch()
            if turn > 0:  # the first one compiles
                times[name].append(seconds)
    out = sys.stdout
    for name, seconds in times.items():
        out.write(f"{1e9 * statistics.median(seconds) / options.n:9.1f} ns a row  {name}\n")
    for name, above, below in RATIOS:
        if above in times:
            ratios = [a / b for a, b in zip(times[above], times[below], strict=True)]
            out.write(f"{statistics.median(ratios):9.2f}  {name}\n")


if __name__ == "__main__":
    main()
