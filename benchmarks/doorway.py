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
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from dpscd import DPLogisticRegression, Schema, TableModel
from dpscd.audit.audit import Statistic, World, audit
from dpscd.errors import DpscdError
from dpscd.privacy.relation import PrivacyTarget

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


@dataclass(frozen=True)
class Attack:
    """A case of the audit: an epsilon to claim, and the coefficient of a fresh fit."""

    name: str
    epsilon: float
    fit: Callable[[bool], float]

    canaries: ClassVar[int] = 1
    person_rows: ClassVar[None] = None
    stream: ClassVar[str] = "doorway {seed}, {name}, fit"

    def trial(self, world: World) -> tuple[PrivacyTarget, list[Statistic]]:
        """Fit once; the coefficient may tell by being large, or small."""
        found = np.array([self.fit(bool(world.present[0]))])
        sides = [Statistic("large coefficient", found), Statistic("small coefficient", -found)]
        return PrivacyTarget(self.epsilon, DELTA), sides


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


ATTACKS = {
    "sentinels": Attack("sentinels", 1.0, sentinels),
    "labels": Attack("labels", 0.1, labels),
}


def main() -> None:
    """Play one attack, or both, and print what it shows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attack", choices=[*ATTACKS, "all"], default="all")
    parser.add_argument("--fits", type=int, default=120, help="fits in both worlds together")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    names = list(ATTACKS) if chosen.attack == "all" else [chosen.attack]
    results = [
        audit(ATTACKS[name], trials=chosen.fits // 2, confidence=0.975) for name in names
    ]
    if chosen.json:
        sys.stdout.write(json.dumps([x.to_dict() for x in results], indent=2) + "\n")
        return
    for result in results:
        measured = max(bound.measured for bound in result.bounds)
        sys.stdout.write(
            f"{result.name}: epsilon is at least {measured:.2f} (95 % confidence), "
            f"claimed {result.epsilon_claimed:g}: "
            f"{'EXCEEDED' if result.exceeded else 'holds'}. {result.seconds:.0f} s\n"
        )


if __name__ == "__main__":
    main()
