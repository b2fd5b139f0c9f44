"""The closed list of what is said of data that are not well typed, and nothing of a cell.

All is said after the charge, but for what is about identifiers of persons, who are counted
before it, and about files of arrays, whose headers are read before it. Public facts (the name
of a file, the delimiter of a schema) are filled in at the braces.
"""

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar

from dpscd.errors import DataError, DpscdError

NOT_NUMBERS = (
    "Input X contains NaN, infinity, text or dates. This argument must be free of strings and "
    "gaps: each cell a finite number. dpscd.look(table, schema) shows which columns of a table "
    "have others; text, categories and missing values are for TableModel, which encodes them "
    "by a schema."
)
RAGGED = "X must have as many columns in every record."
COMPLEX = "Complex data not supported."
NOT_CSR = "X is not a well-formed CSR matrix."
NOT_AS_ANNOUNCED = "a partition of X is not of the announced form."
UNEQUAL = "Found input variables with inconsistent numbers of samples."
NOT_FINITE = (
    "Input y contains NaN, infinity or something that is no number; the labels of a "
    "regression must be finite numbers."
)
NOT_WEIGHTS = (
    "Input sample_weight contains NaN, infinity or something that is no number of 0 or more."
)
NOT_A_WEIGHT_EACH = "sample_weight must be a number or one number per record (1D array)."
NOT_EXPOSURES = "Input exposure contains NaN, infinity or something that is no number."
NOT_AN_EXPOSURE_EACH = "exposure must be a number or one number per record (1D array)."
NOT_FLAT = (
    "y should be a 1d array: one label per record, and so should sample_weight and exposure be."
)
NO_WEIGHT = (
    "none of the labels is one of classes=...: compare spelling and type; or sample_weight is "
    "zero for every record."
)
ROUNDED = (
    "whole numbers that are listed beyond the precision of floating-point numbers cannot be "
    "compared with a column of these: give the column as texts or as whole numbers (in pandas "
    "dtype=str, 'Int64' or object), or the path of the file."
)
NOT_A_PERSON_EACH = "groups must hold one identifier of a person per record (1D array)."
NOT_AN_IDENTIFIER = (
    "an identifier of a person is neither a text nor a whole number nor a date; what else may "
    "identify persons, give as text."
)
ROUNDED_PERSONS = (
    "an identifier of a person is a floating-point number so large that it may stand for "
    "several whole numbers: give identifiers as texts or as whole numbers (in pandas "
    "dtype=str, 'Int64' or object), or the path of the file."
)
APART = (
    "the records of a person lie in several partitions: bring them together first, for "
    "instance with shuffle(on=...) of the column that identifies persons."
)
CHANGED = "a file changed while it was read: its records are not those that were counted."
NO_RECORDS = "the table has no records."
EMPTY = "{} is empty."
NOT_UTF8 = "{} is not a text in UTF-8: save it as CSV in UTF-8."
NOT_CELLS = (
    "{} is not a table with {!r} between cells: its rows have different numbers of them, or a "
    "quote is not closed. Set delimiter in [table]."
)
NOT_LINES = (
    "{} has a quoted cell that goes on in the next line, or a stray quote. If cells of this "
    "table really have several lines, set multiline = true in [table]."
)
OTHER_WIDTH = (
    "{} has another number of columns than names in [table], which has {}; is the delimiter "
    "another one?"
)
NOT_WHOLE = "{} cannot be read: is it cut, or compressed in another way?"
NOT_PARQUET = "{} is not a Parquet file, or damaged."
NOT_AN_ARRAY = (
    "{} is not an array in NumPy's format (.npy), or cut, or it holds Python objects, which "
    "are never unpickled."
)
NEEDS_ARROW = (
    "Parquet files, and tables of other libraries than pandas, need pyarrow; install it with: "
    "pip install pyarrow"
)
UNFORESEEN = (
    "the records could not be read, for a reason that was not foreseen: please report it, "
    "without the records."
)

REFUSALS = tuple(text for name, text in sorted(globals().items()) if name.isupper())
"""All of them; docs/understanding/threat_model.md says what each tells."""

R = TypeVar("R")

_NO_MEMORY = (
    "there is not enough memory for this fit; fewer threads (n_jobs), sparse rows or Dask need "
    "less. If it has a ledger, it may have been charged: see `dpscd budget history`."
)


def redact_errors(read: Callable[[], R]) -> R:
    """Call `read`, and replace unforeseen errors by one with a fixed text.

    Guarantee: what leaves is one of this library's errors, the system's about a file, a lack of
    memory, or a DataError with a fixed text, without cause and context.
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
    raise DataError(UNFORESEEN)


class _MemoryErrors(ContextDecorator):
    """Let a fit that runs out of memory say so without the sizes of its arrays.

    NumPy's own error names a shape, and with it the number of records.

    Guarantee: the MemoryError that leaves has a fixed text, and neither a cause nor a context,
    nor frames of the failed call, which hold arrays.
    Requires: the function with this context keeps nothing of the records in variables of its
    own but what it was given; that frame is one of the error's.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
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
