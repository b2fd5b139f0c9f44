"""What is said of parameters that an estimator does not have."""

import difflib
import inspect
from collections.abc import Iterable

__all__ = ["refuse_unknown"]

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


def refuse_unknown(estimator: type, given: Iterable[str]) -> None:
    """Raise TypeError for the first parameter given that an estimator does not have."""
    known = [*inspect.signature(estimator).parameters]
    for name in given:
        if name not in known:
            hint = _hint(name, known)
            raise TypeError(f"{estimator.__name__} has no parameter {name!r}: {hint}.")


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
