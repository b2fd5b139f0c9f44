"""The parameters that all estimators share: what is allowed, and what 'auto' leaves open."""

import os
from numbers import Integral
from typing import Any

import numpy as np

from dpscd.errors import ParameterError
from dpscd.estimators.validation import check_integer, check_number
from dpscd.persons import MOST_ROWS, SHARE, SUM
from dpscd.privacy.random import SecretSeed
from dpscd.privacy.relation import Relation
from dpscd.solvers.on_device import ENGINES

__all__ = ["check_budget", "check_shared", "given", "is_auto", "threads_of"]


_MOST_THREADS = 10_000  # far more than any machine has


def is_auto(value: Any) -> bool:
    """Return whether a parameter is to be planned."""
    return isinstance(value, str) and value == "auto"


def given(value: Any) -> Any:
    """Return a parameter as a plain value, or None when it is 'auto'."""
    if is_auto(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def threads_of(n_jobs: int | None) -> int:
    """Return the number of threads that n_jobs asks for."""
    if n_jobs is None:
        return 1
    if n_jobs == -1:
        return os.cpu_count() or 1
    plain = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if not plain or not 1 <= n_jobs <= _MOST_THREADS:
        raise ParameterError(
            f"n_jobs={n_jobs!r} must be None, -1 or an integer from 1 to {_MOST_THREADS:,}."
        )
    return int(n_jobs)


def check_shared(model: Any) -> None:
    """Raise ParameterError for a parameter, shared by all estimators, that is not allowed."""
    check_number("epsilon", model.epsilon, infinite=True)
    relation = Relation.parse(model.relation)
    check_number("row_bound", model.row_bound, low=1e-100)
    if not is_auto(model.intercept_scaling):
        check_number("intercept_scaling", model.intercept_scaling, low=1e-100)
    if not (is_auto(model.standardise) or isinstance(model.standardise, bool | np.bool_)):
        raise ParameterError(
            f"standardise={model.standardise!r} must be True, False or 'auto'."
        )
    if not isinstance(model.fit_intercept, bool | np.bool_):
        raise ParameterError(f"fit_intercept={model.fit_intercept!r} must be True or False.")
    for name in ("lam", "epochs", "travel"):
        if not is_auto(getattr(model, name)):
            check_number(name, getattr(model, name), low=1e-100)
    if not is_auto(model.lot_size):
        check_integer("lot_size", model.lot_size)
    if model.n is not None:
        check_integer("n", model.n)
    elif relation.needs_n:
        raise ParameterError(
            f"relation={relation.value!r} needs n=, a declared number of records: the true "
            "one is secret under this relation and must not enter any formula."
        )
    check_integer("max_rows", model.max_rows)
    if model.max_rows > MOST_ROWS:
        raise ParameterError(f"max_rows={model.max_rows!r} must be at most {MOST_ROWS}.")
    if model.person_weight not in (SHARE, SUM):
        raise ParameterError(
            f"person_weight={model.person_weight!r} must be {SHARE!r} or {SUM!r}."
        )
    threads_of(model.n_jobs)
    if model.engine not in ENGINES:
        raise ParameterError(f"engine={model.engine!r} must be 'numba' or 'jax'.")
    check_budget(model.ledger, model.dataset, model.random_state)
    if model.ledger is not None and getattr(model, "classes", ()) is None:
        raise ParameterError(
            "classes=None would read the labels before they are paid for; with a ledger "
            "give classes=."
        )


def check_budget(ledger: Any, dataset: Any, random_state: Any) -> None:
    """Raise ParameterError if a ledger is no file, is half given, or has a known seed."""
    if not isinstance(ledger, str | os.PathLike | None):
        raise ParameterError(f"ledger={ledger!r} must be the path of the budget's file.")
    if (ledger is None) != (dataset is None):
        raise ParameterError(
            f"ledger={ledger!r} and dataset={dataset!r} must be given together: "
            "the file of the budget, and the data set's name in it."
        )
    if ledger is not None and not isinstance(random_state, SecretSeed | None):
        raise ParameterError(
            "random_state must be None with a ledger: what is charged to it does not hold "
            "for noise that others can draw again. If nobody will ever know the seed, say "
            "so: random_state=SecretSeed(secrets.randbits(128))."
        )
