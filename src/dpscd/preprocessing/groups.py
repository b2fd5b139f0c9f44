"""Codes whose beginning says enough: ICD codes by their first three signs, postcodes by two."""

from collections.abc import Iterable, Mapping
from typing import Any

from dpscd.preprocessing.cells import MISSING, OTHER, Listed, canonical
from dpscd.preprocessing.joint_checks import Complaint

__all__ = ["Grouped", "checked_group", "grouped_text"]

_EXACT = 2**53  # from here on doubles skip whole numbers
_LONGEST = 100


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
    """Listed values, where a cell is compared by its group.

    Notes
    -----
    Guarantee: the code of a cell is a function of its own text and of what is declared.
    Requires: as of :class:`~dpscd.preprocessing.cells.Listed`.

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


def checked_group(
    group: Any,
    values: tuple[str, ...],
    rename: Mapping[str, str],
    title: str,
    complain: Complaint,
    where: tuple[str, ...],
) -> Mapping[str, Any]:
    """Return a declared group of a column's checked values, or raise SchemaError."""
    if group is None:
        return {}
    found = _prefix(group) or _mapping(group, values)
    if found is None:
        raise complain(
            where,
            f"{title}: group must be {{ prefix = k }} with a whole number of signs from 1 to "
            f"{_LONGEST}, or {{ mapping = {{ ... }} }} from beginnings of cells to values.",
        )
    for text in (*values, *rename):
        if grouped_text(text, found) != text:
            raise complain(
                where, f"{title}: by its group no cell can be {text!r}, which is listed."
            )
    return found


def _prefix(group: Any) -> Mapping[str, Any] | None:
    good = isinstance(group, dict) and set(group) == {"prefix"}
    size = group["prefix"] if good else None
    return {"prefix": size} if type(size) is int and 1 <= size <= _LONGEST else None


def _mapping(group: Any, values: tuple[str, ...]) -> Mapping[str, Any] | None:
    good = isinstance(group, dict) and set(group) == {"mapping"}
    mapping = group["mapping"] if good else None
    if not (isinstance(mapping, dict) and mapping):
        return None
    texts = {str(start).strip(): value for start, value in mapping.items()}
    if "" in texts or not all(value in values for value in texts.values()):
        return None
    return {"mapping": texts}
