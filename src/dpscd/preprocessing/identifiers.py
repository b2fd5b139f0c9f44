"""Persons of rows: identifiers in any container become numbers, and nothing else leaves.

The type of a container depends on all of its cells, so it chooses the route here, never who is
one person with whom. Every route ends in :func:`~dpscd.preprocessing.identifier_cells.key_of`.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError, DataTypeError, ParameterError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.cells import canonical, number_of, text_of
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.identifier_cells import Key, key_of
from dpscd.preprocessing.identifier_columns import Codes, different

__all__ = ["Numbering", "count_of", "keyed_hashes", "order_of", "person_codes", "person_keys"]

_LEAST_KEY = 16  # bytes
_DIGEST = 16  # bytes: 128 bits

R = TypeVar("R")


class Numbering:
    """Numbers persons in the order in which they first appear, in one column or part by part.

    Texts of `missing` count as no identifier; one that spells a number stands for that number.
    The `token` stands for this numbering where codes are kept without the identifiers.

    Notes
    -----
    Holds identifiers: keep it no longer than the table is read.

    Guarantee: rows have one number if and only if their identifiers are one, whatever
    containers the parts are. Refusals are fixed texts, without cause and context.
    Proof: docs/proofs/door.md.
    """

    def __init__(self, missing: Iterable[str] = Layout.missing) -> None:
        self._numbers = _Numbers(_Absent(missing))
        self.token = object()

    @property
    def count(self) -> int:
        """Number of persons so far."""
        return self._numbers.count

    def codes(self, cells: Any) -> Codes:
        """Return the number of each row's person, -1 where the identifier is missing."""
        return _redacted(lambda: self._codes(*different(cells)))

    def keys(self) -> list[bytes]:
        """Return one text of bytes per person, in the order of their numbers."""
        keys = [key for key, number in self._numbers.items() if number >= 0]
        if not all(isinstance(key, str) for key in keys):
            raise DataTypeError(refusals.NO_TEXT_OF_PERSON)
        return [str(key).encode("utf-8", "surrogatepass") for key in keys]

    def _codes(self, places: Codes | None, cells: Sequence[Any] | npt.NDArray[Any]) -> Codes:
        keys = _keys(cells)
        numbers = np.fromiter(map(self._numbers.__getitem__, keys), np.int64, len(keys))
        return numbers if places is None else np.append(numbers, -1)[places]


def person_codes(cells: Any, missing: Iterable[str] = Layout.missing) -> Codes:
    """Return the number of each row's person, from 0 as they first appear; -1 if missing.

    An identifier is missing if it is None, NaN, NaT, an empty text or one of `missing`. Texts
    are compared as they are written, but for outer spaces; a number is the same as its plain
    text (7, 7.0 and "7", but not "007"), a truth value as "true" or "false", a date as its ISO
    form. What has no exact text is compared by its own hash and equality.

    Notes
    -----
    Guarantee: as :class:`Numbering`.
    """
    missing = tuple(missing)

    def read() -> Codes:
        places, found = different(cells)
        if places is not None and isinstance(found, np.ndarray):
            return _of_numbers(places, found, _Absent(missing))
        return Numbering(missing)._codes(places, found)

    return _redacted(read)


def person_keys(
    cells: Any, missing: Iterable[str] = Layout.missing
) -> tuple[Codes, list[bytes]]:
    """Return the number of each row's person, and for each person its exact text, to be hashed.

    Texts are equal for one person in every table and container. DataTypeError is raised also if
    an identifier has no exact text.
    """
    persons = Numbering(missing)
    return persons.codes(cells), persons.keys()


def keyed_hashes(keys: Sequence[bytes], key: bytes) -> npt.NDArray[np.int64]:
    """Return 128 bits for each person, as two int64, that say nothing to those without the key.

    Notes
    -----
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
    """Return an order that puts each person's rows together, and where each person starts.

    Each person's rows keep their order, and rows without a person are left out; the order is
    None if every row stays where it is. The last entry of the starts is the end of the last
    person.
    """
    known = codes[codes >= 0]
    starts = np.concatenate([[0], np.cumsum(np.bincount(known))]).astype(np.int64)
    if len(known) == len(codes) and (np.diff(codes) >= 0).all():
        return None, starts
    order = np.argsort(codes, kind="stable")
    return order[len(codes) - len(known) :].astype(np.int64), starts


class _Absent:
    """Texts that count as no identifier, and the numbers or truth values that they spell."""

    def __init__(self, missing: Iterable[str]) -> None:
        self.texts = {canonical(text.strip()) for text in ("", *missing)}
        found = map(number_of, self.texts)
        self.numbers = [number for number in found if number == number]

    def holds(self, key: Key) -> bool:
        """Return whether a key is none."""
        if not isinstance(key, str):
            return key is None
        # Only numbers and truth values have several spellings, and that takes time.
        return (canonical(key) if self.numbers else key) in self.texts


class _Numbers(dict[Key, int]):
    """The number of each key, given when it is first asked for; -1 for one that is none."""

    def __init__(self, absent: _Absent) -> None:
        super().__init__()
        self._absent = absent
        self.count = 0

    def __missing__(self, key: Key) -> int:
        number = -1 if self._absent.holds(key) else self.count
        self.count += number >= 0
        self[key] = number
        return number


def _keys(cells: Sequence[Any] | npt.NDArray[Any]) -> list[Key]:
    if not isinstance(cells, np.ndarray):
        return [cell.strip() if type(cell) is str else key_of(cell) for cell in cells]
    plain = str if cells.dtype.kind in "iu" else text_of
    return [plain(number) for number in cells.tolist()]


def _of_numbers(places: Codes, values: npt.NDArray[Any], absent: _Absent) -> Codes:
    """Return the codes of numbers of one type: equal numbers are one person, without texts."""
    # As doubles, which finds too many at most.
    may_be = np.flatnonzero(np.isin(values.astype(np.float64), absent.numbers))
    gone = np.zeros(len(values), dtype=bool)
    gone[may_be] = [absent.holds(text_of(number)) for number in values[may_be].tolist()]
    if not gone.any():
        return places
    numbers = np.where(gone, -1, np.cumsum(~gone) - 1)
    return np.append(numbers, -1)[places]


def _redacted(read: Callable[[], R]) -> R:
    """Return what `read` does; whatever an identifier's own methods raise has a fixed text."""
    try:
        return read()
    except (DataError, MemoryError):
        raise
    except Exception:  # noqa: S110 - whatever it is, its text stays here
        pass
    raise DataTypeError(refusals.NOT_AN_IDENTIFIER)
