"""How long private fits take, next to what `dpscd plan` expects.

    python benchmarks/expected_time.py

Warm: the code is compiled before, and the noise is known from a first fit of a few epochs. One
thread, float32 rows; the median of three fits. The constants of ``dpscd.forecast`` were
fitted to these numbers.
"""

import statistics
import sys
import time

import numpy as np

from dpscd import DPLogisticRegression
from dpscd.forecast import expect
from dpscd.planning import Facts, default_constant, plan_fit
from dpscd.privacy.relation import PrivacyTarget

SIZES = [(3000, 10), (30_000, 10), (30_000, 100), (300_000, 30), (300_000, 100), (10_000, 500)]


def measured(n: int, d: int) -> float:
    """Return the seconds of a default fit."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, d)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X[:, 0] > 0
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        DPLogisticRegression(classes=[False, True], delta=1e-6).fit(X, y)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def expected(n: int, d: int) -> float:
    """Return what is expected of the same fit."""
    facts = Facts(
        n=n,
        d=d,
        outputs=1,
        task="classification",
        row_bound=1.0,
        constant=default_constant(1.0, standardised=True),
        standardised=True,
    )
    return expect(plan_fit(facts, PrivacyTarget(1.0, 1e-6))).seconds


def main() -> None:
    """Print a table."""
    measured(2000, 5)  # compiles
    sys.stdout.write("| records | features | measured s | expected s |\n|---|---|---|---|\n")
    for n, d in SIZES:
        sys.stdout.write(f"| {n:,} | {d} | {measured(n, d):.2f} | {expected(n, d):.2f} |\n")


if __name__ == "__main__":
    main()
