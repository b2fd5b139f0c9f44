"""Persons of rows: identifiers in any container become numbers, and nothing else leaves.

The type of a container depends on all of its cells, so it chooses the route here, never who is
one person with whom. Each route ends in :func:`key_of`. Two persons that were taken for one
would share one clip, and one person that was taken for two would have two: nothing is rounded
or cut, and a text stands for one value only.
"""

import array
import datetime
import hashlib
import math
import uuid
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError, DataTypeError, ParameterError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.cells import canonical, number_of, text_of
from dpscd.preprocessing.declarations import Layout

_LEAST_KEY = 16  # bytes
_DIGEST = 16  # bytes: 128 bits

_NEEDS_ARROW = (
    "columns of other libraries than pandas need pyarrow; install it with: pip install pyarrow"
)
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

Codes = npt.NDArray[np.int64]
# Places, None if each row has the cell of its own place; and different numbers of one type, in
# the order in which they first appear, or a list of cells, which may repeat some.
Different = tuple[Codes | None, Sequence[Any] | npt.NDArray[Any]]


class Other:
    """A hashable identifier without an exact text: compared by its own hash and equality.

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


class Numbering:
    """Numbers persons in the order in which they first appear, in one column or part by part.

    A text of `missing` that spells a number stands for that number, too. Holds identifiers:
    keep it no longer than the table is read; `token` stands for it where codes are kept.

    Guarantee: rows have one number if and only if their identifiers are one, whatever
    containers the parts are. Refusals are fixed texts, without cause and context.
    Proof: docs/proofs/door.md.
    """

    def __init__(self, missing: Iterable[str] = Layout.missing) -> None:
        self._numbers = _Numbers(missing)
        self.token = object()

    def codes(self, cells: Any) -> Codes:
        """Return the number of each row's person, -1 where the identifier is missing."""
        try:
            return self._codes(*_different(cells))
        except (DataError, MemoryError):
            raise
        except Exception:  # noqa: S110 - of an identifier's own methods, its text stays here
            pass
        raise DataTypeError(refusals.NOT_AN_IDENTIFIER)

    def keys(self) -> list[bytes]:
        """Return one text of bytes per person, in the order of their numbers."""
        keys = [key for key, number in self._numbers.items() if number >= 0]
        if not all(isinstance(key, str) for key in keys):
            raise DataTypeError(refusals.NO_TEXT_OF_PERSON)
        return [str(key).encode("utf-8", "surrogatepass") for key in keys]

    def _codes(self, places: Codes | None, cells: Sequence[Any] | npt.NDArray[Any]) -> Codes:
        if isinstance(cells, np.ndarray):
            plain = str if cells.dtype.kind in "iu" else text_of
            keys: list[Key] = [plain(number) for number in cells.tolist()]
        else:
            keys = [cell.strip() if type(cell) is str else key_of(cell) for cell in cells]
        numbers = np.fromiter(map(self._numbers.__getitem__, keys), np.int64, len(keys))
        return numbers if places is None else np.append(numbers, -1)[places]


def person_codes(cells: Any, missing: Iterable[str] = Layout.missing) -> Codes:
    """Return the number of each row's person, as :class:`Numbering` does in one column."""
    return Numbering(missing).codes(cells)


def person_keys(
    cells: Any, missing: Iterable[str] = Layout.missing
) -> tuple[Codes, list[bytes]]:
    """Return each row's person, and the exact text of each, equal in all tables; or refuse."""
    persons = Numbering(missing)
    return persons.codes(cells), persons.keys()


def keyed_hashes(keys: Sequence[bytes], key: bytes) -> npt.NDArray[np.int64]:
    """Return 128 bits for each person, as two int64, that say nothing to those without the key.

    Guarantee: two of n persons have equal hashes with a probability of at most n^2 2^-129, for
    anybody who compares hashes in place of identifiers.
    Requires: `key` is a secret of 16 to 64 bytes, drawn for this use.
    """
    if not _LEAST_KEY <= len(key) <= hashlib.blake2b.MAX_KEY_SIZE:
        raise ParameterError("key must have 16 to 64 bytes.")
    digests = b"".join(
        hashlib.blake2b(own, key=key, digest_size=_DIGEST).digest() for own in keys
    )
    return np.frombuffer(digests, dtype="<i8").reshape(-1, 2).astype(np.int64)


def count_of(codes: Codes) -> int:
    """Return the number of persons, given the number of each row's person."""
    return int(codes.max(initial=-1)) + 1


def order_of(codes: Codes) -> tuple[Codes | None, Codes]:
    """Return an order that puts persons' rows together, None if they are, and their starts."""
    known = codes[codes >= 0]  # rows without a person are left out
    starts = np.concatenate([[0], np.cumsum(np.bincount(known))]).astype(np.int64)
    if len(known) == len(codes) and (np.diff(codes) >= 0).all():
        return None, starts
    order = np.argsort(codes, kind="stable")
    return order[len(codes) - len(known) :].astype(np.int64), starts


class _Numbers(dict[Key, int]):
    """The number of each key, given when it is first asked for; -1 for one that is none."""

    def __init__(self, missing: Iterable[str]) -> None:
        super().__init__()
        self.count = 0
        self._none = {canonical(text.strip()) for text in ("", *missing)}
        # Only numbers and truth values have several spellings, and to look for them takes time.
        self._spelt = any(number == number for number in map(number_of, self._none))

    def __missing__(self, key: Key) -> int:
        plain = canonical(key) if self._spelt and isinstance(key, str) else key
        number = -1 if plain is None or plain in self._none else self.count
        self.count += number >= 0
        self[key] = number
        return number


def _different(cells: Any) -> Different:
    """Return the place of each row among different cells, -1 if it has no value, and these."""
    cells = _flat(cells)
    if isinstance(cells, pd.Series):
        return _of_series(cells)
    if isinstance(cells, np.ma.MaskedArray):
        return _shown(~np.ma.getmaskarray(cells), np.asarray(cells.data))
    if isinstance(cells, np.ndarray):
        return _of_array(cells)
    return None, cells


def _flat(cells: Any) -> Any:
    """Return a column as a Series, an array or a list, or refuse what is none."""
    if isinstance(cells, pd.Series):
        return cells
    several = hasattr(cells, "columns") or isinstance(cells, pd.MultiIndex)
    if several or getattr(cells, "ndim", 1) != 1:
        raise DataError(refusals.NOT_A_PERSON_EACH)
    if isinstance(cells, pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(cells, dtype=cells.dtype)  # as it is: pandas might find another type
    if hasattr(cells, "__arrow_c_array__") or hasattr(cells, "__arrow_c_stream__"):
        return _from_arrow(cells)
    if hasattr(cells, "__array__") or isinstance(cells, array.array | memoryview):
        cells = np.asanyarray(cells)
        ordered = cells.ndim == 1
    else:
        ordered = not isinstance(cells, str | bytes | bytearray | dict | set | frozenset)
        ordered = ordered and hasattr(cells, "__len__") and hasattr(cells, "__iter__")
    if not ordered:
        raise DataError(refusals.NOT_A_PERSON_EACH)
    return cells if isinstance(cells, np.ndarray) else list(cells)


def _from_arrow(cells: Any) -> pd.Series:
    try:
        import pyarrow as pa
    except ImportError:
        raise DataTypeError(_NEEDS_ARROW) from None
    stream = hasattr(cells, "__arrow_c_stream__")
    found = pa.chunked_array(cells) if stream else pa.array(cells)
    return pd.Series(pd.arrays.ArrowExtensionArray(found))


def _of_series(cells: pd.Series) -> Different:
    kind = cells.dtype
    if isinstance(kind, pd.SparseDtype):
        return _of_series(cells.sparse.to_dense())
    if isinstance(kind, pd.CategoricalDtype):
        # Those that no row has are nobody.
        places, used = pd.factorize(cells.cat.codes.to_numpy().astype(np.int64))
        own = used >= 0
        categories = cells.cat.categories[used[own]]
        inner, found = _of_series(pd.Series(categories, dtype=categories.dtype))
        return _through(np.where(own, np.cumsum(own) - 1, -1)[places], inner), found
    if isinstance(kind, pd.ArrowDtype):
        return _of_arrow(cells)
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return _of_array(cells.to_numpy())
    if not isinstance(kind, np.dtype) and getattr(kind, "kind", "O") in "biuf":
        return _of_nullable(cells)
    if isinstance(kind, pd.StringDtype) and kind.storage == "pyarrow":
        return _of_texts(cells)
    return None, list(cells.astype(object).array)


def _of_arrow(cells: pd.Series) -> Different:
    """Return the different cells of an Arrow type of which nothing is lost on the way."""
    import pyarrow as pa
    from pyarrow import types

    kind = cells.dtype.pyarrow_dtype
    if types.is_dictionary(kind) or types.is_date64(kind):
        plain = kind.value_type if types.is_dictionary(kind) else pa.timestamp("ms")
        found = pa.array(cells.array).cast(plain)
        return _of_series(pd.Series(pd.arrays.ArrowExtensionArray(found)))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return _of_nullable(cells)
    if types.is_string(kind) or types.is_large_string(kind):
        return _of_texts(cells)
    exact = (
        types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_decimal,
        types.is_date32, types.is_timestamp, types.is_duration, types.is_null, types.is_time32,
    )  # fmt: skip
    if not (any(check(kind) for check in exact) or kind == pa.time64("us")):
        raise DataTypeError(refusals.NOT_AN_IDENTIFIER)
    return None, list(cells.astype(object).array)


def _of_nullable(cells: pd.Series) -> Different:
    """Return the different numbers of a type that has missing ones besides."""
    known = cells.notna().to_numpy().astype(bool)
    kind = cells.dtype.numpy_dtype
    return _shown(known, cells.to_numpy(dtype=kind, na_value=kind.type(0)))


def _of_texts(cells: pd.Series) -> Different:
    """Return the different texts of an Arrow column: by Arrow, whole, and not by pandas."""
    places, texts = pd.factorize(cells)
    return places.astype(np.int64), list(texts)


def _of_array(cells: npt.NDArray[Any]) -> Different:
    kind = cells.dtype
    if kind.kind not in "biuf" or kind.itemsize > 8:
        # Not tolist(), which makes other things of dates.
        return None, list(cells.astype(object) if kind.kind == "T" else cells)
    if kind.kind == "f":
        with np.errstate(all="ignore"):  # a warning would tell of large values
            if (np.abs(cells) >= _WHOLE_UP_TO.get(kind.itemsize, _DOUBLE)).any():
                raise DataTypeError(refusals.ROUNDED_PERSONS)
    plain = {"b": np.uint8, "i": np.int64, "u": np.uint64, "f": np.float64}[kind.kind]
    places, found = pd.factorize(cells.astype(plain))
    if kind.kind == "f" and (found == (whole := found.astype(np.int64))).all():
        found = whole  # as which they are spelt, and faster
    return places.astype(np.int64), found.astype(bool) if kind.kind == "b" else found


def _shown(known: npt.NDArray[np.bool_], cells: npt.NDArray[Any]) -> Different:
    """Return the different cells of the rows that have one."""
    inner, found = _of_array(cells[known])
    return _through(np.where(known, np.cumsum(known) - 1, -1), inner), found


def _through(places: Codes, inner: Codes | None) -> Codes:
    """Return places among different cells of places among those that were looked at."""
    return places if inner is None else np.append(inner, -1)[places]


def key_of(cell: Any) -> Key:
    """Return what an identifier is compared by, whatever container it comes from.

    Errors of an object's own methods pass through: the caller replaces them by fixed words.

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
    most = _WHOLE_UP_TO.get(cell.dtype.itemsize // len(parts) if numpys else 8, _DOUBLE)
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
        return len(bytes.decode(cell, "utf-8", "ignore").encode()) == bytes.__len__(cell)
    if kind is Decimal:
        return bool(Decimal(text) == cell)
    if text in _NO_TEXT:
        return False
    if kind is Fraction:
        return bool(Fraction(text) == cell)
    return isinstance(cell, int | np.integer) or kind in _SPELT


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
