"""Fits inside scikit-learn's searches, which keep a refusal, and groups, to themselves."""

import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import Any
from weakref import WeakSet

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dpscd.errors import BudgetExceeded, LedgerError, PrivacyWarning
from dpscd.estimators.validation import warn_user


def _searches() -> Iterator[Mapping[str, Any]]:
    """Yield the local names of functions of sklearn.model_selection that call this one.

    Callers in another process are not found.
    """
    if "sklearn.model_selection" not in sys.modules:
        return
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


@contextmanager
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
