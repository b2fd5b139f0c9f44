"""What one cell means: a function of that cell and of what is declared, of nothing else.

A cell may come as text (from a CSV file), as a number, a truth value or a date (from pandas,
Parquet or a list), and its type often depends on the *other* cells of its column: one missing
value makes whole numbers floats, one text makes numbers objects. So equal values mean the same
in every type: ``999``, ``999.0``, ``"999"`` and ``"999.0"``; ``True``, ``"True"`` and
``"true"``; ``None``, NaN and ``""``. Whatever a cell holds, nothing here fails: an error would
tell that such a cell is there.
"""

import datetime
import math
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

OTHER, MISSING = -1, -2
"""Codes of a value that is not listed, and of none."""

# The text of what has none: no value of a list is spelt like this.
_FOREIGN = "\0"

_WHOLE = re.compile(r"[+-]?[0-9]+")
# Whole numbers of more digits than this are infinite: long before, doubles end.
_MOST_DIGITS = 1000
_TOO_LARGE = 10**_MOST_DIGITS
_EXACT = 2**53  # from here on doubles skip whole numbers
_TRUTH = {"true": 1.0, "false": 0.0}
# What equals them among numbers, and the other way round.
_SAME = {"true": "1", "false": "0", "1": "true", "0": "false"}
_TRUE = {"true", "t", "yes", "y", "1"}
_FALSE = {"false", "f", "no", "n", "0"}
# Types that say what they are by str(), the same wherever they come from.
_SPOKEN = (pd.Period, datetime.time, uuid.UUID)

Number = int | float


def number_of(cell: Any) -> float:
    """Return the number in a cell of whatever type, never -0; NaN if there is none."""
    if type(cell) is float:
        return cell + 0.0
    try:
        value = _plain(cell)
        if isinstance(value, str):
            return _number_in(value) + 0.0
        if isinstance(value, bool | int | float | Decimal):
            return _as_float(value) + 0.0
    except Exception:  # of an object's own methods, which may say whatever they like
        return math.nan
    return math.nan


def text_of(cell: Any) -> str | None:
    """Return the one text by which a cell is compared; None if it holds no value."""
    try:
        return _text(_plain(cell))
    except Exception:  # of an object's own methods, which may say whatever they like
        return _FOREIGN


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return _spelt(_exact(value))
    if isinstance(value, datetime.date):
        return _day(value)
    if isinstance(value, datetime.timedelta):
        return str(pd.Timedelta(value))  # not its own text: of the same length, it may differ
    if isinstance(value, pd.Interval):
        return _interval(value)
    return str(value) if isinstance(value, _SPOKEN) else _FOREIGN


def _plain(cell: Any) -> Any:
    """Return a cell as one of few types: None for no value, stripped text, bool, int, float."""
    if isinstance(cell, np.ndarray):
        cell = cell[()] if cell.ndim == 0 else cell
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    if isinstance(cell, str):
        return str.strip(cell)
    if isinstance(cell, bytes):
        return bytes.decode(cell, "utf-8", errors="backslashreplace").strip()
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    if isinstance(cell, np.datetime64 | np.timedelta64):  # the latter passes for a whole number
        return _numpy_time(cell)
    if isinstance(cell, complex | np.complexfloating) and cell.imag == 0:
        cell = cell.real  # numbers are complex where another one of their column is
    if isinstance(cell, int):
        return int.__int__(cell)  # as arrays do, whatever a type of its own says
    if isinstance(cell, np.integer):
        return int(cell)
    if isinstance(cell, float):
        return _finite_or_none(float.__float__(cell))
    if isinstance(cell, np.floating | Fraction):
        return _finite_or_none(_as_float(cell))
    if isinstance(cell, Decimal):
        return None if cell.is_nan() else cell
    return cell


def _finite_or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def _numpy_time(cell: Any) -> Any:
    if np.isnat(cell):
        return None
    return pd.Timestamp(cell) if isinstance(cell, np.datetime64) else pd.Timedelta(cell)


def _as_float(value: Any) -> float:
    """Return a number as the nearest double; infinity where there is none."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _exact(value: Number | Decimal) -> Number:
    """Return a number without rounding if it is whole, else as a double, never -0."""
    if isinstance(value, Decimal):
        if not value.is_finite() or value.adjusted() > _MOST_DIGITS:
            return math.copysign(math.inf, value)
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, int) and abs(value) >= _TOO_LARGE:
        return math.inf if value > 0 else -math.inf
    return value + 0


def _spelt(number: Number) -> str:
    """Return the one spelling of a number: whole ones without a point."""
    if isinstance(number, int):
        return str(number)
    return f"{number:.0f}" if number.is_integer() else repr(number)


def _day(value: datetime.date) -> str:
    """Return a date, or a date with a time; midnight is the date alone."""
    if not isinstance(value, datetime.datetime):
        return value.isoformat()
    midnight = value.tzinfo is None and value == type(value)(value.year, value.month, value.day)
    return value.date().isoformat() if midnight else value.isoformat(sep=" ")


def _interval(value: Any) -> str:
    """Return an interval whose ends, whole or not, are spelt as numbers are."""
    first, last = ("[" if value.closed_left else "("), ("]" if value.closed_right else ")")
    return f"{first}{text_of(value.left)}, {text_of(value.right)}{last}"


def _number_in(text: str) -> float:
    """Return the number that a text spells, truth values included; NaN if none."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return _TRUTH.get(text.lower(), math.nan)


def _exact_in(text: str) -> Number | None:
    """Return the number that a text spells, whole ones without rounding; None if none."""
    if _WHOLE.fullmatch(text):
        digits = text.lstrip("+-").lstrip("0")
        sign = -1 if text.startswith("-") else 1
        # Without the zeros: Python refuses to read too many digits, of whatever value.
        return sign * (math.inf if len(digits) > _MOST_DIGITS else int(digits or "0"))
    try:
        number = math.nan if "_" in text else float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number + 0.0


def canonical(text: str) -> str:
    """Return the one spelling of all texts that stand for the same value."""
    number = _exact_in(text)
    if number is not None:
        return _spelt(number)
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
        if _is_whole(plain) and abs(int(plain)) >= _EXACT:
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
        numbers = {text: _exact_in(text) for text in plain}
        self._texts = {text for text, number in numbers.items() if number is None}
        self.absent = tuple(_as_float(x) for x in numbers.values() if x is not None)

    def value(self, cell: Any) -> float:
        """Return the number in a cell of whatever type."""
        text = text_of(cell)
        if text is None or canonical(text) in self._texts:
            return math.nan
        number = number_of(cell)
        return math.nan if number in self.absent else number
