"""What a declared direction gains where it is true: errors with and without ``monotone``.

Run as ``python benchmarks/monotone.py [SEEDS]``: ridge regressions of six numbers, of which
three matter and rise: evenly ("lines"), by jumps ("jumps"), or only at one end ("ends"). Either
those three are declared monotone or none. Mean squared error on 20,000 further records, less
the noise of the labels, which is 1; means over seeds (8), and the standard error of the gain.
"""

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd

from dpscd import DPRidge, Schema, TableModel

SIZES = ((1000, 1.0), (5000, 0.5), (5000, 2.0), (20_000, 1.0))
LAWS = {
    "lines": lambda u: 1.5 * u[:, 0] + u[:, 1] + 0.5 * u[:, 2],
    "jumps": lambda u: np.sign(u[:, 0] - 0.2) + (u[:, 1] > -0.5) + np.sign(u[:, 2]),
    "ends": lambda u: np.exp(4.0 * (u[:, :3] - 0.6)).sum(axis=1) / 2.0,
}


def excess(law: str, n: int, epsilon: float, seed: int, *, declared: bool) -> float:
    """Return by how much the mean squared error of one fit exceeds the noise of labels."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1.0, 1.0, (n + 20_000, 6))
    table = pd.DataFrame(u, columns=[f"x{k}" for k in range(6)])
    columns: dict[str, Any] = {x: {"kind": "number", "bounds": [-1, 1]} for x in table}
    for name in ("x0", "x1", "x2") if declared else ():
        columns[name]["monotone"] = "up"
    truth = LAWS[law](u)
    table["y"] = truth + rng.normal(size=len(u))
    target = {"column": "y", "bounds": [-8, 8]}
    schema = Schema.from_dict({"target": target, "columns": columns})
    model = TableModel(schema, DPRidge(epsilon, delta=1e-5, random_state=seed)).fit(table[:n])
    return float(np.mean((model.predict(table[n:]) - truth[n:]) ** 2))


def main() -> None:
    """Fit and print a table."""
    warnings.simplefilter("ignore")
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    print("n, epsilon, law: free, monotone, gain")  # noqa: T201
    for n, epsilon in SIZES:
        for law in LAWS:
            free, risen = (
                np.array([excess(law, n, epsilon, s, declared=x) for s in range(seeds)])
                for x in (False, True)
            )
            gain = free - risen
            print(  # noqa: T201
                f"{n:,} {epsilon:g} {law}: {free.mean():.3f} {risen.mean():.3f}",
                f"{gain.mean():+.3f} ± {gain.std(ddof=1) / np.sqrt(seeds):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
