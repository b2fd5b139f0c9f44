"""The loss by the number of intervals of smooth shapes, on generated tables.

Run as ``python benchmarks/resolution.py [SEEDS]``: ridge regressions of six numbers, of which
three matter, by four laws: lines, waves, jumps, sharp edges on skewed numbers. Mean squared
error on 20,000 further records, where 1 is the noise of the labels; means over seeds (4). The
last column is what ``shape = "auto"`` takes.
"""

import sys
import warnings

import numpy as np
import pandas as pd

from dpscd import DPRidge, Schema, TableModel
from dpscd.preprocessing.resolution import intervals_for

COLUMNS = 6
INTERVALS = (0, 2, 4, 8, 16, 32)
SIZES = ((1000, 0.5), (1000, 2.0), (5000, 1.0), (20_000, 0.5), (20_000, 2.0), (100_000, 1.0))
LAWS = {
    "lines": lambda u: 2.0 * u[:, 0] - 1.5 * u[:, 1] + u[:, 2],
    "waves": lambda u: 1.5 * np.sin(3.0 * u[:, 0]) + 1.5 * np.cos(5.0 * u[:, 1]) + u[:, 2],
    "jumps": lambda u: 1.5 * np.sign(u[:, 0] - 0.2) + 1.5 * (np.abs(u[:, 1]) < 0.4) + u[:, 2],
    "edges": lambda u: (
        3.0 * np.exp(-8.0 * (u[:, 0] + 1.0)) - 3.0 * np.exp(-8.0 * (u[:, 1] + 1.0))
    ),
}


def loss(law: str, n: int, epsilon: float, intervals: int, seed: int) -> float:
    """Return the mean squared error of one fit."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1.0, 1.0, (n + 20_000, COLUMNS))
    if law == "edges":
        u = np.minimum(rng.exponential(0.25, u.shape) - 1.0, 1.0)
    table = pd.DataFrame(u, columns=[f"x{k}" for k in range(COLUMNS)])
    shape = {"shape": "smooth", "bins": intervals} if intervals else {"shape": "line"}
    own = {name: {"kind": "number", "bounds": [-1, 1], **shape} for name in table}
    table["y"] = LAWS[law](u) + rng.normal(size=len(u))
    schema = Schema.from_dict({"target": {"column": "y", "bounds": [-8, 8]}, "columns": own})
    model = TableModel(schema, DPRidge(epsilon, delta=1e-5, random_state=seed)).fit(table[:n])
    return float(np.mean((model.predict(table[n:]) - table["y"][n:]) ** 2))


def main() -> None:
    """Fit and print a table."""
    warnings.simplefilter("ignore")
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    print("n, epsilon, law:", *INTERVALS, "auto")  # noqa: T201
    for n, epsilon in SIZES:
        for law in LAWS:
            found = [
                np.mean([loss(law, n, epsilon, count, seed) for seed in range(seeds)])
                for count in INTERVALS
            ]
            chosen = intervals_for(epsilon, n, COLUMNS)
            print(  # noqa: T201
                f"{n:,} {epsilon:g} {law}:", *(f"{x:.3f}" for x in found), chosen, flush=True
            )


if __name__ == "__main__":
    main()
