"""By what one identifier of a person is compared with another: its exact text, or itself.

Two persons that were taken for one would share one clip, and one person that was taken for two
would have two. So nothing is rounded or cut here: a text stands for one value only.
"""

import datetime
import math
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from dpscd.errors import DataTypeError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.cells import text_of

__all__ = ["Key", "Other", "key_of", "whole_up_to"]

_WHOLE_UP_TO = {2: 2.0**11, 4: 2.0**24}  # by bytes of a floating-point number
_DOUBLE = 2.0**53
# Exactly these types, for those derived from them may say whatever they like.
_SPELT = {
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    pd.Timedelta,
    pd.Timestamp,
    uuid.UUID,
}
_UNITS = {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"}  # pandas cuts off the finer ones
_NO_TEXT = ("\0", "inf", "-inf")  # of what text_of cannot spell, or only as too large


class Other:
    """A hashable identifier without an exact text: compared by its own hash and equality.

    Notes
    -----
    Guarantee: it never equals a text, whatever its own methods say.
    """

    __slots__ = ("_hash", "cell")

    def __init__(self, cell: Any) -> None:
        self.cell = cell
        self._hash = hash(cell)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Other):
            return False
        return self.cell is other.cell or bool(self.cell == other.cell)


Key = str | Other | None
"""What identifiers are compared by; None for a missing one."""


def key_of(cell: Any) -> Key:
    """Return what an identifier is compared by, whatever container it comes from.

    DataTypeError is raised if a floating-point number, or a part of a tuple, may stand for
    several whole ones, and if a value does not equal itself. Errors of an object's own methods
    pass through: the caller replaces them by fixed words.

    Notes
    -----
    Guarantee: two cells have equal keys only if they are texts with the same signs but for
    outer spaces, a value and its one plain text, or equal as Python says.
    Proof: docs/proofs/door.md.
    """
    if cell is np.ma.masked:
        return None
    if isinstance(cell, np.ndarray) and cell.ndim == 0:
        cell = cell[()]
    if isinstance(cell, str):
        return str.strip(cell)
    if isinstance(cell, float | complex | np.inexact):
        return _of_float(cell)
    if type(cell) is Fraction and cell.denominator == 1:
        cell = cell.numerator
    text = text_of(cell)
    if text is None or _is_exact(cell, text):
        return text
    _check(cell)
    return Other(cell)


def whole_up_to(size: int) -> float:
    """Return up to where floating-point numbers of so many bytes tell whole numbers apart."""
    return _WHOLE_UP_TO.get(size, _DOUBLE)


def _of_float(cell: Any) -> Key:
    parts = _parts(cell)
    if any(part != part for part in parts):
        return None
    _check_parts(cell, parts)
    real = float(parts[0])
    # Neither a complex number nor one of more than double precision has a text of its own.
    return text_of(real) if real == parts[0] and not any(parts[1:]) else Other(cell)


def _parts(cell: Any) -> tuple[Any, ...]:
    """Return the real number that a cell is, or the two of a complex one, in their type."""
    if isinstance(cell, float):
        return (float.__float__(cell),)
    if isinstance(cell, complex | np.complexfloating):
        return cell.real, cell.imag
    return (cell,)


def _check_parts(cell: Any, parts: tuple[Any, ...]) -> None:
    numpys = isinstance(cell, np.inexact)
    most = whole_up_to(cell.dtype.itemsize // len(parts) if numpys else 8)
    if any(not abs(part) < most for part in parts):
        raise DataTypeError(refusals.ROUNDED_PERSONS)


def _is_exact(cell: Any, text: str) -> bool:
    """Return whether a text stands for this value only, and for what equals it."""
    kind = type(cell)
    if isinstance(cell, bool | np.bool_):
        return True
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return str(np.datetime_data(cell.dtype)[0]) in _UNITS and text not in _NO_TEXT
    if isinstance(cell, bytes):
        return _is_utf8(cell)
    if kind is Decimal:
        return bool(Decimal(text) == cell)
    if text in _NO_TEXT:
        return False
    if kind is Fraction:
        return bool(Fraction(text) == cell)
    return isinstance(cell, int | np.integer) or kind in _SPELT


def _is_utf8(cell: bytes) -> bool:
    try:
        bytes.decode(cell, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _check(cell: Any) -> None:
    """Refuse what does not equal itself, or is a rounded number, also within a tuple."""
    if isinstance(cell, tuple | frozenset):
        for part in cell:
            _check(part)
    elif isinstance(cell, float | complex | np.inexact):
        if any(math.isnan(part) for part in _parts(cell)):
            raise DataTypeError(refusals.NOT_AN_IDENTIFIER)
        _check_parts(cell, _parts(cell))
    else:
        same = cell == cell
        if not same:
            raise DataTypeError(refusals.NOT_AN_IDENTIFIER)
