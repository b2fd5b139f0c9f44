"""A thousand classes: what a default fit takes, and what a step costs, in memory and time.

``python benchmarks/thousand_classes.py [RECORDS]`` generates records of 512 features around
1,000 centres, each of length one (100,000 of them unless said otherwise: some minutes), and
prints seconds, the processor's seconds, the most memory the process had, and the accuracy on
other records of the same law; then the price of a step, its noise and each member of its lot.
"""

import resource
import sys
import time

import numpy as np
import numpy.typing as npt

from dpscd import DPLogisticRegression
from dpscd.kernels.dual import Records
from dpscd.losses import Softmax
from dpscd.plan import Plan
from dpscd.privacy.random import SecureSource
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem, rows_of
from dpscd.solvers.dp_scd import dp_scd

CLASSES, FEATURES, TESTS, NOISE = 1000, 512, 10_000, 1.2
SMALL, LARGE, STEPS, TURNS = 80, 1040, 20, 3

Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


def generated(n: int) -> tuple[Singles, Ints]:
    """Return rows of length one and their classes."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CLASSES, FEATURES), dtype=np.float32)
    y = rng.integers(0, CLASSES, n)
    X = centres[y]
    X += np.float32(NOISE) * rng.standard_normal(X.shape, dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y


def step_seconds(X: Singles, y: Ints, lot: int) -> float:
    """Return the processor's seconds of a step with lots of so many members: a median."""
    n = len(X)
    problem = Problem(Softmax(), 1e-5, n, FEATURES, outputs=CLASSES, row_bound=1.0)
    plan = Plan(
        epsilon=1.0, delta=1e-6, relation=Relation.ZERO_OUT, n=n, d=FEATURES, outputs=CLASSES,
        intercept=False, lam=1e-5, steps=STEPS, rate=lot / n, clip=0.01, separability=20.0,
        averaging=0.4, noise_multiplier=3.0,
    )  # fmt: skip
    rows, records = rows_of(problem, X), Records(y.astype(float), np.ones(n))
    taken = []
    for _ in range(TURNS + 1):  # the first compiles
        start = time.process_time()
        dp_scd(problem, plan, rows, records, SecureSource())
        taken.append((time.process_time() - start) / STEPS)
    return float(np.median(taken[1:]))


def main(n: int) -> None:
    """Fit, then time steps."""
    X, y = generated(n + TESTS)
    model = DPLogisticRegression(8.0, delta=1e-6, classes=range(CLASSES), n_jobs=-1)
    start, own = time.perf_counter(), time.process_time()
    model.fit(X[:n], y[:n])
    wall, own = time.perf_counter() - start, time.process_time() - own
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sys.stdout.write(
        f"{n} records: {wall:.0f} s, {own:.0f} s of the processor, {memory:.2f} GiB, "
        f"accuracy {model.score(X[n:], y[n:]):.3f} at epsilon 8\n"
    )
    small, large = (step_seconds(X[:4000], y[:4000], lot) for lot in (SMALL, LARGE))
    member = (large - small) / (LARGE - SMALL)
    sys.stdout.write(
        f"a step: {1e3 * (small - SMALL * member):.1f} ms and {1e6 * member:.0f} us a member\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
