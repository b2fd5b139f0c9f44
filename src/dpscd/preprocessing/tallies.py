"""What a look counts in one column, piece by piece: NOT PRIVATE, for the owner's eyes only."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.preprocessing.column_features import declared_bounds, scaled_cells
from dpscd.preprocessing.declarations import Column, Layout, Target
from dpscd.records.cells import MISSING, OTHER, Listed, codes, text_of
from dpscd.records.encoding import parse_column

# What people write for "no answer" where there is no better sign.
_NINES = (99.0, 999.0, 9999.0, 99999.0)
_SENTINELS = (-1.0, -9.0, *_NINES, *(-value for value in _NINES))
_THOUSANDS = 1000.0  # from here on a full stop may part thousands
_NEAR = 0.98  # of the way from the middle of the range to a bound: a hundredth of it is left

# How numbers are written that are not read as such, or not as meant.
_SIGN = r"[+-]?"
_HEAD = rf"{_SIGN}[0-9]{{1,3}}"
_BLANK = r"[ _'\u2019\u00a0\u202f]"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(:.*)?"
_PATTERNS = (
    (
        "date",
        re.compile(
            rf"([0-9]{{4}}([-/.])[0-9]{{1,2}}\2[0-9]{{1,2}}|[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\3"
            rf"([0-9]{{2}}|[0-9]{{4}}))([ T].*)?|{_CLOCK}|-?[0-9]+ days {_CLOCK}"
        ),
    ),
    ("commas", re.compile(rf"{_HEAD}(,[0-9]{{3}})+(\.[0-9]+)?")),
    ("stops", re.compile(rf"{_HEAD}((\.[0-9]{{3}}){{2,}}|(\.[0-9]{{3}})+,[0-9]+)")),
    ("blanks", re.compile(rf"{_HEAD}({_BLANK}[0-9]{{3}})+([.,][0-9]+)?")),
    ("comma", re.compile(rf"{_SIGN}[0-9]*,[0-9]+")),
    ("unit", re.compile(rf"\W?\s*{_SIGN}[0-9][0-9.,]*\s*(\W|[^\W\d]{{1,3}})?")),
)
_DOTTED = re.compile(rf"{_SIGN}[0-9]+\.[0-9]+")
# Thousands too, if a full stop parts these: "1.234", but not "0.234".
_THREE = re.compile(rf"{_SIGN}[1-9][0-9]{{0,2}}\.[0-9]{{3}}")

SPELLED = {
    "date": "dates or times, which are not read as numbers: make them numbers first (days "
    "since a fixed day), or categories (the month)",
    "comma": "with a decimal comma: replace it by a point",
    "commas": "with a comma before three digits: take it out if it parts thousands, or replace "
    "it by a point if it is a decimal comma",
    "stops": "with full stops between thousands: take these out, and replace a decimal comma "
    "by a point; cells with one full stop are read as decimals",
    "blanks": "with blanks or apostrophes between thousands: take them out",
    "unit": "with a unit or a sign beside the number: take it out",
}
"""What is said of cells that are no numbers, by how they are written."""


class Tally(ABC):
    """Counts of the cells of one column, which hints call `title`."""

    def __init__(self, name: str, kind: str, title: str) -> None:
        self.name, self.kind, self.title = name, kind, title
        # All cells; those within bounds or in the list, beyond the bounds or not listed, those
        # that should be a number and are not, and those that count as missing.
        self.records = self.inside = self.outside = self.unread = self.missing = 0
        self.declared = 0  # of the missing ones, those that the schema lists for this column

    def add(self, cells: pd.Series, layout: Layout) -> None:
        """Count more cells."""
        self.records += len(cells)
        self._count(cells, layout)

    def _note_declared(self, cells: pd.Series, values: Sequence[str]) -> None:
        """Count cells that the column's own `missing_values` name; empty ones are not."""
        if values:
            self.declared += int((_absent(cells, values) & ~_absent(cells, ())).sum())

    @abstractmethod
    def _count(self, cells: pd.Series, layout: Layout) -> None:
        """Count cells by what they are."""


class NumberTally(Tally):
    """Counts of a column of numbers."""

    def __init__(self, column: Column, title: str, kind: str) -> None:
        super().__init__(column.name, kind, title)
        self.column = column
        # at or beyond a bound; inside, in the hundredth of the range next to it
        self.low = self.high = self.near_low = self.near_high = 0
        # Of a column that goes to 1000 and beyond: numbers with a full stop before exactly
        # three digits, as thousands may be written, and before fewer or more.
        self.three = self.dotted = 0
        self.spelled: Counter[str] = Counter()  # cells that are not numbers, by keys of SPELLED
        # Numbers beyond the bounds, by the power of ten below their ratio to the larger bound;
        # -1 if they are not larger.
        self.decades: Counter[int] = Counter()
        # beyond the bounds; often stand for no answer
        self.sentinels: Counter[float] = Counter()

    @property
    def known(self) -> int:
        """How many cells hold a number."""
        return self.inside + self.outside

    def _count(self, cells: pd.Series, layout: Layout) -> None:
        values = parse_column(self.column, cells, layout)
        missing = (*layout.missing, *self.column.missing_values)
        absent = _absent(cells, missing) & np.isnan(values)
        texts = np.isnan(values) & ~absent
        self.missing += int(absent.sum())
        self.unread += int(texts.sum())
        self._note_declared(cells, self.column.missing_values)
        spellings = (spelling_of(str(text_of(x))) for x in cells[texts])
        self.spelled.update(name for name in spellings if name is not None)
        known = values[~np.isnan(values)]
        if self.column.private_bounds:
            self.inside += len(known)
            return
        low, high = declared_bounds(self.column, {})
        if max(abs(low), abs(high)) >= _THOUSANDS:
            three, others = dotted(x for x in cells[~np.isnan(values)] if isinstance(x, str))
            self.three += three
            self.dotted += others
        beyond = known[(known < low) | (known > high)]
        self.outside += len(beyond)
        self.inside += len(known) - len(beyond)
        self.low += int((known <= low).sum())
        self.high += int((known >= high).sum())
        own = known[(known > low) & (known < high)]
        scaled, _ = scaled_cells(self.column, own, {})
        self.near_low += int((scaled < -_NEAR).sum())
        self.near_high += int((scaled > _NEAR).sum())
        self._note_beyond(beyond, max(abs(low), abs(high)))

    def _note_beyond(self, beyond: npt.NDArray[np.float64], largest: float) -> None:
        for value in _SENTINELS:
            if found := int((beyond == value).sum()):
                self.sentinels[value] += found
        with np.errstate(all="ignore"):
            powers = np.floor(np.log10(np.abs(beyond) / largest))
        self.decades.update(int(x) for x in np.clip(powers, -1, 9))


class ListTally(Tally):
    """Counts of a column whose values are listed, or of one of truth values."""

    def __init__(self, column: Column | Target, title: str, kind: str) -> None:
        super().__init__(column.name, kind, title)
        self.column = column
        listed = column.classes if isinstance(column, Target) else column.values
        loose: dict[str, set[str]] = {}
        for text in listed:
            loose.setdefault(_loose(text), set()).add(text)
        self._loose = {k: v.pop() for k, v in loose.items() if k and len(v) == 1}
        # Pairs of a text that is not listed and the value that it is but for case, blanks,
        # quotes and full stops.
        self.spellings: Counter[tuple[str, str]] = Counter()

    def _count(self, cells: pd.Series, layout: Layout) -> None:
        found = parse_column(self.column, cells, layout)
        foreign = found == OTHER
        self._note_declared(cells, self.column.missing_values)
        self.missing += int((found == MISSING).sum())
        self.outside += int(foreign.sum())
        self.inside += int((found >= 0).sum())
        for text, count in Counter(str(text_of(x)) for x in cells[foreign]).items():
            if value := self._loose.get(_loose(text)):
                self.spellings[text, value] += count


class PersonTally(Tally):
    """Counts of the column that identifies persons: cells that hold something, or nothing."""

    def _count(self, cells: pd.Series, layout: Layout) -> None:
        absent = _absent(cells, layout.missing)
        self.missing += int(absent.sum())
        self.inside += int((~absent).sum())


def tally_of(column: Column | Target) -> Tally:
    """Return what counts the cells of a column."""
    kind = column.kind if isinstance(column, Column) else "target"
    title = f"{'target' if kind == 'target' else 'column'} {column.name!r}"
    if isinstance(column, Target) and not column.classes:
        absent = column.missing_values
        column = Column(
            column.name, "number", column.bounds, column.transform, missing_values=absent
        )
    if isinstance(column, Column) and column.kind == "number":
        return NumberTally(column, title, kind)
    return ListTally(column, title, kind)


def _absent(cells: pd.Series, missing: Sequence[str]) -> npt.NDArray[Any]:
    """Return which cells are empty, or spelt as the schema says of missing ones."""
    found: npt.NDArray[Any] = codes(cells, Listed({}, missing)) == MISSING
    return found


def _loose(text: str) -> str:
    """Return a text without case, blanks, underscores, quotes and full stops at its ends."""
    return re.sub(r"[\s_'\"]", "", text.casefold()).strip(".")


def spelling_of(text: str) -> str | None:
    """Return how a text is written that would be a number otherwise: a key of `SPELLED`."""
    plain = text.strip()
    return next((name for name, own in _PATTERNS if own.fullmatch(plain)), None)


def dotted(texts: Iterable[str]) -> tuple[int, int]:
    """Return how many texts have a full stop before three digits, and before other numbers."""
    plain = [text.strip() for text in texts]
    three, every = (sum(map(bool, map(own.fullmatch, plain))) for own in (_THREE, _DOTTED))
    return three, every - three
