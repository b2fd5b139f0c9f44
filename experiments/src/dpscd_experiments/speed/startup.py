"""What it takes to begin: imports and first fits, each in a process of its own."""

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

from dpscd_experiments.speed.contest import Clock

__all__ = ["fits", "importing"]

_IMPORT = """
import time
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""

_FIT = """
import time
import numpy as np
from dpscd import DPLogisticRegression
generator = np.random.default_rng(0)
X = generator.normal(size=({n}, {d}))
X /= np.linalg.norm(X, axis=1, keepdims=True)
y = X[:, 0] > 0.0
start = time.perf_counter()
DPLogisticRegression(epsilon=1.0, classes=[False, True]).fit(X, y)
print(time.perf_counter() - start)
"""


def importing(statement: str) -> Clock:
    """Return the seconds of an import statement in a new process."""
    return lambda: _seconds(_IMPORT.format(statement=statement))


def fits(n: int, d: int, folder: Path) -> tuple[Clock, Clock]:
    """Return a default fit in a new process that finds no cache, and one in a later process."""
    script = _FIT.format(n=n, d=d)
    number = count()
    cache = folder

    def first() -> float:
        nonlocal cache
        cache = folder / str(next(number))
        return later()

    def later() -> float:
        return _seconds(script, XDG_CACHE_HOME=str(cache), NUMBA_CACHE_DIR=str(cache))

    return first, later


def _seconds(script: str, **environment: str) -> float:
    """Run a script in a new process and return the number that it prints."""
    package = Path(__file__).resolve().parents[2]
    paths = [str(package), os.environ.get("PYTHONPATH", "")]
    ended = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **environment},
        capture_output=True,
        text=True,
    )
    if ended.returncode:
        last = ended.stderr.strip().splitlines()[-1:] or ["no message"]
        raise RuntimeError(last[0])
    return float(ended.stdout)
