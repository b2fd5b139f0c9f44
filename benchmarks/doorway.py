"""Two attacks on the door: whether one cell changes what other records' cells mean.

Both are played on neighbours in the strictest sense, zero-out: one record of 4,000 holds
something or is empty, and an empty record contributes nothing. The adversary fits both tables
many times with fresh randomness and guesses from the model alone which one it was.

* ``sentinels``: the schema says that 999 means missing, and half of the records hold 999. One
  record holds the text "unknown" or nothing, so `pandas.read_csv` reads the whole column as
  texts or as numbers. If 999 means missing in one type only, the model differs by half of the
  records.
* ``labels``: labels are given as the numbers 1.0 and 0.0, one of them as "unknown" or None.
  NumPy turns all of them into texts or keeps numbers. If "1.0" is no class where 1.0 is one,
  nobody contributes in one of the two worlds.

A door that parses cell by cell leaves both at the rate of a coin, within what the epsilon
allows. Run ``python benchmarks/doorway.py --attack sentinels --fits 120``.
"""

import argparse
import io
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from dpscd import DPLogisticRegression, Schema, TableModel
from dpscd.audit.bounds import epsilon_of_errors
from dpscd.errors import DpscdError

RECORDS = 4000
DELTA = 1e-5
RECORD = 1234  # the record that holds something, or is empty

SENTINELS = """
[table]
missing = ["999"]

[target]
column = "ill"
classes = ["no", "yes"]

[columns.value]
kind = "number"
bounds = [0, 1000]
"""

LABELS = """
[target]
column = "ill"
classes = ["0", "1"]

[columns.value]
kind = "number"
bounds = [0, 1000]
"""


class Attack(NamedTuple):
    """An epsilon to claim, and the coefficient of a fresh fit in either world."""

    epsilon: float
    fit: Callable[[bool], float]


def sentinels(there: bool) -> float:
    """Return the coefficient where half of the records hold the sentinel 999."""
    lines = ["value,ill"]
    for i in range(RECORDS):
        # The others are in the middle of the bounds, where a value says nothing.
        lines.append("999,yes" if i % 2 == 0 else f"500,{'yes' if i % 4 == 1 else 'no'}")
    lines[1 + RECORD] = "unknown,yes" if there else ","
    table = pd.read_csv(io.StringIO("\n".join(lines)))
    return _coefficient(TableModel(Schema.parse(SENTINELS), _estimator(1.0)), table)


def labels(there: bool) -> float:
    """Return the coefficient where labels are numbers, but for one."""
    table = pd.DataFrame({"value": np.where(np.arange(RECORDS) % 2, 1000.0, 0.0)})
    y: list[object] = [float(i % 2) for i in range(RECORDS)]
    y[RECORD] = "unknown" if there else None
    return _coefficient(TableModel(Schema.parse(LABELS), _estimator(0.1)), table, y)


def _estimator(epsilon: float) -> DPLogisticRegression:
    # lam is public; this one makes the noise in a coefficient small against what records say.
    return DPLogisticRegression(epsilon, delta=DELTA, lam=0.1, fit_intercept=False)


def _coefficient(model: TableModel, *data: object) -> float:
    try:
        return float(np.ravel(model.fit(*data).estimator_.coef_)[0])
    except DpscdError:
        return -math.inf  # a refusal is seen too


ATTACKS = {"sentinels": Attack(1.0, sentinels), "labels": Attack(0.1, labels)}


def measured(attack: Attack, fits: int) -> dict[str, float]:
    """Return how often the adversary is right on `fits` fits, and what that implies.

    The threshold and its direction are chosen on as many other fits, so that the counts are
    of a test that was fixed before.
    """
    start = time.perf_counter()
    half = fits // 2
    first, second = (
        [np.array([attack.fit(there) for _ in range(half)]) for there in (False, True)]
        for _ in range(2)
    )
    values = np.sort(np.concatenate(first))
    tests = [(sign, t) for sign in (1.0, -1.0) for t in (values[1:] + values[:-1]) / 2.0]
    errors = [sum(_errors(first, *test)) for test in tests]
    best = [test for test, count in zip(tests, errors, strict=True) if count == min(errors)]
    sign, threshold = best[len(best) // 2]
    wrong, missed = _errors(second, sign, threshold)
    return {
        "epsilon": attack.epsilon,
        "delta": DELTA,
        "records": RECORDS,
        "fits": 2 * half,
        "right": 2 * half - wrong - missed,
        "rate": 1.0 - (wrong + missed) / (2.0 * half),
        "largest_rate": (math.exp(attack.epsilon) + DELTA) / (1.0 + math.exp(attack.epsilon)),
        "epsilon_lower": epsilon_of_errors(wrong, missed, (half, half), delta=DELTA),
        "seconds": time.perf_counter() - start,
    }


def _errors(worlds: list[np.ndarray], sign: float, threshold: float) -> tuple[int, int]:
    """Return the errors of the test ``sign * coefficient > sign * threshold``."""
    absent, present = (sign * scores > sign * threshold for scores in worlds)
    return int(absent.sum()), int((~present).sum())


def main() -> None:
    """Play one attack, or both, and print what it shows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attack", choices=[*ATTACKS, "all"], default="all")
    parser.add_argument("--fits", type=int, default=120, help="fits that are guessed about")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    if chosen.fits < 2:
        parser.error("--fits must be at least 2")
    warnings.simplefilter("ignore")
    names = list(ATTACKS) if chosen.attack == "all" else [chosen.attack]
    results = {name: measured(ATTACKS[name], chosen.fits) for name in names}
    if chosen.json:
        sys.stdout.write(json.dumps(results, indent=2) + "\n")
        return
    for name, found in results.items():
        verdict = "EXCEEDED" if found["epsilon_lower"] > found["epsilon"] else "holds"
        sys.stdout.write(
            f"{name}: right in {found['right']} of {found['fits']} fits ({found['rate']:.1%}); "
            f"(epsilon, delta) = ({found['epsilon']:g}, {found['delta']:g}) allows "
            f"{found['largest_rate']:.1%}; epsilon is at least {found['epsilon_lower']:.2f} "
            f"(95 % confidence): {verdict}. {found['seconds']:.0f} s\n"
        )


if __name__ == "__main__":
    main()
