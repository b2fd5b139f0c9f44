"""A lack of memory that would reveal the number of records, said in fixed words."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["redact_memory_errors"]

P = ParamSpec("P")
R = TypeVar("R")

_NO_MEMORY = (
    "there is not enough memory for this fit; fewer threads (n_jobs), sparse rows or Dask need "
    "less. If it has a ledger, it may have been charged: see `dpscd budget history`."
)


def redact_memory_errors(fit: Callable[P, R]) -> Callable[P, R]:
    """Let a fit that runs out of memory say so without the sizes of its arrays.

    Notes
    -----
    Guarantee: the MemoryError that leaves has a fixed text, and neither a cause nor a context:
    NumPy's own names the shape that it wanted, and with it the number of records, which is
    secret under add-remove.
    """

    @functools.wraps(fit)
    def redacted(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return fit(*args, **kwargs)
        except MemoryError:
            pass
        # Outside of the handler, so that the first error is not the context of the second.
        raise MemoryError(_NO_MEMORY)

    return redacted
