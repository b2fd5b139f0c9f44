"""Errors while records are read that would reveal something about them, said in fixed words."""

from collections.abc import Callable
from typing import TypeVar

from dpscd.errors import DataError, DpscdError
from dpscd.preprocessing import refusals

__all__ = ["redact_errors"]

R = TypeVar("R")


def redact_errors(read: Callable[[], R]) -> R:
    """Return what `read` does, and let no error of its own words out.

    Notes
    -----
    Guarantee: what leaves is one of this library's errors, the system's about a file, a lack of
    memory (see :mod:`dpscd.estimators.redaction`), or a DataError with a fixed text, without
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
