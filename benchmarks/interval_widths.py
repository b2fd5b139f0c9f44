"""How wide intervals of private coefficients are, next to what `dpscd plan` expects.

    python benchmarks/interval_widths.py

Normal features, unrelated or with correlations of 0.3; labels of which features explain 40 %,
or classes by chances whose log-odds deviate by 1.2. Each width is the median over features and
seeds of a private standard error over the classical one of the same records. The last column
is the variance that noise added, over the expected one: about 1 for related features, less for
others, because the factor of ``expected_width`` is that of correlations of 0.3. A few minutes
on one core; `--quick` leaves out 100,000 records.
"""

import math
import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from dpscd import DPLogisticRegression, DPRidge
from dpscd.errors import ParameterError
from dpscd.forecast import expect_intervals
from dpscd.planning import Facts, default_constant, default_delta, plan_fit
from dpscd.privacy.relation import PrivacyTarget

SIZES, FEATURES, EPSILONS = (5000, 20_000, 100_000), (5, 10), (0.5, 1.0, 3.0)
SEEDS = 3


def records(task: str, n: int, d: int, related: float, seed: int) -> Any:
    """Return rows and labels, or classes."""
    generator = np.random.default_rng(seed)
    X = math.sqrt(1.0 - related) * generator.normal(size=(n, d))
    X += math.sqrt(related) * generator.normal(size=(n, 1))
    weights = np.where(np.arange(d) % 2, -1.0, 1.0) * np.arange(1, d + 1)
    line = X @ weights
    line /= math.sqrt((1.0 - related) * (weights**2).sum() + related * weights.sum() ** 2)
    if task == "regression":
        y = math.sqrt(0.4) * line + math.sqrt(0.6) * generator.normal(size=n)
        return X, np.clip(y, -4.0, 4.0)
    return X, generator.random(n) < 1.0 / (1.0 + np.exp(-1.2 * line))


def classical(task: str, X: Any, y: Any) -> Any:
    """Return the standard errors of least squares, or of maximum likelihood."""
    rows = np.column_stack([X, np.ones(len(X))])
    if task == "regression":
        found = np.linalg.lstsq(rows, y, rcond=None)[0]
        spread = np.square(y - rows @ found).sum() / (len(rows) - rows.shape[1])
        return np.sqrt(spread * np.diag(np.linalg.inv(rows.T @ rows)))[:-1]
    found = np.zeros(rows.shape[1])
    for _ in range(20):
        chances = 1.0 / (1.0 + np.exp(-rows @ found))
        curvature = (rows * (chances * (1.0 - chances))[:, None]).T @ rows
        found += np.linalg.solve(curvature, rows.T @ (y - chances))
    return np.sqrt(np.diag(np.linalg.inv(curvature)))[:-1]


def expected(task: str, n: int, d: int, epsilon: float) -> float:
    """Return what `dpscd plan --inference` says; NaN where noise would hide everything."""
    facts = Facts(
        n=n,
        d=d,
        outputs=1,
        task=task,
        row_bound=1.0,
        constant=default_constant(1.0, standardised=True),
        standardised=True,
        inference=True,
    )
    try:
        plan = plan_fit(facts, PrivacyTarget(epsilon, default_delta(n)))
    except ParameterError:
        return math.nan
    return expect_intervals(plan, regression=task == "regression").width


def measured(task: str, n: int, d: int, epsilon: float, related: float) -> tuple[float, float]:
    """Return the median width, and the part of the coefficients that has none."""
    widths: list[float] = []
    for seed in range(SEEDS):
        X, y = records(task, n, d, related, seed)
        options = {"row_bound": math.sqrt(d) + 3.0, "inference": True, "random_state": seed}
        model: Any = (
            DPRidge(epsilon, y_bounds=(-4.0, 4.0), **options)
            if task == "regression"
            else DPLogisticRegression(epsilon, classes=[False, True], **options)
        )
        errors = model.fit(X, y).summary().frame["std_error"].to_numpy()[:d]
        widths += (errors / classical(task, X, y)).tolist()
    hidden = float(np.isnan(widths).mean())
    return (float(np.nanmedian(widths)) if hidden < 1.0 else math.nan), hidden


def rows(sizes: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield what was measured and what was expected."""
    tasks = ("regression", "classification")
    for task, n, d, epsilon in product(tasks, sizes, FEATURES, EPSILONS):
        forecast = expected(task, n, d, epsilon)
        if math.isnan(forecast):
            sys.stdout.write(f"| {task} | {n:,} | {d} | {epsilon:g} | | hidden | | | |\n")
            continue
        for related in (0.0, 0.3):
            width, hidden = measured(task, n, d, epsilon, related)
            factor = (width**2 - 1.0) / (forecast**2 - 1.0)
            yield task, n, d, epsilon, related, forecast, width, hidden, factor


def main() -> None:
    """Print a table, and the median of its last column by task and correlation."""
    sizes = SIZES[:2] if "--quick" in sys.argv[1:] else SIZES
    sys.stdout.write(
        "| task | records | features | epsilon | correlation | expected | measured | hidden "
        "| added variance, measured over expected |\n|---|---|---|---|---|---|---|---|---|\n"
    )
    factors: dict[tuple[str, float], list[float]] = {}
    for task, n, d, epsilon, related, forecast, width, hidden, factor in rows(sizes):
        factors.setdefault((task, related), []).append(factor)
        sys.stdout.write(
            f"| {task} | {n:,} | {d} | {epsilon:g} | {related:g} | {forecast:.2f} "
            f"| {width:.2f} | {100.0 * hidden:.0f} % | {factor:.2f} |\n"
        )
        sys.stdout.flush()
    for (task, related), own in factors.items():
        low, middle, high = np.nanpercentile(own, [10, 50, 90])
        sys.stdout.write(
            f"{task}, correlation {related:g}: {middle:.2f} ({low:.2f} to {high:.2f})\n"
        )


if __name__ == "__main__":
    main()
