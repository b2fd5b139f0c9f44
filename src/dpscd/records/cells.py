"""What cells mean, one by one and in columns: what is declared decides, and the cell itself.

A cell may come as text, number, truth value or date, and its type often depends on the *other*
cells of its column: one missing value makes whole numbers floats, one text makes numbers
objects. So each cell becomes a text by one function, :func:`text_of`, and equal values mean the
same in every type: ``999``, ``999.0``, ``"999"`` and ``"999.0"``; ``True``, ``"True"`` and
``"true"``; ``None``, NaN and ``""``. The type of a column chooses the route, never the result.
Whatever a cell holds, nothing here fails: an error would tell that it is there.
"""

import datetime
import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataTypeError
from dpscd.records import refusals

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]

OTHER, MISSING = -1, -2
"""Codes of a value that is not listed, and of none."""

FOREIGN = "\0"
"""The text of a cell of a type that is not read: no value of a list is spelt like this."""

_WHOLE, _DIGITS = re.compile("[+-]?[0-9]+"), re.compile("-?[0-9]+")
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
_UNREADABLE = object()  # a cell that cannot be had from its column: of no type that is read
_ARROW_TEXTS = ("string[pyarrow]", "large_string[pyarrow]")
_ROUNDING = (float, complex, np.floating, np.complexfloating)  # these may be rounded


def number_of(cell: Any) -> float:
    """Return the number in a cell of whatever type, never -0; NaN if there is none."""
    if type(cell) is float:
        return cell + 0.0
    text = text_of(cell)
    return math.nan if text is None else number_in(text)


def text_of(cell: Any) -> str | None:
    """Return the one text by which a cell is compared; None if it holds no value.

    What is no text, truth value, number, date, decimal or UUID is :data:`FOREIGN`.

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


def spelt(number: float) -> str:
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


def _exact_in(text: str) -> float | None:
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
    other way round.

    Requires: no two values of different codes are one number or truth value ("7" and "07");
    :func:`same_value` finds them.
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

    Digits are grouped as they are written ("07123" begins with "071"); other spellings of a
    number or truth value ("7123.0", "True") as their plain one, unless it has an exponent and
    its own group is listed (a code such as "1E5"). Whole numbers of 2^53 and more, which
    floating-point numbers cannot tell apart, are other values in every type.
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
        own = grouped_text(text, self._group)
        if "e" in text.lower() and text.lower() != plain and own in self.codes:
            return self.codes[own]
        if _DIGITS.fullmatch(plain) and abs(int(plain)) >= EXACT:
            return OTHER
        return self._found(own if _DIGITS.fullmatch(text) else grouped_text(plain, self._group))


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


def as_column(cells: Any) -> pd.Series:
    """Return cells in any one-dimensional container as a column, each as it is."""
    if isinstance(cells, pd.Series):
        if isinstance(cells.dtype, pd.SparseDtype):
            return cells.sparse.to_dense()
        if str(cells.dtype).startswith("dictionary<"):  # of Arrow
            return cells.astype(pd.ArrowDtype(cells.dtype.pyarrow_dtype.value_type))
        if isinstance(cells.dtype, np.dtype) and not cells.dtype.isnative:
            return cells.astype(cells.dtype.newbyteorder("="))
        return cells
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        return pd.Series(cells.astype(cells.dtype.newbyteorder("="), copy=False), copy=False)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "UOST":
        # Not pandas's type of texts, which refuses some.
        return pd.Series(cells.astype(object), dtype=object)
    if isinstance(cells, pd.Index | pd.api.extensions.ExtensionArray):
        return as_column(pd.Series(cells, dtype=cells.dtype))
    # Of a list: an array would give all cells one type.
    column = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return pd.Series(column, dtype=object)


def numbers(cells: pd.Series, meaning: NumberCells) -> Floats:
    """Return the number in each cell, NaN where there is none."""
    cells = as_column(cells)
    if getattr(cells.dtype, "kind", "O") not in "iuf":  # no array of real numbers
        places, texts = different(cells)
        return np.array([*map(meaning.value, texts), np.nan])[places]
    given = {} if isinstance(cells.dtype, np.dtype) else {"na_value": np.nan}
    # Ours to change, and the same in memory whatever pandas had.
    with np.errstate(all="ignore"):  # a warning would tell of large values
        plain: Floats = np.array(cells.to_numpy(dtype=np.float64, **given), order="C")
        plain += 0.0  # no sign of zero
    for absent in meaning.absent:
        plain[plain == absent] = np.nan
    return plain


def codes(cells: pd.Series, meaning: Listed | TruthCells) -> Codes:
    """Return the code of each cell, or raise DataTypeError if a listed one may be rounded."""
    cells = as_column(cells)
    if _precision(cells.dtype) <= meaning.largest_whole:
        raise DataTypeError(refusals.ROUNDED)
    large = meaning.largest_whole >= EXACT

    def text(cell: Any) -> str | None:
        found = text_of(cell)
        if large and isinstance(cell, _ROUNDING) and abs(number_of(cell)) >= EXACT:
            raise DataTypeError(refusals.ROUNDED)
        return found

    places, texts = different(cells, text)
    return np.array([*map(meaning.code, texts), MISSING], dtype=np.int32)[places]


def different(
    cells: pd.Series, text: Callable[[Any], str | None] = text_of
) -> tuple[Places, list[str]]:
    """Return the place of each row among different texts, -1 where it has none, and these.

    The texts stand in the order in which they first appear, and may repeat some.

    Guarantee: a row's text is that of its own cell. Proof: docs/proofs/records.md, "Cells".
    """
    kind = cells.dtype
    if isinstance(kind, pd.CategoricalDtype):
        # Those that no row has are not looked at.
        places, used = pd.factorize(cells.array)
        inner, texts = different(as_column(used.categories.take(used.codes)), text)
        return np.append(inner, -1)[places], texts
    plain = cells.to_numpy() if isinstance(kind, np.dtype) else cells.array
    if getattr(kind, "kind", "O") in "biufM":
        with np.errstate(all="ignore"):  # a warning would tell of large values
            places, found = pd.factorize(plain)
        if kind.kind == "f":  # whose width says how far whole numbers are told apart
            found = np.asarray(found, dtype=getattr(kind, "numpy_dtype", kind))
        plainly = kind.kind in "biu" or found.dtype == np.float64  # others would be others
        return _known(places, map(text, found.tolist() if plainly else found))
    arrow = isinstance(kind, pd.StringDtype) and kind.storage == "pyarrow"
    if arrow or str(kind) in _ARROW_TEXTS:
        with suppress(Exception):  # some are not even texts: then one by one
            places, found = pd.factorize(plain)
            return _known(places, map(text, found))
    # By their texts. Among the cells themselves True and 1 are equal, and the first one seen
    # would count; and some versions of pandas take texts for equal up to the first NUL.
    seen: dict[str, int] = {}
    own = (cell if type(cell) is str else text(cell) for cell in _objects(cells))
    each = [-1 if one is None else seen.setdefault(one, len(seen)) for one in own]
    return _known(np.array(each, dtype=np.int64), map(text, seen))


def _known(places: Places, found: Iterable[str | None]) -> tuple[Places, list[str]]:
    """Return places among those texts that are not None."""
    texts = list(found)
    if None not in texts:
        return places, cast("list[str]", texts)
    kept = np.array([text is not None for text in texts])
    new = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return new[places], [text for text in texts if text is not None]


def _objects(cells: pd.Series) -> Iterable[Any]:
    with suppress(Exception):  # Arrow's texts may be none
        return cells.astype(object).array  # type: ignore[no-any-return]
    found = np.full(len(cells), _UNREADABLE)
    for place in range(len(cells)):
        with suppress(Exception):
            found[place] = cells.array[place]
    return found


def _precision(kind: Any) -> float:
    """Return up to which size a column's type tells whole numbers apart."""
    if isinstance(kind, pd.CategoricalDtype):
        return _precision(kind.categories.dtype)
    if getattr(kind, "kind", "O") not in "fc":
        return np.inf
    plain = kind if isinstance(kind, np.dtype) else getattr(kind, "numpy_dtype", np.float64)
    return float(2 ** (min(np.finfo(plain).nmant, 52) + 1))
