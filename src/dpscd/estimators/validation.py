"""Checks of parameters together, of data, and of fits in searches; no message has a value.

scikit-learn's own checks are used, but their messages (and those of numpy below them)
may print a cell. Here such a message is replaced, and the original is not chained: it is
gone when the new one is raised.
"""

import contextlib
import inspect
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dpscd.errors import (
    BudgetExceeded,
    DataError,
    DataTypeError,
    LedgerError,
    ParameterError,
    PrivacyWarning,
    UtilityWarning,
)
from dpscd.estimators.parameters import TABLE, given, is_auto
from dpscd.persons import SHARE
from dpscd.planning.forecast import noise_warning
from dpscd.planning.rule import default_delta
from dpscd.privacy.random import SecretSeed
from dpscd.privacy.relation import FORMAL, PrivacyTarget, Relation
from dpscd.records import refusals
from dpscd.records.labels import label_column
from dpscd.records.rows import Unread, open_rows

#: Parameters that a plan chooses where they are not given.
CHOSEN = ("lam", "epochs", "lot_size", "travel")

# This library, and what its context managers and decorators are called through.
_OURS = (str(Path(__file__).parents[1]), contextlib.__file__)

# More labels than this are hardly classes: more likely a regression by mistake, which would
# publish every label.
_MOST_CLASSES = 100

# What scikit-learn may say about shapes, types and names, with the part that is kept.
# Numbers of records are cut: they are secret under add-remove.
_HARMLESS = [
    (r"X has \d+ features, but \w+ is expecting \d+ features as input\.?", r"\g<0>"),
    (r"at least one array or dtype is required", "X has no columns."),
    (r"(Unknown label type: [a-z-]+).*", r"\g<1>: the labels of a classifier are classes."),
    (r"The feature names should match those that were passed during fit.*", r"\g<0>"),
]
_UNREADABLE = "The data cannot be read: give X as numbers and y as one label per record."


def quietly(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of scikit-learn; let only harmless messages through."""
    try:
        return call(*args, **kwargs)
    except (ValueError, TypeError, ArithmeticError, RuntimeError, MemoryError) as error:
        unusable = DataTypeError if isinstance(error, TypeError) else DataError
        text = str(error)
    for pattern, kept in _HARMLESS:
        found = re.fullmatch(pattern, text, flags=re.DOTALL)
        if found:
            raise unusable(found.expand(kept))
    raise unusable(_UNREADABLE)


def warn_user(text: str, category: type[Warning]) -> None:
    """Warn at the line outside of this library from which it was called."""
    # By hand: skip_file_prefixes came with Python 3.12.
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def check_rows(estimator: Any, X: Any) -> Any:
    """Return the rows of a prediction, dense, CSR or stored, checked against the fit."""
    rows = open_rows(X)
    quietly(validate_data, estimator, rows.X, reset=False, skip_check_array=True)
    if rows.count == 0:
        raise DataError("Found array with 0 sample(s); 1 is required.")
    return rows.read(stored=True)


def look_at_records(estimator: Any, X: Any, y: Any) -> tuple[Unread, pd.Series]:
    """Return rows and labels of a fit, not yet read: shapes and names of containers only."""
    rows = open_rows(X)
    quietly(validate_data, estimator, rows.X, skip_check_array=True)
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        warn_user(
            "A column-vector y was passed when a 1d array was expected.", DataConversionWarning
        )
    column = label_column(y)
    if len(column) != rows.count:
        raise DataError(refusals.UNEQUAL)
    return rows, column


def sorted_classes(labels: Any) -> npt.NDArray[Any] | None:
    """Return declared labels in order, each as it is; None if they are not of one type."""
    try:
        plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
        if len({isinstance(label, str) for label in plain}) > 1:
            return None
        ordered = sorted(set(plain))
    except TypeError:
        return None
    found = np.asarray(ordered)
    if found.ndim != 1 or found.tolist() != ordered:  # an array would round large numbers
        found = np.empty(len(ordered), dtype=object)
        found[:] = ordered
    return found


def label_set(column: pd.Series) -> npt.NDArray[Any]:
    """Return the sorted labels that occur, which makes them public."""
    y = column.to_numpy()
    if y.dtype.kind == "O":
        labels = column.tolist()
        if len({isinstance(label, str) for label in labels}) > 1:
            raise DataError(
                "y has texts and other labels; give classes= with those that count."
            )
        y = quietly(np.asarray, labels)
    if y.dtype.kind == "c":
        raise DataError("Complex data not supported.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError("Input y contains NaN or infinity; labels must be classes.")
    with warnings.catch_warnings():  # of scikit-learn about many classes: ours is an error
        warnings.simplefilter("ignore", UserWarning)
        quietly(check_classification_targets, y)
    labels = np.asarray(quietly(np.unique, y))
    if len(labels) > _MOST_CLASSES:
        raise ParameterError(
            "{classes} takes the labels in y as public, up to {} of them. Name the classes if "
            "these are classes; for numbers, use DPRidge.",
            _MOST_CLASSES,
            classes=None,
        )
    return labels


def delta_of(asked: Any, n: int) -> float:
    """Return the delta that is asked for, or that which is planned for n records."""
    delta = given("delta", asked)
    return default_delta(n) if delta is None else float(delta)


def threads_of(n_jobs: int | None) -> int:
    """Return the number of threads that n_jobs asks for."""
    threads = given("n_jobs", n_jobs)
    return (os.cpu_count() or 1) if threads == -1 else int(threads or 1)


def check_shared(model: Any) -> None:
    """Raise ParameterError for a parameter that is not allowed, alone or with others."""
    for name, value in model.get_params(deep=False).items():
        if name in TABLE:  # a class of users' own may have others
            given(name, value)
    relation = Relation.parse(model.relation)
    if model.n is None and relation.needs_n:
        raise ParameterError(
            "{relation} needs {n}, a declared number of records: the true one is secret under "
            "this relation and must not enter any formula.",
            relation=relation.value,
            n=...,
        )
    check_budget(model.ledger, model.dataset, model.random_state)
    if model.ledger is not None and getattr(model, "classes", ()) is None:
        raise ParameterError(
            "{classes} would read the labels before they are paid for: name the classes.",
            classes=None,
        )
    if getattr(model, "inference", False):
        _check_inference_parameters(model)


def check_budget(ledger: Any, dataset: Any, random_state: Any) -> None:
    """Raise ParameterError if a ledger is no file, is half given, or has a known seed."""
    if not isinstance(ledger, str | os.PathLike | None):
        raise ParameterError("{ledger} must be the path of the budget's file.", ledger=ledger)
    if (ledger is None) != (dataset is None):
        raise ParameterError(
            "{ledger} and {dataset} must be given together: the file of the budget, and the "
            "data set's name in it.",
            ledger=ledger,
            dataset=dataset,
        )
    if ledger is not None and not isinstance(random_state, SecretSeed | None):
        raise ParameterError(
            "random_state must be None with a ledger: what is charged to it does not hold "
            "for noise that others can draw again. If nobody will ever know the seed, say "
            "so: random_state=SecretSeed(secrets.randbits(128))."
        )


def _check_inference_parameters(model: Any) -> None:
    """Raise ParameterError for parameters that do not go with `inference`."""
    asked = model.inference
    if math.isinf(model.epsilon):
        raise ParameterError(
            "{inference} needs a finite epsilon: without privacy use statsmodels, for example.",
            inference=asked,
        )
    for name in CHOSEN:
        if not is_auto(getattr(model, name)):
            raise ParameterError(
                f"{{{name}}} does not go with {{inference}}, for which it is planned: leave it "
                "out.",
                inference=asked,
                **{name: getattr(model, name)},
            )
    if model.standardise is False:
        raise ParameterError(
            "standardise=False does not go with {inference}, which needs it.", inference=asked
        )
    if getattr(model, "class_weight", None) is not None:
        raise ParameterError(
            "class_weight does not go with {inference}: it changes what is meant.",
            inference=asked,
        )


def check_inference(classes: Any, records: Any) -> None:
    """Raise ParameterError where public facts of the records do not go with `inference`."""
    if classes is not None and len(classes) != 2:
        raise ParameterError(f"inference is for two classes, not {len(classes)}.")
    if records.workers:
        raise ParameterError("inference is not available on Dask: its many steps are small.")
    if records.weighted:
        raise ParameterError("sample_weight does not go with inference.")
    if records.sparse:
        raise ParameterError("inference needs dense rows, not a sparse matrix.")
    if records.persons is not None and records.persons.weight != SHARE:
        raise ParameterError(
            "inference with persons needs {person_weight}: if every row counts, whoever has "
            "many is cut, and intervals would be about something else.",
            person_weight=SHARE,
        )


def check_for_dask(model: Any) -> None:
    """Raise ParameterError for parameters that are not available on Dask."""
    if model.engine == "jax":
        raise ParameterError(
            "{engine} is not available on Dask: it trains on one device.", engine="jax"
        )
    if math.isinf(model.epsilon):
        raise ParameterError(
            "{epsilon} is not available on Dask: train without privacy on one machine.",
            epsilon=math.inf,
        )
    if getattr(model, "classes", ()) is None:
        raise ParameterError(
            "{classes} is not available on Dask, where labels do not leave their worker: name "
            "the classes.",
            classes=None,
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


# --- fits inside scikit-learn's searches ------------------------------------------------------


def _searches() -> Iterator[Mapping[str, Any]]:
    """Yield the local names of functions of sklearn.model_selection that call this one.

    Callers in another process are not found.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith("sklearn.model_selection."):
            yield frame.f_locals
        frame = frame.f_back


def warn_of_split_groups() -> None:
    """Warn if records are split by groups that `fit` is not given.

    Cross-validation in scikit-learn hands groups to the splitter alone unless asked.
    """
    for names in _searches():
        params = names.get("params")
        own = params.get("groups") if isinstance(params, Mapping) else None
        if names.get("groups") is not None or own is not None:
            warn_user(
                "groups are used to split the records but not given to fit: every row is "
                "protected by itself, not a person with all its rows. Ask for them with "
                "set_fit_request(groups=True) and scikit-learn's metadata routing.",
                PrivacyWarning,
            )
            return


@contextlib.contextmanager
def refusals_noted(model: Any) -> Iterator[None]:
    """Remember why a budget refused the fit in the block; in a search, warn at once.

    A search of scikit-learn continues after a failed fit and reports it only at the end.
    """
    try:
        _check_search(getattr(model, "estimator", model))
        yield
    except (BudgetExceeded, LedgerError) as error:
        model._refusal = str(error)
        # Where errors are raised, and in the last fit of a search, it is heard anyway.
        if any(names.get("error_score", "raise") != "raise" for names in _searches()):
            warn_user(f"a fit of this search was refused. {error}", PrivacyWarning)
        raise


# Searches whose first fit was let through.
_begun: WeakSet[Any] = WeakSet()


def _check_search(model: Any) -> None:
    """Refuse the first fit of a search whose fits together exceed the budget.

    What was charged before the refusal would be of no use. Only a basic filter adds epsilons;
    a grid over epsilon is not added up, because the refitted candidate is not known.
    """
    if getattr(model, "ledger", None) is None or not isinstance(model.epsilon, Real):
        return
    found = next((x for x in _searches() if "n_candidates" in x and "n_splits" in x), None)
    if found is None or found.get("self") in _begun:
        return
    if any(name.endswith("epsilon") for own in found["candidate_params"] for name in own):
        return
    from dpscd.privacy.ledger import Ledger

    search = found["self"]
    fits = found["n_candidates"] * found["n_splits"] + bool(search.refit)
    state = Ledger(model.ledger).show(model.dataset)
    if state.filter == "basic" and fits * model.epsilon > state.left_epsilon * (1.0 + 1e-9):
        raise BudgetExceeded(
            f"this search makes {fits} fits, each charged epsilon={model.epsilon:g}; the "
            f"budget of dataset={model.dataset!r} has epsilon={state.left_epsilon:.6g} left. "
            "Nothing was charged. dpscd.DPModelSearch is charged once for all its candidates."
        )
    _begun.add(search)


def check_fitted(model: Any) -> None:
    """Raise NotFittedError unless the model was fitted; say what a budget refused."""
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        why = getattr(model, "_refusal", None)
        if why is None:
            raise
        raise NotFittedError(
            f"This {type(model).__name__} is not fitted: its fit was refused. {why}"
        ) from error
