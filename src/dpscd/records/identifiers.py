"""Persons of rows: identifiers in any container become numbers, and nothing else leaves.

Identifiers are texts, whole numbers or dates. The type of a container chooses the route, never
who is one person with whom. One person that was taken for two would have two clips: nothing is
rounded or cut, and a text stands for one value only.
"""

import array
import datetime
import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError, DataTypeError, ParameterError
from dpscd.preprocessing.declarations import Layout
from dpscd.records import refusals
from dpscd.records.cells import (
    EXACT,
    FOREIGN,
    as_column,
    canonical,
    different,
    number_in,
    text_of,
)

_WHOLE_UP_TO = {2: 2.0**11, 4: 2.0**24}  # by bytes of a floating-point number
_WHOLE = re.compile("-?[0-9]{1,19}")
_CUT = "date64[ms][pyarrow]"  # pandas would cut the time of day off
_IDENTIFIERS = (int, np.bool_, np.integer, datetime.date, np.datetime64)

Codes = npt.NDArray[np.int64]


class Numbering:
    """Numbers persons in the order in which they first appear, in one column or part by part.

    A text of `missing` that spells a number stands for that number, too.

    Guarantee: rows have one number if and only if their identifiers are one, whatever
    containers the parts are. Refusals are fixed texts, without cause and context.
    Proof: docs/proofs/records.md, "Persons".
    """

    def __init__(self, missing: Iterable[str] = Layout.missing) -> None:
        self._none = {canonical(text.strip()) for text in ("", *missing)}
        # Of each part: the place of each row among different identifiers, and these.
        self._parts: list[tuple[Codes, Sequence[str] | npt.NDArray[np.int64]]] = []

    def add(self, cells: Any) -> None:
        """Take in the identifiers of more rows."""
        try:
            column = _flat(cells)
            whole = _whole_numbers(column)
            found = different(column, identifier_of) if whole is None else whole
        except (DataError, MemoryError):
            raise
        except Exception:  # of a container's own methods: its text stays here
            found = None
        if found is None:
            raise DataTypeError(refusals.NOT_AN_IDENTIFIER)
        self._parts.append(found)

    def codes(self) -> Codes:
        """Return the number of each row's person, -1 where the identifier is missing."""
        numbers, _ = self._numbered()
        starts = np.cumsum([0, *(len(values) for _, values in self._parts)])
        own = [
            np.append(numbers[first : first + len(values)], -1)[places]
            for first, (places, values) in zip(starts, self._parts, strict=False)
        ]
        return np.concatenate([np.empty(0, np.int64), *own])

    def keys(self) -> list[bytes]:
        """Return one text of bytes per person, in the order of their numbers."""
        return [str(key).encode("utf-8", "surrogatepass") for key in self._numbered()[1]]

    def _numbered(self) -> tuple[Codes, Sequence[Any]]:
        """Return the number of each different identifier of each part, and each person's."""
        values = [own for _, own in self._parts]
        if all(isinstance(own, np.ndarray) for own in values):
            whole = np.concatenate([np.empty(0, np.int64), *values])
            spelt_out = (int(text) for text in self._none if _WHOLE.fullmatch(text))
            absent = [number for number in spelt_out if -(2**63) <= number < 2**63]
            known = ~np.isin(whole, absent) if absent else np.ones(len(whole), bool)
            places, found = pd.factorize(whole if known.all() else whole[known])
            return _spread(places, known), found.tolist()
        seen: dict[str, int] = {}
        # Only numbers and truth values have several spellings, and to look for them takes time.
        spelt = any(number == number for number in map(number_in, self._none))
        keys = [str(key) for own in values for key in own]
        nobody = ((canonical(key) if spelt else key) in self._none for key in keys)
        each = [
            -1 if none else seen.setdefault(key, len(seen))
            for key, none in zip(keys, nobody, strict=True)
        ]
        return np.array(each, dtype=np.int64), list(seen)


def person_codes(cells: Any, missing: Iterable[str] = Layout.missing) -> Codes:
    """Return the number of each row's person, as :class:`Numbering` does in one column."""
    persons = Numbering(missing)
    persons.add(cells)
    return persons.codes()


def person_keys(
    cells: Any, missing: Iterable[str] = Layout.missing
) -> tuple[Codes, list[bytes]]:
    """Return each row's person, and the exact text of each, equal in all tables; or refuse."""
    persons = Numbering(missing)
    persons.add(cells)
    return persons.codes(), persons.keys()


def keyed_hashes(keys: Sequence[bytes], key: bytes) -> npt.NDArray[np.int64]:
    """Return 128 bits for each person, as two int64, that say nothing to those without the key.

    Guarantee: two of n persons have equal hashes with a probability of at most n^2 2^-129.
    Requires: `key` is a secret of 16 to 64 bytes, drawn for this use.
    """
    if not 16 <= len(key) <= hashlib.blake2b.MAX_KEY_SIZE:
        raise ParameterError("key must have 16 to 64 bytes.")
    digests = b"".join(hashlib.blake2b(own, key=key, digest_size=16).digest() for own in keys)
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


def identifier_of(cell: Any) -> str | None:
    """Return what an identifier is compared by; None if it is missing.

    Guarantee: two cells have one text only if they are texts with the same signs but for outer
    spaces, equal whole numbers, truth values or dates, or one is a text that spells the other.
    A number that may have been rounded is refused. Proof: docs/proofs/records.md, "Persons".
    """
    text = text_of(cell)
    if text is None or isinstance(cell, str):
        return text
    if isinstance(cell, float | np.floating):
        size, number = getattr(cell, "nbytes", 8), float(cell)
        if not abs(number) < _WHOLE_UP_TO.get(size, float(EXACT)):
            raise DataTypeError(refusals.ROUNDED_PERSONS)
        whole = number == int(number) and number == cell
    elif isinstance(cell, bytes):
        whole = text != FOREIGN or bytes.strip(cell) == b"\0"  # a text like any other
    else:
        whole = isinstance(cell, _IDENTIFIERS) and text not in (FOREIGN, "inf", "-inf")
    if not whole:
        raise DataTypeError(refusals.NOT_AN_IDENTIFIER)
    return text


def _whole_numbers(cells: pd.Series) -> tuple[Codes, npt.NDArray[np.int64]] | None:
    """Return places among different whole numbers, -1 where none is known; or None.

    None where :func:`identifier_of` has to judge the cells.
    """
    kind = cells.dtype
    if getattr(kind, "kind", "O") not in "iuf":
        return None
    known = cells.notna().to_numpy().astype(bool)
    plain = kind if isinstance(kind, np.dtype) else kind.numpy_dtype
    given = {} if known.all() else {"na_value": 0}
    values = cells.to_numpy(dtype=plain, **given)
    if plain.kind == "f":
        values = np.where(known, values, plain.type(0))
        if (np.abs(values) >= _WHOLE_UP_TO.get(plain.itemsize, float(EXACT))).any():
            raise DataTypeError(refusals.ROUNDED_PERSONS)
    whole = values.astype(np.int64)
    if (whole != values).any() or (plain.kind == "u" and (whole < 0).any()):
        return None
    places, found = pd.factorize(whole if known.all() else whole[known])
    return _spread(places, known), found


def _spread(places: Codes, known: npt.NDArray[np.bool_]) -> Codes:
    """Return the places of those that are known among all, -1 for the others."""
    if known.all():
        return places
    spread = np.full(len(known), -1, np.int64)
    spread[known] = places
    return spread


def _flat(cells: Any) -> pd.Series:
    """Return identifiers in any container as a column, or refuse what is none."""
    flat = getattr(cells, "ndim", 1) == 1 and not isinstance(cells, pd.MultiIndex)
    if not flat or hasattr(cells, "columns"):
        raise DataError(refusals.NOT_A_PERSON_EACH)
    if isinstance(cells, np.ma.MaskedArray):
        cells = [None if cell is np.ma.masked else cell for cell in cells]
    arrow = hasattr(cells, "__arrow_c_array__") or hasattr(cells, "__arrow_c_stream__")
    if arrow and not isinstance(cells, pd.Series | pd.Index):
        cells = _from_arrow(cells)
    typed = isinstance(cells, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)
    buffer = isinstance(cells, array.array | memoryview)
    if (hasattr(cells, "__array__") or buffer) and not typed:
        cells = np.asarray(cells)
        if cells.ndim != 1:
            raise DataError(refusals.NOT_A_PERSON_EACH)
    elif not typed:
        unordered = isinstance(cells, str | bytes | bytearray | dict | set | frozenset)
        if unordered or not (hasattr(cells, "__len__") and hasattr(cells, "__iter__")):
            raise DataError(refusals.NOT_A_PERSON_EACH)
        cells = list(cells)
    column = as_column(cells)
    if str(column.dtype) == _CUT:
        raise DataTypeError(refusals.NOT_AN_IDENTIFIER)
    return column


def _from_arrow(cells: Any) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise DataTypeError(refusals.NEEDS_ARROW) from None
    stream = hasattr(cells, "__arrow_c_stream__")
    return pd.arrays.ArrowExtensionArray(pa.chunked_array(cells) if stream else pa.array(cells))
