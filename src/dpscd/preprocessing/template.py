"""A schema to begin with: from declared names alone, or, if asked to, from the records."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpscd.errors import DataError
from dpscd.preprocessing.declarations import Column, Layout
from dpscd.preprocessing.header import check_names
from dpscd.preprocessing.parsing import parse_column
from dpscd.preprocessing.person_question import may_identify, question

__all__ = ["MORE_KEYS", "ReadTemplate", "template"]

_MOST_LISTED = 100  # different values up to which a column read from data is a category


def template(
    columns: Mapping[str, str],
    layout: Layout,
    *,
    target: str | None = None,
    person: str | None = None,
) -> str:
    """Return a schema to fill in, as TOML; what a person has to fill in is marked.

    `columns` has the kind that the file declares for each name, or ''. The target is the last
    column if not given; the column of persons is asked for if not given.

    Notes
    -----
    Guarantee: no record has a part in it, for none is given.
    """
    names = list(columns)
    check_names(names, layout)
    own = ["classes = []  # FILL IN: its labels, or bounds = [lowest, highest] instead"]
    asked = _Asked(names, layout, target, person)
    text = _document(_HEAD, asked, lambda _: own, lambda x: _LINES[columns[x]])
    return f"{text}\n{MORE_KEYS}"


_LINES = {
    "number": ['kind = "number"', "bounds = []  # FILL IN: [lowest, highest]"],
    "category": ['kind = "category"', "values = []  # FILL IN: those it can have"],
    "boolean": ['kind = "boolean"'],
    "date": ['kind = ""  # FILL IN: ignore; a date is no number, make days or months of it'],
    "": [
        'kind = ""  # FILL IN: number, category, ordinal, boolean or ignore',
        "# bounds = []",
        "# values = []",
    ],
}


MORE_KEYS = """\
# Other keys, all optional; docs/reference/schema.md says more of each.
#
# [table]
# missing = ["?", "NA"]          # how missing cells are written, besides empty ones
# delimiter = ";"                # between cells; header, names, comment, multiline: the file
# rows = "normalise"             # rows by their own length, not by the number of columns
# pairs = [["age", "sex"]]       # two columns whose effect together is learnt
#
# [target]
# rename = { "Y" = "yes" }       # other spellings of classes
# missing_values = [999]         # labels that are none; such records contribute nothing
# transform = "log1p"            # with bounds from 0 on: predictions are near medians then
#
# of a number:
# transform = "log1p"            # ratios matter, not differences; for bounds from 0 on
# shape = "smooth"               # or "line", "steps", "auto"; bins = 8 or knots = [18, 65]
# monotone = "up"                # its effect may only rise, or "down"
#
# of a category or ordinal:
# rename = { "m" = "male" }      # other spellings of values
# complete = true                # of a category: no other values exist
# group = { prefix = 3 }         # of a category: compared by its first 3 signs
#
# of any column:
# missing_values = [999, "?"]    # cells that count as missing here
# missing = "column"             # what stands in for them: a feature of its own, or a value
# read_from_data = true          # bounds or values were read off the records; models say so
"""
"""Keys that a template names besides those to fill in, as comments at its end."""


class ReadTemplate:
    """Reads kinds, bounds and values off the records, piece by piece: NOT PRIVATE."""

    def __init__(self, names: Sequence[str], layout: Layout) -> None:
        check_names(names, layout)
        self.names = list(names)
        self.layout = layout
        self.numeric = dict.fromkeys(self.names, True)
        self.seen = dict.fromkeys(self.names, False)
        self._bounds = dict.fromkeys(self.names, (math.inf, -math.inf))
        self._listed: dict[str, dict[str, None]] = {name: {} for name in self.names}

    def look(self, frame: pd.DataFrame) -> None:
        """Note the values of more records."""
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
            finite = numbers[np.isfinite(numbers)]
            if len(finite):
                low, high = self._bounds[name]
                self._bounds[name] = (min(low, finite.min()), max(high, finite.max()))
            if len(self._listed[name]) <= _MOST_LISTED:
                self._listed[name].update(dict.fromkeys(sorted(set(known))))

    def text(self, target: str | None, person: str | None = None) -> str:
        """Return the schema as TOML, every column marked as read from data."""
        asked = _Asked(self.names, self.layout, target, person)
        return _document(_HEAD_READ, asked, self._target, self._column)

    def _target(self, name: str) -> list[str]:
        listed = list(self._listed[name])
        number = self.numeric[name] and len(listed) > 2
        facts = f"bounds = {self._range(name)}" if number else f"classes = {_list(listed)}"
        return [facts, _READ]

    def _column(self, name: str) -> list[str]:
        listed = list(self._listed[name])
        if not self.seen[name]:
            lines = ['kind = "ignore"  # no values were seen']
        elif self.numeric[name]:
            lines = ['kind = "number"', f"bounds = {self._range(name)}"]
        elif len(listed) > _MOST_LISTED:
            lines = [f'kind = "ignore"  # more than {_MOST_LISTED} different values']
        else:
            lines = ['kind = "category"', f"values = {_list(listed)}"]
        # The kind was guessed from the records too, also that of what is left out.
        return [*lines, _READ]

    def _range(self, name: str) -> str:
        low, high = self._bounds[name]
        if not low < high:
            low, high = (low, low + 1.0) if math.isfinite(low) else (0.0, 1.0)
        return f"[{_number(low)}, {_number(high)}]"


_READ = "read_from_data = true"

# What pandas calls an index without a name, in CSV and in Parquet.
_INDEX = re.compile(r"Unnamed: 0(\.[0-9]+)?|__index_level_[0-9]+__")
_OF_INDEX = ['kind = "ignore"  # by its name the index of a table of pandas']

_HEAD = """\
# What is known about the columns without looking at the records; none was read for this.
# kind is number, category, ordinal, boolean or ignore. A number needs bounds, [lowest,
# highest]; a category and an ordinal need values, ["one", "another"]: take the # away there.
# Write what you know (a questionnaire, the law, physics), not what the table shows: numbers
# read off the records are not private. bounds = "private" spends a part of the budget on them.
# Values outside are moved to the nearest bound, or count as "other"."""

_HEAD_READ = """\
# NOT PRIVATE: what is marked read_from_data, kinds too, was read off the records. The card and
# the report of every model say so. Replace what you know without the records, and take the
# mark away."""


class _Asked(NamedTuple):
    """What a schema is to be of: the target is the last column if it is not named."""

    names: Sequence[str]
    layout: Layout
    target: str | None
    person: str | None


def _document(
    head: str,
    asked: _Asked,
    of_target: Callable[[str], list[str]],
    of_column: Callable[[str], list[str]],
) -> str:
    names, layout, target, person = asked
    if target is not None and target not in names:
        raise DataError(f"the table has no column {target!r} to be the target.")
    if person is not None and person not in names:
        raise DataError(f"the table has no column {person!r} to identify persons.")
    if target is None:
        target = next(
            (name for name in reversed(names) if not _INDEX.fullmatch(name)), names[-1]
        )
    if person == target:
        raise DataError(f"column {target!r} is the target: it cannot identify persons as well.")
    features = [name for name in names if name not in (target, person)]
    parts = [head, "", "[table]", *_table(layout), *_person(person, features)]
    parts += ["", "[target]", f"column = {_quoted(target)}", *of_target(target)]
    for name in features:
        lines = _OF_INDEX if _INDEX.fullmatch(name) else of_column(name)
        parts += ["", f"[columns.{_key(name)}]", *lines]
    return "\n".join(parts) + "\n"


def _person(person: str | None, others: Sequence[str]) -> list[str]:
    if person is not None:
        return [f"person = {_quoted(person)}"]
    return question([_quoted(name) for name in others if may_identify(name)])


def _table(layout: Layout) -> list[str]:
    usual = Layout()
    lines = []
    if not layout.header:
        lines += ["header = false", f"names = {_list(layout.names)}"]
    if layout.delimiter != usual.delimiter:
        lines.append(f"delimiter = {_quoted(layout.delimiter)}")
    if layout.comment is not None:
        lines.append(f"comment = {_quoted(layout.comment)}")
    return lines


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
