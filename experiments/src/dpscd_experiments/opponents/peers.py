"""Packages that need an interpreter of their own: diffprivlib, Opacus and dpmm.

Their interpreters are named by environment variables; records go there, and coefficients
or synthetic records come back, as files.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dpscd.problem import Model
from dpscd_experiments.cells import Cell, Skip
from dpscd_experiments.opponents.prepared import Prepared
from dpscd_experiments.opponents.setting import config_of

#: The environment variable that names the interpreter of a package.
INTERPRETERS = {
    "diffprivlib": "DPSCD_DIFFPRIVLIB_PYTHON",
    "opacus": "DPSCD_OPACUS_PYTHON",
    "dpmm": "DPSCD_DPMM_PYTHON",
}

_WORKERS = Path(__file__).parent / "workers"


def train(ready: Prepared, cell: Cell) -> Model:
    """Train in the interpreter of the cell's method, on dense rows."""
    interpreter_of(cell.method)  # or a reason why not, before rows are copied
    problem = ready.problem(1.0, ready.label_bound)
    X = ready.data.X
    settings = {
        "X": X.toarray() if sparse.issparse(X) else X,
        "y": problem.labels(ready.labels),
        "loss": np.array(ready.loss),
        "epsilon": cell.epsilon,
        "delta": cell.delta,
        "seed": cell.seed,
        "intercept": ready.data.fit_intercept,
        **config_of(cell),
    }
    made = fit_elsewhere(cell.method, settings)
    coef, intercept = made["coef"].reshape(1, -1), made["intercept"]
    scale = problem.label_scale
    return Model(scale * coef, scale * intercept + problem.label_centre)


def fit_elsewhere(
    package: str, settings: Mapping[str, Any], *, threads: int | None = None
) -> dict[str, Any]:
    """Fit a model of a package in its own interpreter and return the arrays it wrote."""
    few = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "given.npz", Path(folder) / "made.npz"
        np.savez(given, **settings)
        script = _WORKERS / f"fit_{package}.py"
        ended = subprocess.run(  # noqa: S603 - our script, an interpreter the user named
            [interpreter_of(package), "-I", str(script), str(given), str(made)],
            env={**os.environ, **few},
            capture_output=True,
            text=True,
        )
        if ended.returncode:
            last = ended.stderr.strip().splitlines()[-1:] or ["no message"]
            raise RuntimeError(f"{script.name} failed: {last[0]}")
        with np.load(made) as arrays:
            return dict(arrays)


def interpreter_of(package: str) -> str:
    """Return the interpreter that has the package, or raise :class:`Skip` with a reason."""
    variable = INTERPRETERS[package]
    python = os.environ.get(variable)
    if not python:
        raise Skip(
            f"{package} is not run: {variable} must name a Python interpreter that has it"
        )
    reason = _missing(package, python)
    if reason:
        raise Skip(f"{package} is not run: {variable}={python} {reason}")
    return python


@cache
def _missing(package: str, python: str) -> str:
    """Return why an interpreter cannot run a package, or nothing; asked once a process."""
    try:
        found = subprocess.run(  # noqa: S603 - an interpreter the user named
            [python, "-I", "-c", f"import {package}"], capture_output=True
        )
    except OSError:
        return "cannot be started"
    return "has no such package" if found.returncode else ""
