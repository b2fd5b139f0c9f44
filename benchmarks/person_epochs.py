"""What an epoch of persons costs, against the same rows as records, interleaved.

    python benchmarks/person_epochs.py

Persons have ten rows. Medians of ratios over runs that alternate, on one thread, for rows of
several widths, one output or ten, and clips that shorten next to nothing or everything.
"""

import statistics
import sys
import time

import numpy as np

from dpscd.kernels.dual import Records
from dpscd.losses import Logistic
from dpscd.persons import PersonRows
from dpscd.plan import Plan
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem, rows_of
from dpscd.solvers.dp_scd import dp_scd

PERSONS, ROWS, RUNS = 10_000, 10, 7
EPOCHS, LOTS = 10, 100


def seconds(X, labels, outputs: int, clip: float, *, persons: bool) -> float:
    """Return how long a training takes, in which every row is expected to step EPOCHS times."""
    count, d = X.shape
    n = PERSONS if persons else count
    problem = Problem(Logistic(), 1e-4, n, d, outputs, constant=0.3)
    plan = Plan(
        epsilon=1.0, delta=1e-6, relation=Relation.ZERO_OUT, n=n, d=d, outputs=outputs,
        intercept=True, lam=1e-4, steps=EPOCHS * LOTS, rate=1.0 / LOTS, clip=clip,
        separability=100.0, averaging=0.0, noise_multiplier=20.0,
    )  # fmt: skip
    records = Records(labels, np.ones(count))
    own = None
    if persons:
        own = PersonRows(np.arange(0, count + 1, ROWS), records.weights, 100)
    begin = time.perf_counter()
    dp_scd(problem, plan, rows_of(problem, X), records, SeededSource(b"epochs"), persons=own)
    return time.perf_counter() - begin


def main() -> None:
    """Print a line for every setting."""
    rng = np.random.default_rng(0)
    for d, outputs in ((10, 1), (100, 1), (1000, 1), (100, 10)):
        X = (rng.normal(size=(PERSONS * ROWS, d)) / np.sqrt(d)).astype(np.float32)
        labels = (
            rng.integers(0, outputs, len(X)) if outputs > 1 else rng.choice([-1, 1], len(X))
        )
        for clip in (1e-3, 100.0):
            pairs = []
            for run in range(RUNS + 1):
                kinds = (False, True) if run % 2 else (True, False)
                found = {
                    kind: seconds(X, labels.astype(float), outputs, clip, persons=kind)
                    for kind in kinds
                }
                pairs.append((found[False], found[True]))
            alone, together = (statistics.median(x) for x in zip(*pairs[1:], strict=True))
            ratio = statistics.median(b / a for a, b in pairs[1:])
            sys.stdout.write(
                f"{d:5} features, {outputs:2} outputs, clip {clip:g}: records {alone:.3f} s, "
                f"persons {together:.3f} s, ratio {ratio:.2f}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
