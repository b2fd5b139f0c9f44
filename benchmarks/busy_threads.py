"""What two threads are worth, alone and beside other busy programs, against one thread.

    python benchmarks/busy_threads.py [ROUNDS] [EPOCHS]

Trainings with one and two threads take turns (logistic loss, 348,000 generated records of 90
features, lots of 1,000), with no other process and beside one and two that do nothing but
count. Medians over rounds (5), and of the ratios within rounds. The load of the machine before
is printed too: what else runs there is not this script's.
"""

import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from statistics import median

import numpy as np

from dpscd.kernels.dual import Records
from dpscd.losses import Logistic
from dpscd.plan import Plan
from dpscd.privacy.random import SeededSource
from dpscd.privacy.relation import Relation
from dpscd.problem import Problem
from dpscd.solvers.dp_scd import dp_scd

COUNT, FEATURES, LOT = 348_000, 90, 1000
BUSY = (0, 1, 2)


@contextmanager
def busy():
    """Keep a processor busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def training(epochs):
    """Return a function that trains with so many threads; it returns seconds and the result."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(COUNT, FEATURES)).astype(np.float32) / 10.0
    problem = Problem(Logistic(), 1e-4, COUNT, FEATURES, constant=0.3)
    plan = Plan(
        epsilon=1.0, delta=1e-6, relation=Relation.ZERO_OUT, n=COUNT, d=FEATURES, outputs=1,
        intercept=True, lam=1e-4, steps=epochs * COUNT // LOT, rate=LOT / COUNT, clip=1e-3,
        separability=LOT / 4.0, averaging=0.25, noise_multiplier=200.0,
    )  # fmt: skip
    rows, records = problem.rows(X), Records(np.sign(X[:, 0]), np.ones(COUNT))

    def train(threads):
        begin = time.perf_counter()
        found = dp_scd(problem, plan, rows, records, SeededSource(b"busy"), threads=threads)
        return time.perf_counter() - begin, found

    return train


def main(rounds, epochs):
    """Print a line for every number of busy processes."""
    train = training(epochs)
    _, expected = train(1)  # compiles
    train(2)
    sys.stdout.write(f"load before: {', '.join(f'{x:.2f}' for x in os.getloadavg())}\n")
    seconds = {(others, threads): [] for others in BUSY for threads in (1, 2)}
    for turn in range(rounds):
        for others in BUSY:
            with ExitStack() as stack:
                for _ in range(others):
                    stack.enter_context(busy())
                for threads in (1, 2) if turn % 2 else (2, 1):
                    taken, found = train(threads)
                    seconds[others, threads].append(taken)
                    if not np.array_equal(found, expected):
                        raise SystemExit("the result depends on the threads")
    for others in BUSY:
        one, two = seconds[others, 1], seconds[others, 2]
        ratio = median(b / a for a, b in zip(one, two, strict=True))
        first, second = (
            f"{median(x):.2f} s ({min(x):.2f} to {max(x):.2f})" for x in (one, two)
        )
        sys.stdout.write(
            f"{others} busy: one thread {first}, two {second}, ratio {ratio:.2f}\n"
        )


if __name__ == "__main__":
    numbers = [int(x) for x in sys.argv[1:]]
    main(*numbers, *(5, 20)[len(numbers) :])
