"""What the coefficients of a model are good for, in a sentence for whoever reads them."""

from typing import Any

from dpscd.estimators.registry import kind_of

__all__ = ["has_intervals", "prediction_note"]


def has_intervals(model: Any) -> bool:
    """Return whether a fitted estimator was trained with `inference`."""
    return hasattr(model, "_information")


def prediction_note(model: Any, noun: str = "coefficient") -> str | None:
    """Return what to mind about the coefficients of a fit for prediction.

    Parameters
    ----------
    model : estimator
        Fitted.
    noun : str
        What they are called.

    Returns
    -------
    str or None
        None where they have intervals, or no noise.
    """
    if has_intervals(model) or not model.privacy_.private:
        return None
    able = kind_of(model).has_intervals and len(getattr(model, "classes_", (0, 1))) == 2
    where = " For estimates with intervals train with --inference." if able else ""
    return f"These {noun}s are for prediction, which shrinks or inflates them.{where}"
