"""What secure randomness costs: a whole fit against one that draws with numpy.

Run ``python benchmarks/randomness.py``. Both fits run the same plan on the same data; one
takes lots and noise from the library's source (AES-256, exact lattice normals), the other
from ``numpy.random.default_rng``: its own normals, and skips from its own exponentials. The
repetitions are interleaved, because machines are noisy, and medians are compared.
"""

import statistics
import sys
import time
from dataclasses import dataclass

import numpy as np

from dpscd.kernels.dual import Records
from dpscd.losses import Logistic
from dpscd.planning.facts import Facts
from dpscd.planning.rule import plan_fit
from dpscd.privacy.random import SecureSource
from dpscd.privacy.relation import PrivacyTarget
from dpscd.problem import Problem
from dpscd.records.labels import ClassLabels
from dpscd.releases.training import Training
from dpscd.solvers.dp_scd import dp_scd
from dpscd.solvers.threads import kernel_for
from dpscd_experiments.datasets import adult_paper

REPETITIONS = 15


@dataclass(frozen=True)
class Case:
    """A data set wrapped for the solvers."""

    problem: Problem
    plan: Training
    rows: object
    records: Records


def case() -> Case:
    """Return Adult as in the paper, logistic loss, epsilon 1, everything automatic."""
    data = adult_paper()
    n, d = data.X.shape
    facts = Facts(n, d, "Logistic", ClassLabels((-1, 1)))
    plan = plan_fit(facts, PrivacyTarget(1.0, 1e-5)).training
    problem = Problem(loss=Logistic(), lam=plan.lam, n=n, d=d)
    return Case(problem, plan, problem.rows(data.X), Records(data.y.astype(float), np.ones(n)))


def with_numpy(c: Case) -> None:
    """Run the plan with numpy's default generator and the same kernel."""
    plan, n = c.plan, c.problem.n
    rng = np.random.default_rng()
    decay = -np.log1p(-plan.rate)
    dual, shared = np.zeros((n, 1)), np.zeros((1, c.problem.d))
    average = np.zeros_like(shared)
    chunk = max(1, 2**16 // max(plan.size, plan.lots.skips(n)))
    kernel = kernel_for(c.problem, plan, c.rows, c.records, 1)
    with kernel as (run, _):
        for first in range(0, plan.steps, chunk):
            steps = min(chunk, plan.steps - first)
            # One walk over steps * n coin tosses: the cheapest way to draw Poisson lots.
            expected = plan.rate * n * steps
            skips = rng.standard_exponential(int(expected + 8 * expected**0.5 + 16)) / decay
            places = np.cumsum(skips.astype(np.int64) + 1) - 1
            places = places[places < steps * n]
            ids = places % n
            starts = np.searchsorted(places, np.arange(steps + 1) * n)
            normals = rng.standard_normal((steps, plan.size))
            damping = plan.constants(c.problem.strength).separability
            run(damping, ids, starts, normals, plan.average_from - first, dual, shared, average)


def with_ours(c: Case) -> None:
    """Run the plan as the estimators do."""
    dp_scd(c.problem, c.plan, c.rows, c.records, SecureSource())


def main() -> None:
    """Print the medians and their ratio."""
    c = case()
    times: dict[str, list[float]] = {"numpy": [], "secure": []}
    for repetition in range(REPETITIONS + 1):
        for name, run in (("numpy", with_numpy), ("secure", with_ours)):
            start = time.perf_counter()
            run(c)
            if repetition:  # the first round compiles
                times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, median in medians.items():
        low, *_, high = statistics.quantiles(times[name])
        sys.stdout.write(f"{name:7s} median {median:.3f} s (quartiles {low:.3f}, {high:.3f})\n")
    sys.stdout.write(f"ratio   {medians['secure'] / medians['numpy']:.2f}\n")


if __name__ == "__main__":
    main()
