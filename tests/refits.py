"""Fitted models as they would be by other facts or numbers."""

from copy import copy
from dataclasses import replace


def with_facts(model, **values):
    """Return a copy of the model, by a plan with other public facts."""
    fit = model.fit_
    return _refitted(model, replace(fit, plan=fit.plan.noted(**values)))


def with_numbers(model, **values):
    """Return a copy of the model, with other numbers for its predictions."""
    fit = model.fit_
    return _refitted(model, replace(fit, numbers=replace(fit.numbers, **values)))


def _refitted(model, fit):
    model = copy(model)
    if hasattr(model, "estimator_"):
        model.estimator_ = _refitted(model.estimator_, fit)
    else:
        model.fit_ = fit
    return model
