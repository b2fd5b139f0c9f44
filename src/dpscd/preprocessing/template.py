"""A schema to begin with: from declared names alone, or, if asked to, from the records.

Also what a file itself declares of its columns, without a record.
"""

import json
import math
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpscd.errors import DataError
from dpscd.preprocessing.declarations import Column, Layout
from dpscd.preprocessing.schema import Schema
from dpscd.preprocessing.schema_keys import KEYS, TABLE_KEYS, TARGET
from dpscd.preprocessing.spellings import SPELLED, spelling_of
from dpscd.records.encoding import check_columns, other_delimiter, parse_column
from dpscd.records.files import open_table

_MOST_LISTED = 100  # different values up to which a column read from data is a category
_JSON = re.compile(r"""[\[{]\s*([\[{"'].*)?""", re.DOTALL)


def declared_columns(path: str | os.PathLike[str], layout: Layout) -> dict[str, str]:
    """Return the columns of a file in order, each with its declared kind; '' if not known.

    Guarantee: the result is a function of `layout` and of the file's line of names, of a
    Parquet file its schema; no record has a part in it.
    """
    table = open_table(path, layout)
    names = table.names()
    check_names(names, layout)
    return dict(zip(names, table.kinds(), strict=True))


def check_names(names: Sequence[str], layout: Layout) -> None:
    """Raise DataError if a line of names is none, and say what it probably is."""
    if names and _JSON.fullmatch(names[0]):
        raise DataError("the file is JSON, not a table: save it as CSV or Parquet first.")
    other = other_delimiter(names, layout.delimiter)
    if other is not None:
        sign = json.dumps(other)
        raise DataError(f"all names are in one column: is --delimiter {sign} missing?")
    odd = [not name or _is_number(name) or spelling_of(name) == "date" for name in names]
    if len(names) > 1 and not names[0] and not any(odd[1:]):
        raise DataError(
            "the first column has no name, as pandas writes its index: write the file without "
            "it, to_csv(path, index=False)."
        )
    if any(odd):
        raise DataError(
            "the first line does not hold names of columns, some are empty, numbers or dates; "
            "for a file without header give --names."
        )
    if not names or len(set(names)) != len(names):
        raise DataError(
            "the table must have columns, and no two of one name; for a file without header "
            "give --names."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def undeclared_dates(schema: Schema, path: str | os.PathLike[str]) -> list[str]:
    """Return a sentence for each number of a schema that a file declares as dates.

    Guarantee: as of :func:`declared_columns`.
    """
    table = open_table(path, schema.layout)
    names = table.names()
    check_columns(schema, names, target=True, person=True)
    dates = {name for name, kind in zip(names, table.kinds(), strict=True) if kind == "date"}
    target = schema.target
    numbers = [] if target.classes else [(f"target {target.name!r}", target.name)]
    numbers += [
        (f"column {own.name!r}", own.name) for own in schema.features if own.kind == "number"
    ]
    return [
        f"{title} is a number in the schema; the file has {SPELLED['date']}. As it is all of "
        "it counts as missing."
        for title, name in numbers
        if name in dates
    ]


def template(
    columns: Mapping[str, str],
    layout: Layout,
    *,
    target: str | None = None,
    person: str | None = None,
) -> str:
    """Return a schema to fill in, as TOML; what a person has to fill in is marked.

    `columns` has declared kinds; the target is the last one if not given.

    Guarantee: no record has a part in it, for none is given.
    """
    check_names(list(columns), layout)
    own = ["classes = []  # FILL IN: its labels, or bounds = [lowest, highest] instead"]
    facts = {name: (own, _LINES[kind]) for name, kind in columns.items()}
    return f"{document('names', layout, facts, target, person)}\n{other_keys()}"


_LINES = {
    "integer": [
        'kind = "number"',
        "bounds = []  # FILL IN: [lowest, highest]",
        "integer = true  # by the file's type; codes are no counts: make a category of them",
    ],
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


def other_keys() -> str:
    """Return the keys that a template leaves out, as comments at its end."""
    parts = {"[table]": sorted(TABLE_KEYS), "[target]": ["column", *TARGET]}
    parts |= {f"kind {kind}": ["columns", *keys] for kind, keys in KEYS.items()}
    told = [
        textwrap.fill(f"# {part}: {', '.join(keys)}", 92, subsequent_indent="#     ")
        for part, keys in parts.items()
    ]
    head = (
        "# All keys, of which most are optional; docs/reference/schema.md says what each does:"
    )
    return "\n".join([head, *told, ""])


class ReadTemplate:
    """Reads kinds, bounds and values off the records, piece by piece: NOT PRIVATE."""

    def __init__(self, names: Sequence[str], layout: Layout) -> None:
        check_names(names, layout)
        self._layout = layout
        self._columns = {name: _Seen() for name in names}

    def look(self, frame: pd.DataFrame) -> None:
        """Note the values of more records."""
        for name, seen in self._columns.items():
            seen.note(frame[name], self._layout)

    def text(self, target: str | None, person: str | None = None) -> str:
        """Return the schema as TOML, every column marked as read from data."""
        facts = {
            name: (own.as_target(), own.as_column()) for name, own in self._columns.items()
        }
        return document("records", self._layout, facts, target, person)


class _Seen:
    """What was seen of one column."""

    def __init__(self) -> None:
        self.numeric = True
        self.low, self.high = math.inf, -math.inf
        self.values: dict[str, None] = {}  # in order; no more are noted where there are many

    def note(self, cells: pd.Series, layout: Layout) -> None:
        numbers = parse_column(Column("", "number"), cells, layout)
        texts = cells.dropna().astype(str).str.strip()
        known = texts[~texts.isin({"", *layout.missing})]
        self.numeric &= bool(np.isnan(numbers).sum() <= len(cells) - len(known))
        finite = numbers[np.isfinite(numbers)]
        self.low = float(np.min(finite, initial=self.low))
        self.high = float(np.max(finite, initial=self.high))
        if len(self.values) <= _MOST_LISTED:
            self.values.update(dict.fromkeys(sorted(set(known))))

    def as_target(self) -> list[str]:
        number = self.numeric and len(self.values) > 2
        facts = self._bounds() if number else f"classes = {plain_toml(list(self.values))}"
        return [facts, _READ]

    def as_column(self) -> list[str]:
        # The kind was guessed from the records too, also that of what is left out.
        if not self.values:
            return ['kind = "ignore"  # no values were seen', _READ]
        if self.numeric:
            return ['kind = "number"', self._bounds(), _READ]
        if len(self.values) > _MOST_LISTED:
            return [f'kind = "ignore"  # more than {_MOST_LISTED} different values', _READ]
        return ['kind = "category"', f"values = {plain_toml(list(self.values))}", _READ]

    def _bounds(self) -> str:
        low, high = self.low, self.high
        if not low < high:
            low, high = (low, low + 1.0) if math.isfinite(low) else (0.0, 1.0)
        return f"bounds = [{_number(low)}, {_number(high)}]"


_READ = "read_from_data = true"

# What pandas calls an index without a name, in CSV and in Parquet.
_INDEX = re.compile(r"Unnamed: 0(\.[0-9]+)?|__index_level_[0-9]+__")
_OF_INDEX = ['kind = "ignore"  # by its name the index of a table of pandas']

_WORDS = {
    "account", "citizen", "client", "customer", "employee", "family", "household", "id",
    "individual", "member", "mrn", "participant", "passport", "patient", "person", "pid",
    "respondent", "ssn", "student", "subject", "subscriber", "uid", "user", "uuid",
}  # fmt: skip
# Of "PatientID", "patientId" and "patient_id" these are patient and id.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def document(
    source: str,
    layout: Layout,
    facts: Mapping[str, tuple[list[str], list[str]]],
    target: str | None,
    person: str | None,
    labels: Mapping[str, str] | None = None,
    unread: Sequence[str] = (),
) -> str:
    """Return a schema made of 'names', 'records' or a 'codebook'.

    `facts` has the lines of each name, as the target and as a feature. With `labels`, which are
    written as comments, features that are alike share a part. Columns that are `unread` may
    identify persons.
    """
    from dpscd.rendering import rendered

    if target is not None and target not in facts:
        raise DataError(f"the table has no column {target!r} to be the target.")
    if person is not None and person not in facts:
        raise DataError(f"the table has no column {person!r} to identify persons.")
    if target is None:
        names = list(facts)[::-1]
        target = next((name for name in names if not _INDEX.fullmatch(name)), names[0])
    if person == target:
        raise DataError(f"column {target!r} is the target: it cannot identify persons as well.")
    features = [name for name in facts if name not in (target, person)]
    alike: dict[Any, list[str]] = {}
    for name in features:
        alike.setdefault(name if labels is None else tuple(facts[name][1]), []).append(name)
    parts = []
    for names in alike.values():
        first, more = names[0], len(names) - 1
        told = [f"{name}: {labels[name]}" for name in names if labels and name in labels]
        title = _key(f"{first} and {more} more" if more else first)
        several = [f"columns = {plain_toml(names)}"] if more else []
        lines = _OF_INDEX if _INDEX.fullmatch(first) else facts[first][1]
        parts.append([*map(_comment, told), f"[columns.{title}]", *several, *lines])
    changed = {key: own for key, own in vars(layout).items() if own != getattr(Layout, key)}
    table = changed if person is None else {**changed, "person": person}
    return rendered(
        "schema.toml.j2",
        source=source,
        left_out=[_comment(f"Not in the codebook, so not read: {name}") for name in unread],
        table=[f"{key} = {plain_toml(own)}" for key, own in table.items()],
        named=person is not None,
        identifying=[plain_toml(x) for x in (*features, *unread) if may_identify(x)],
        target=[f"column = {plain_toml(target)}", *facts[target][0]],
        parts=parts,
    )


def may_identify(name: str) -> bool:
    """Return whether a column's name looks as if its values identified persons."""
    return any(part.lower() in _WORDS for part in _PART.findall(name))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else plain_toml(name)


def _comment(text: str) -> str:
    """Return a text as a line of TOML that says nothing to a program."""
    return "# " + "".join(sign if sign.isprintable() else " " for sign in text)


def plain_toml(value: Any) -> str:
    """Return a text, a truth value, a number or a list of such as TOML."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: float) -> str:
    whole = float(value).is_integer() and abs(value) < 1e15
    return f"{value:.0f}" if whole else repr(float(value))
