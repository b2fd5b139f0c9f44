"""What one cell means: a function of that cell and of what is declared, of nothing else.

A cell may come as text (from a CSV file), as a number, a truth value or a date (from pandas,
Parquet or a list), and its type often depends on the *other* cells of its column: one missing
value makes whole numbers floats, one text makes numbers objects. So each cell becomes a text
by one function, :func:`text_of`, and equal values mean the same in every type: ``999``,
``999.0``, ``"999"`` and ``"999.0"``; ``True``, ``"True"`` and ``"true"``; ``None``, NaN and
``""``. Whatever a cell holds, nothing here fails: an error would tell that it is there.
"""

import datetime
import math
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

OTHER, MISSING = -1, -2
"""Codes of a value that is not listed, and of none."""

FOREIGN = "\0"
"""The text of a cell of a type that is not read: no value of a list is spelt like this."""

_WHOLE = re.compile(r"[+-]?[0-9]+")
# Whole numbers of more digits than this are infinite: long before, doubles end.
_MOST_DIGITS = 1000
_TOO_LARGE = 10**_MOST_DIGITS
EXACT = 2**53  # from here on doubles skip whole numbers
_TRUTH = {"true": 1.0, "false": 0.0}
# What equals them among numbers, and the other way round.
_SAME = {"true": "1", "false": "0", "1": "true", "0": "false"}
_TRUE = {"true", "t", "yes", "y", "1"}
_FALSE = {"false", "f", "no", "n", "0"}
_UNITS = {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"}  # pandas cuts off the finer ones
_DAYS = (datetime.date, datetime.datetime, pd.Timestamp)
_SPOKEN = (Decimal, uuid.UUID)  # these say by str() what they are

Number = int | float


def number_of(cell: Any) -> float:
    """Return the number in a cell of whatever type, never -0; NaN if there is none."""
    if type(cell) is float:
        return cell + 0.0
    text = text_of(cell)
    return math.nan if text is None else number_in(text)


def text_of(cell: Any) -> str | None:
    """Return the one text by which a cell is compared; None if it holds no value.

    Texts, truth values, numbers, dates with or without a time, decimals and UUIDs have one of
    their own, which they have wherever they come from; all else is :data:`FOREIGN`.

    Guarantee: a function of this cell alone. Proof: docs/proofs/records.md, "Cells".
    """
    try:
        return _text(cell)
    except Exception:  # of an object's own methods, which may say whatever they like
        return FOREIGN


def _text(cell: Any) -> str | None:
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    if isinstance(cell, str):
        return str.strip(cell)
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, np.datetime64 | np.timedelta64):  # the latter passes for a whole number
        return _numpy_time(cell)
    if isinstance(cell, int | np.integer):
        # As arrays do, whatever a type of its own says.
        number = int.__int__(cell) if isinstance(cell, int) else int(cell)
        return spelt(number if abs(number) < _TOO_LARGE else math.copysign(math.inf, number))
    if isinstance(cell, complex | np.complexfloating) and cell.imag == 0:
        cell = cell.real  # numbers are complex where another one of their column is
    if isinstance(cell, float | np.floating):
        real = float.__float__(cell) if isinstance(cell, float) else float(cell)
        return None if math.isnan(real) else spelt(real + 0.0)
    if isinstance(cell, bytes):
        return bytes.decode(cell, "utf-8", "surrogatepass").strip()
    if type(cell) in _DAYS:
        return _day(cell)
    return str(cell) if type(cell) in _SPOKEN else FOREIGN


def _numpy_time(cell: Any) -> str | None:
    if np.isnat(cell):
        return None
    known = isinstance(cell, np.datetime64) and np.datetime_data(cell.dtype)[0] in _UNITS
    return _day(pd.Timestamp(cell)) if known else FOREIGN


def _day(value: datetime.date) -> str:
    """Return a date, or a date with a time; midnight is the date alone."""
    if not isinstance(value, datetime.datetime):
        return value.isoformat()
    midnight = value.tzinfo is None and value == type(value)(value.year, value.month, value.day)
    return value.date().isoformat() if midnight else value.isoformat(sep=" ")


def spelt(number: Number) -> str:
    """Return the one spelling of a number: whole ones without a point."""
    if isinstance(number, int):
        return str(number)
    return f"{number:.0f}" if number.is_integer() else repr(number)


def number_in(text: str) -> float:
    """Return the number that a text spells, truth values included, never -0; NaN if none."""
    try:
        return math.nan if "_" in text else float(text) + 0.0
    except ValueError:
        return _TRUTH.get(text.lower(), math.nan)


def _exact_in(text: str) -> Number | None:
    """Return the number that a text spells, whole ones without rounding; None if none."""
    if _WHOLE.fullmatch(text):
        digits = text.lstrip("+-").lstrip("0")
        sign = -1 if text.startswith("-") else 1
        # Without the zeros: Python refuses to read too many digits, of whatever value.
        return sign * (math.inf if len(digits) > _MOST_DIGITS else int(digits or "0"))
    number = math.nan if text.lower() in _TRUTH else number_in(text)
    return None if math.isnan(number) else number


def canonical(text: str) -> str:
    """Return the one spelling of all texts that stand for the same value."""
    number = _exact_in(text)
    if number is not None:
        return spelt(number)
    low = text.lower()
    return low if low in _TRUTH else text


def places_of(values: Sequence[str], rename: Mapping[str, str]) -> dict[str, int]:
    """Return the place of each listed value, other spellings included."""
    places = {value: place for place, value in enumerate(values)}
    return places | {other: places[value] for other, value in rename.items()}


def same_value(codes: Mapping[str, int]) -> tuple[str, str] | None:
    """Return two texts of different codes that are one number or truth value, if any."""
    seen: dict[str, tuple[str, int]] = {}
    for text, code in codes.items():
        other, own = seen.setdefault(canonical(text), (text, code))
        if own != code:
            return other, text
    return None


class Listed:
    """The code of each listed text, other spellings included; OTHER or MISSING for the rest.

    Texts of `missing` count as no value, unless they are listed. A text is looked for as it is;
    then as the number or truth value that it spells; then true as 1 and false as 0, and the
    other way round. So a cell means the same in every type.

    Requires: no two values of different codes are one number or truth value ("7" and "07"),
    which only texts could tell apart; :func:`same_value` finds them.
    """

    def __init__(self, codes: Mapping[str, int], missing: Iterable[str] = ()) -> None:
        self.codes = dict(codes)
        self._equal = {canonical(text): code for text, code in self.codes.items()}
        absent = (text for text in ("", *missing) if self._found(text) == OTHER)
        self._absent = {canonical(text) for text in absent}
        found = (_exact_in(text) for text in self.codes)
        whole = (x for x in found if x is not None and math.isfinite(x) and x == int(x))
        self.largest_whole = max((abs(int(x)) for x in whole), default=0)

    def code(self, text: str | None) -> int:
        """Return the code of a cell, given its text."""
        if text is None:
            return MISSING
        found = self._found(text)
        return MISSING if found == OTHER and canonical(text) in self._absent else found

    def _found(self, text: str) -> int:
        if text in self.codes:
            return self.codes[text]
        plain = canonical(text)
        if plain in self._equal:
            return self._equal[plain]
        return self._equal.get(_SAME[plain], OTHER) if plain in _SAME else OTHER


def grouped_text(text: str, group: Mapping[str, Any]) -> str:
    """Return what stands for a text: its prefix, or what its longest listed beginning says."""
    if "prefix" in group:
        return text[: group["prefix"]].strip()
    mapping = group["mapping"]
    for size in sorted({len(start) for start in mapping}, reverse=True):
        if text[:size] in mapping:
            return str(mapping[text[:size]])
    return text


class Grouped(Listed):
    """Listed values, where a cell is compared by its group: ICD codes by three signs, say.

    Guarantee: the code of a cell is a function of its own text and of what is declared.
    Requires: as of :class:`Listed`.

    Digits are grouped as they are written ("07123" begins with "071"); other spellings of a
    number or truth value ("7123.0", "True") as their plain one, unless it has an exponent and
    its own group is listed (a code such as "1E5"). So a whole number has one code as text,
    integer and floating-point number; those of 2^53 and more, which the last cannot tell apart,
    are other values in every type.
    """

    def __init__(
        self, codes: Mapping[str, int], missing: Iterable[str], group: Mapping[str, Any]
    ) -> None:
        super().__init__(codes, missing)
        self._group = group
        self.largest_whole = 0  # no column is refused: see the notes

    def code(self, text: str | None) -> int:
        """Return the code of a cell, given its text."""
        if text is None:
            return MISSING
        plain = canonical(text)
        if plain in self._absent:
            return MISSING
        own, digits = grouped_text(text, self._group), _is_whole(text)
        if "e" in text.lower() and text.lower() != plain and own in self.codes:
            return self.codes[own]
        if _is_whole(plain) and abs(int(plain)) >= EXACT:
            return OTHER
        return self._found(own if digits else grouped_text(plain, self._group))


def _is_whole(text: str) -> bool:
    """Return whether a text is digits, with a sign or not."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit()


class TruthCells:
    """Truth values in many spellings: 1, 0, OTHER or MISSING."""

    largest_whole = 1

    def __init__(self, missing: Iterable[str] = ()) -> None:
        self._absent = {canonical(text) for text in ("", *missing)}

    def code(self, text: str | None) -> int:
        """Return the code of a cell, given its text."""
        if text is None or canonical(text) in self._absent:
            return MISSING
        low = canonical(text).lower()
        return 1 if low in _TRUE else 0 if low in _FALSE else OTHER


class NumberCells:
    """Numbers, NaN for no value; a text of `missing` that spells a number stands for that."""

    def __init__(self, missing: Iterable[str] = ()) -> None:
        plain = {canonical(text) for text in ("", *missing)}
        numbers = {text: number_in(text) for text in plain - _TRUTH.keys()}
        self.absent = tuple(number for number in numbers.values() if not math.isnan(number))
        self._truth = plain & _TRUTH.keys()

    def value(self, text: str | None) -> float:
        """Return the number of a cell, given its text."""
        if text is None:
            return math.nan
        number = number_in(text)
        absent = number in self.absent or text.lower() in self._truth
        return math.nan if absent else number
