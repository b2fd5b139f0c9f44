"""Kill processes at random moments of their fits and look at the ledger they leave.

In the test suite this runs a dozen trials; the long version, over whole fits, is

    python tests/kill_trials.py --trials 200 --json

Each trial starts a process that fits models one after the other and kills it (SIGKILL)
after a random time. The process says when it begins a fit and when it is done, so that
afterwards every fit must be found: none lost, at most the one under way unannounced.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dpscd import DPRidge
from dpscd.privacy.ledger import Ledger

_EPSILON, _DELTA = 0.01, 1e-9
_LONGEST = 0.3  # seconds until the kill; a fit and its two operations take about 0.1
_TRIALS_A_FILE = 20  # a ledger is read as a whole: long ones would slow the fits down


def fit_once(path: str) -> None:
    """Train a small model, charged to the ledger."""
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(2000, 5)), generator.uniform(size=2000)
    model = DPRidge(
        _EPSILON, delta=_DELTA, y_bounds=(0.0, 1.0), epochs=50, ledger=path, dataset="d"
    )
    model.fit(X, y)


def trial(path: str, seed: int) -> tuple[int, int]:
    """Kill one process; return how many fits it said that it began, and ended."""
    hear, say = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            while True:
                os.write(say, b"b")
                fit_once(path)
                os.write(say, b"e")
        finally:
            os._exit(1)
    os.close(say)
    time.sleep(random.Random(seed).uniform(0.0, _LONGEST))  # noqa: S311 - no secret
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(hear, "rb") as pipe:
        said = pipe.read()
    if not os.WIFSIGNALED(status):
        raise AssertionError("the process ended by itself")
    return said.count(b"b"), said.count(b"e")


def check(ledger: Ledger, known: int, begun: int, ended: int) -> int:
    """Return how many fits a trial charged, or raise AssertionError."""
    ledger.verify()
    fits = ledger.history("d")[known:]
    if not ended <= len(fits) <= begun:
        raise AssertionError("a fit that ended is not counted, or one that did not begin is")
    if not all(fit.committed for fit in fits[:ended]):
        raise AssertionError("the end of a fit is not noted")
    state = ledger.show("d")
    if state.spent_epsilon < state.reserved * _EPSILON * (1.0 - 1e-12):
        raise AssertionError("the total is below the sum")
    return len(fits)


def run(trials: int, seed: int) -> dict[str, int]:
    """Run all trials; raise AssertionError at the first thing that does not hold."""
    totals = {"trials": trials, "fits": 0, "killed while charged": 0, "killed before": 0}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(trials):
            path = str(Path(folder) / f"{number // _TRIALS_A_FILE}.db")
            if number % _TRIALS_A_FILE == 0:
                Ledger.init(path, "d", epsilon=100.0, delta=1e-4)
                fit_once(path)  # everything is compiled and cached before the first fork
            known = Ledger(path).show("d").reserved
            begun, ended = trial(path, seed + number)
            fits = check(Ledger(path), known, begun, ended)
            totals["fits"] += fits
            totals["killed while charged"] += fits - ended
            totals["killed before"] += begun - fits
    return totals


def main() -> int:
    """Run the trials that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    asked = parser.parse_args()
    found = run(asked.trials, asked.seed)
    words = ", ".join(f"{value} {key}" for key, value in found.items())
    sys.stdout.write((json.dumps(found) if asked.json else words) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
