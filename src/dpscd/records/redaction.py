"""Redaction of errors that would reveal something about records."""

from collections.abc import Callable
from contextlib import ContextDecorator
from types import TracebackType
from typing import TypeVar

from dpscd.errors import DataError, DpscdError
from dpscd.preprocessing import refusals

__all__ = ["redact_errors", "redact_memory_errors"]

R = TypeVar("R")

_NO_MEMORY = (
    "there is not enough memory for this fit; fewer threads (n_jobs), sparse rows or Dask need "
    "less. If it has a ledger, it may have been charged: see `dpscd budget history`."
)


def redact_errors(read: Callable[[], R]) -> R:
    """Call `read`, and replace unforeseen errors by one with a fixed text.

    Notes
    -----
    Guarantee: what leaves is one of this library's errors, the system's about a file, a lack of
    memory (see :data:`redact_memory_errors`), or a DataError with a fixed text, without
    cause and context: an error that nobody foresaw may hold a cell.
    """
    try:
        return read()
    except (DpscdError, MemoryError):
        raise
    except OSError as error:
        if error.errno is not None:
            raise
    except Exception:  # noqa: S110 - whatever it is, its text stays here
        pass
    raise DataError(refusals.UNFORESEEN)


class _MemoryErrors(ContextDecorator):
    """Let a fit that runs out of memory say so without the sizes of its arrays.

    Notes
    -----
    Guarantee: the MemoryError that leaves has a fixed text, and neither a cause nor a context:
    NumPy's own names the shape that it wanted, and with it the number of records, which is
    secret under add-remove. Nor has it frames of the failed call, which hold arrays.
    Requires: whoever has the context in its body keeps nothing of the records in variables of
    its own but what it was given; that frame is one of the error's.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del error, trace  # this frame is one of the new error's
        if kind is None or not issubclass(kind, MemoryError):
            return
        try:
            raise MemoryError(_NO_MEMORY)
        except MemoryError as redacted:
            redacted.__context__ = None  # the first error, which is still being handled
            raise


redact_memory_errors = _MemoryErrors()
"""Surrounds a fit, as a context or as a decorator, and rewords a lack of memory in it."""
