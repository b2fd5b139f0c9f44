"""Contenders from other libraries, plain streams through memory, and new processes.

An epoch of a library that only has ``fit`` is the difference of two fits, over the
difference of their epochs.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dpscd_experiments.cells import Skip
from dpscd_experiments.opponents.linear import ABSENT
from dpscd_experiments.opponents.peers import fit_elsewhere, interpreter_of
from dpscd_experiments.speed.ours import Case, Clock, clocked

_FIRST, _SECOND = 3, 9  # epochs of the two fits

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


def _by_difference(case: Case, made: Callable[[int], Any]) -> Clock:
    def fit(epochs: int) -> None:
        made(epochs).fit(case.X, case.y)

    return lambda: (clocked(fit, _SECOND) - clocked(fit, _FIRST)) / (_SECOND - _FIRST)


def snap_ml_epoch(case: Case, threads: int = 1) -> Clock:
    """Return an epoch of Snap ML's dual solver (logistic), which is not private."""
    try:
        from snapml import LogisticRegression
    except ImportError:
        raise Skip(ABSENT) from None

    own = {"regularizer": case.lam * len(case.y), "dual": True, "tol": 0.0, "n_jobs": threads}
    make = partial(LogisticRegression, fit_intercept=False, **own)
    return _by_difference(case, lambda epochs: make(max_iter=epochs))


def liblinear_epoch(case: Case) -> Clock:
    """Return an epoch of liblinear's dual solver for the hinge loss, which is not private."""
    from sklearn.svm import LinearSVC

    own = {"loss": "hinge", "C": 1.0 / (case.lam * len(case.y)), "tol": 1e-12}
    make = partial(LinearSVC, fit_intercept=False, random_state=0, **own)
    return _by_difference(case, lambda epochs: make(max_iter=epochs))


def sgd_epoch(case: Case) -> Clock:
    """Return an epoch of scikit-learn's SGDClassifier (logistic), which is not private."""
    from sklearn.linear_model import SGDClassifier

    own = {"loss": "log_loss", "alpha": case.lam, "tol": None}
    make = partial(SGDClassifier, fit_intercept=False, random_state=0, **own)
    return _by_difference(case, lambda epochs: make(max_iter=epochs))


def lbfgs_fit(case: Case) -> Clock:
    """Return a whole fit of scikit-learn's logistic regression, which is not private."""
    from sklearn.linear_model import LogisticRegression

    X = case.X.astype(np.float64)

    def fit() -> float:
        with threadpool_limits(1, user_api="blas"):
            return clocked(LogisticRegression().fit, X, case.y)

    return fit


def diffprivlib_fit(case: Case) -> Clock:
    """Return a whole fit of diffprivlib's logistic regression, in its own interpreter."""
    interpreter_of("diffprivlib")  # or a reason why not
    settings = {
        "X": case.X.astype(np.float64),
        "y": case.y,
        "loss": np.array("logistic"),
        "epsilon": 1.0,
        "seed": 0,
        "intercept": True,
        "C": 1.0,
    }
    return lambda: float(fit_elsewhere("diffprivlib", settings, threads=1)["seconds"])


def product(case: Case) -> Clock:
    """Return a float32 product of the matrix with a vector, which streams it once."""
    vector = np.ones(case.X.shape[1], np.float32)

    def stream() -> float:
        with threadpool_limits(1, user_api="blas"):
            return clocked(np.matmul, case.X, vector)

    return stream


def gather(case: Case) -> Clock:
    """Return a copy of all rows in random order, which shows how slow memory answers."""
    target = np.zeros_like(case.X)
    order = np.random.default_rng(0).permutation(len(case.y))
    # With mode='raise' numpy would go through another copy.
    return lambda: clocked(lambda: np.take(case.X, order, axis=0, out=target, mode="clip"))


def copy(case: Case, row_bytes: int) -> Clock:
    """Return the time in which a copy in memory moves as many bytes as an epoch reads.

    Bytes that are read and bytes that are written count, as in the STREAM benchmark.
    """
    target = np.zeros_like(case.X)
    share = len(case.y) * row_bytes / (2 * case.X.nbytes)
    return lambda: share * clocked(np.copyto, target, case.X)


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
