"""What a look counts in one column, piece by piece: NOT PRIVATE, for the owner's eyes only."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.preprocessing.cells import MISSING, OTHER, Listed, text_of
from dpscd.preprocessing.column_features import declared_bounds, scaled_cells
from dpscd.preprocessing.columns import codes
from dpscd.preprocessing.declarations import Column, Layout, Target
from dpscd.preprocessing.number_spellings import dotted, spelling_of
from dpscd.preprocessing.parsing import parse_column

__all__ = ["ListTally", "NumberTally", "PersonTally", "Tally", "tally_of"]

# What people write for "no answer" where there is no better sign.
_NINES = (99.0, 999.0, 9999.0, 99999.0)
_SENTINELS = (-1.0, -9.0, *_NINES, *(-value for value in _NINES))
_THOUSANDS = 1000.0  # from here on a full stop may part thousands
_NEAR = 0.98  # of the way from the middle of the range to a bound: a hundredth of it is left


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
    if isinstance(column, Column):
        if column.kind == "number":
            return NumberTally(column, f"column {column.name!r}", "number")
        return ListTally(column, f"column {column.name!r}", column.kind)
    title = f"target {column.name!r}"
    if column.classes:
        return ListTally(column, title, "target")
    own = Column(
        column.name,
        "number",
        column.bounds,
        column.transform,
        missing_values=column.missing_values,
    )
    return NumberTally(own, title, "target")


def _absent(cells: pd.Series, missing: Sequence[str]) -> npt.NDArray[Any]:
    """Return which cells are empty, or spelt as the schema says of missing ones."""
    found: npt.NDArray[Any] = codes(cells, Listed({}, missing)) == MISSING
    return found


def _loose(text: str) -> str:
    """Return a text without case, blanks, underscores, quotes and full stops at its ends."""
    plain = "".join(
        sign for sign in text.casefold() if not sign.isspace() and sign not in "_'\""
    )
    return plain.strip(".")
