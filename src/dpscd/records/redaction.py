"""Errors that would reveal something about records, said in fixed words."""

from collections.abc import Callable
from typing import TypeVar

from dpscd.errors import DataError, DpscdError
from dpscd.preprocessing import refusals

__all__ = ["NO_MEMORY", "redact_errors"]

R = TypeVar("R")

#: What a fit says that runs out of memory: NumPy's own text names the shape that it wanted, and
#: with it the number of records, which is secret under add-remove.
NO_MEMORY = (
    "there is not enough memory for this fit; fewer threads (n_jobs), sparse rows or Dask need "
    "less. If it has a ledger, it may have been charged: see `dpscd budget history`."
)


def redact_errors(read: Callable[[], R]) -> R:
    """Return what `read` does, and let no error of its own words out.

    Notes
    -----
    Guarantee: what leaves is one of this library's errors, the system's about a file, a lack of
    memory (which fits say in the words of NO_MEMORY), or a DataError with a fixed text, without
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
