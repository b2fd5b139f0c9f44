"""A schema to begin with: from names and types alone, or, if asked to, from the records."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpscd.errors import DataError
from dpscd.preprocessing.parsing import parse_column
from dpscd.preprocessing.schema import Column, Layout

__all__ = ["Template", "template"]

_MOST_LISTED = 100  # different values up to which a column read from data is a category


class Template:
    """Collects what a template needs from a table, piece by piece.

    Parameters
    ----------
    names : list of str
        The columns.
    layout : Layout
        How the file is written.
    values : bool
        Whether to read bounds and values off the records, which is not private.
    """

    def __init__(self, names: Sequence[str], layout: Layout, *, values: bool) -> None:
        if not names or len(set(names)) != len(names):
            raise DataError("the table must have columns, and no two of one name.")
        if any(not name or _is_number(name) for name in names):
            raise DataError(
                "the first line does not hold names of columns, some are empty or numbers; for "
                "a file without header give --names."
            )
        self.names = list(names)
        self.layout = layout
        self.values = values
        self.numeric = dict.fromkeys(self.names, True)
        self.seen = dict.fromkeys(self.names, False)
        self._bounds = dict.fromkeys(self.names, (math.inf, -math.inf))
        self._listed: dict[str, dict[str, None]] = {name: {} for name in self.names}

    def look(self, frame: pd.DataFrame) -> None:
        """Note the types of more records, and their values if that was asked for."""
        absent = {"", *self.layout.missing}
        for name in self.names:
            cells = frame[name]
            numbers = parse_column(Column(name, "number"), cells, self.layout)
            texts = cells.dropna().astype(str).str.strip()
            known = texts[~texts.isin(absent)]
            if len(known):
                self.seen[name] = True
            if np.isnan(numbers).sum() > len(cells) - len(known):
                self.numeric[name] = False
            if not self.values:
                continue
            finite = numbers[np.isfinite(numbers)]
            if len(finite):
                low, high = self._bounds[name]
                self._bounds[name] = (min(low, finite.min()), max(high, finite.max()))
            if len(self._listed[name]) <= _MOST_LISTED:
                self._listed[name].update(dict.fromkeys(sorted(set(known))))

    def text(self, target: str | None) -> str:
        """Return the schema as TOML; what a person has to fill in is marked."""
        if target is not None and target not in self.names:
            raise DataError(f"the table has no column {target!r} to be the target.")
        target = self.names[-1] if target is None else target
        parts = [_HEAD_READ if self.values else _HEAD, *self._table(), *self._target(target)]
        for name in self.names:
            if name != target:
                parts += ["", f"[columns.{_key(name)}]", *self._column(name)]
        return "\n".join(parts) + "\n"

    def _table(self) -> list[str]:
        layout, usual = self.layout, Layout()
        lines = []
        if not layout.header:
            lines += ["header = false", f"names = {_list(layout.names)}"]
        if layout.delimiter != usual.delimiter:
            lines.append(f"delimiter = {_quoted(layout.delimiter)}")
        if layout.comment is not None:
            lines.append(f"comment = {_quoted(layout.comment)}")
        return ["", "[table]", *lines] if lines else []

    def _target(self, name: str) -> list[str]:
        lines = ["", "[target]", f"column = {_quoted(name)}"]
        if not self.values:
            return [
                *lines,
                "classes = []  # FILL IN: its labels, or bounds = [lowest, highest] instead",
            ]
        listed = list(self._listed[name])
        if self.numeric[name] and len(listed) > 2:
            return [*lines, f"bounds = {self._range(name)}", "read_from_data = true"]
        return [*lines, f"classes = {_list(listed)}", "read_from_data = true"]

    def _column(self, name: str) -> list[str]:
        if not self.seen[name]:
            return ['kind = "ignore"  # no values were seen']
        listed = list(self._listed[name])
        if self.numeric[name]:
            if not self.values:
                return ['kind = "number"', "bounds = []  # FILL IN: [lowest, highest]"]
            return ['kind = "number"', f"bounds = {self._range(name)}", "read_from_data = true"]
        if not self.values:
            return ['kind = "category"', "values = []  # FILL IN: those it can have"]
        if len(listed) > _MOST_LISTED:
            return [f'kind = "ignore"  # more than {_MOST_LISTED} different values']
        return ['kind = "category"', f"values = {_list(listed)}", "read_from_data = true"]

    def _range(self, name: str) -> str:
        low, high = self._bounds[name]
        if not low < high:
            low, high = (low, low + 1.0) if math.isfinite(low) else (0.0, 1.0)
        return f"[{_number(low)}, {_number(high)}]"


_HEAD = """\
# What is known about the columns without looking at the records.
# kind is number, category, ordinal, boolean or ignore; it was guessed from the first records:
# check it. Fill in bounds and values from what
# you know (a questionnaire, the law, physics), not from the table: numbers read off
# the records are not private. bounds = "private" spends a part of the budget on them.
# Values outside are moved to the nearest bound, or count as "other"."""

_HEAD_READ = """\
# NOT PRIVATE: bounds and values marked read_from_data were read off the records. The card and
# the report of every model say so. Replace what you know without the records, and take the
# mark away."""


def template(frame: pd.DataFrame, *, target: str | None = None) -> str:
    """Return a schema for a table in memory, from its names and types.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target : str, optional
        What to predict; the last column if not given.
    """
    found = Template([str(name) for name in frame.columns], Layout(), values=False)
    found.look(frame.set_axis(found.names, axis=1))
    return found.text(target)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: Sequence[Any]) -> str:
    return "[" + ", ".join(_quoted(str(value)) for value in values) + "]"


def _number(value: float) -> str:
    return (
        f"{value:.0f}"
        if float(value).is_integer() and abs(value) < 1e15
        else repr(float(value))
    )
