"""Parameters of estimators: what is allowed, and what is said of those that are not."""

import difflib
import inspect
import math
import os
from numbers import Integral
from typing import Any, Self

import numpy as np

from dpscd.errors import ParameterError, PrivacyWarning, UtilityWarning
from dpscd.estimators.validation import check_integer, check_number, warn_user
from dpscd.forecast import noise_warning
from dpscd.information import ROBUST
from dpscd.kernels.persons import MOST_ROWS
from dpscd.persons import SHARE, SUM
from dpscd.planning import default_delta
from dpscd.privacy.random import SecretSeed
from dpscd.privacy.relation import FORMAL, PrivacyTarget, Relation
from dpscd.solvers.on_device import ENGINES

#: Parameters that a plan chooses where they are not given.
CHOSEN = ("lam", "epochs", "lot_size", "travel")
_MOST_THREADS = 10_000  # far more than any machine has


def is_auto(value: Any) -> bool:
    """Return whether a parameter is to be planned."""
    return isinstance(value, str) and value == "auto"


def given(value: Any) -> Any:
    """Return a parameter as a plain value, or None when it is 'auto'."""
    if is_auto(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def delta_of(asked: Any, n: int) -> float:
    """Return the delta that is asked for, or that which is planned for n records."""
    delta = given(asked)
    return check_number("delta", default_delta(n) if delta is None else delta, strict=False)


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


def check_inference_parameters(model: Any) -> None:
    """Raise ParameterError for parameters that do not go with `inference`."""
    asked = model.inference
    if isinstance(asked, bool | np.bool_):
        if not asked:
            return
    elif not (isinstance(asked, str) and asked == ROBUST):
        raise ParameterError(f"inference={asked!r} must be True, False or {ROBUST!r}.")
    if math.isinf(model.epsilon):
        raise ParameterError(
            "inference needs a finite epsilon: without privacy use statsmodels, for example."
        )
    for name in CHOSEN:
        if not is_auto(getattr(model, name)):
            raise ParameterError(
                f"{name}={getattr(model, name)!r} does not go with inference, for which it is "
                "planned: leave it 'auto'."
            )
    if model.standardise is False:
        raise ParameterError("standardise=False does not go with inference, which needs it.")
    if getattr(model, "class_weight", None) is not None:
        raise ParameterError(
            "class_weight does not go with inference: it changes what is meant."
        )


def check_inference(model: Any, classes: Any, opened: Any, source: Any) -> None:
    """Raise ParameterError where public facts of the records do not go with `inference`."""
    if classes is not None and len(classes) != 2:
        raise ParameterError(f"inference is for two classes, not {len(classes)}.")
    if source.on_dask:
        raise ParameterError("inference is not available on Dask: its many steps are small.")
    if source.weighted:
        raise ParameterError("sample_weight does not go with inference.")
    if not opened.dense:
        raise ParameterError("inference needs dense rows, not a sparse matrix.")
    if source.persons is not None and model.person_weight != SHARE:
        raise ParameterError(
            f"inference with persons needs person_weight={SHARE!r}: if every row counts, "
            "whoever has many is cut, and intervals would be about something else."
        )


def check_for_dask(model: Any, *, classifies: bool) -> None:
    """Raise ParameterError for parameters that are not available on Dask."""
    if model.engine == "jax":
        raise ParameterError("engine='jax' is not available on Dask: it trains on one device.")
    if math.isinf(model.epsilon):
        raise ParameterError(
            "epsilon=inf is not available on Dask: train without privacy on one machine."
        )
    if classifies and model.classes is None:
        raise ParameterError(
            "classes=None is not available on Dask, where labels do not leave their "
            "worker; give classes=."
        )


def warn_of_target(target: PrivacyTarget, n: int, width: int) -> None:
    """Warn of a guarantee that is none, or that leaves `width` coefficients mostly noise."""
    if target.epsilon > FORMAL:
        warn_user(
            f"epsilon={target.epsilon:g} is above {FORMAL:g}: this protects a record only in a "
            "formal sense.",
            PrivacyWarning,
        )
    if target.delta * n >= 1.0:
        warn_user(
            f"delta={target.delta:g} is at least 1/n: a mechanism that publishes a random "
            "record would satisfy it.",
            PrivacyWarning,
        )
    if words := noise_warning(n, width, target):
        warn_user(words, UtilityWarning)


# What other libraries have, and what it is here.
_HERE = {
    "C": ("lam", "the strength of the penalty is lam = 1 / (C n)"),
    "alpha": ("lam", "the strength of the penalty is lam"),
    "batch_size": ("lot_size", "the records of a step are lot_size"),
    "data_norm": ("row_bound", "the longest row is row_bound"),
    "eps": ("epsilon", "it is called epsilon"),
    "max_grad_norm": ("travel", "what a record may add in all is travel"),
    "max_iter": ("epochs", "how often records are used is epochs"),
    "noise_multiplier": ("epsilon", "the noise is planned from epsilon"),
    "seed": ("random_state", "it is called random_state"),
}


class KnownParameters:
    """What is constructed with its own parameters only; of others it says which was meant."""

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Return an instance, or raise TypeError for the first parameter not known."""
        del args
        known = [*inspect.signature(cls.__init__).parameters][1:]
        for name in given:
            if name not in known:
                hint = _hint(name, known)
                raise TypeError(f"{cls.__name__} has no parameter {name!r}: {hint}.")
        return super().__new__(cls)


def _hint(name: str, known: list[str]) -> str:
    parameter, words = _HERE.get(name, ("", ""))
    if parameter in known:
        return words
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"perhaps {close[0]} is meant"
    if "estimator" in known:
        return "parameters of the model are those of its estimator, the second argument"
    return f"it has {', '.join(known)}"
