"""A look at a table before a fit, for the eyes of who holds the records: NOT PRIVATE.

Nothing here is used by a fit, kept in a model or written to a file.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError, DataTypeError, LedgerError, ParameterError
from dpscd.preprocessing.column_features import declared_bounds, scaled_cells
from dpscd.preprocessing.declarations import Column, Layout, Target
from dpscd.preprocessing.schema import Schema, schema_of
from dpscd.preprocessing.spellings import DOTTED, SPELLED, THREE, spelling_of
from dpscd.privacy.ledger import Ledger
from dpscd.records import refusals
from dpscd.records.cells import MISSING, OTHER, Listed, codes, text_of
from dpscd.records.encoding import check_columns, parse_column, used_columns
from dpscd.records.files import CHUNK, names_of, open_table, paths_of
from dpscd.records.rows import as_frame, is_dask

NOT_PRIVATE = "NOT PRIVATE, DO NOT SHARE: this was read off the records, without noise."
REPAIRS = (
    "Bounds, values or missing_values that you change because of this are read off the records "
    "too: mark their column, or the target, with read_from_data = true. A separator or a "
    "spelling (rename) needs no mark."
)
ROWS = "No row is shortened: by the schema none is longer than 1, the row_bound of models."

_NEARLY_ALL = 0.9
_HALF = 0.5
_MANY = 0.05
_SOME = 0.005
_SPELLINGS = 5  # of one column that are named
_ANOTHER = "texts: another kind?"
# What people write for "no answer" where there is no better sign.
_NINES = (99.0, 999.0, 9999.0, 99999.0)
_SENTINELS = (-1.0, -9.0, *_NINES, *(-value for value in _NINES))
_THOUSANDS = 1000.0  # from here on a full stop may part thousands
_NEAR = 0.98  # of the way from the middle of the range to a bound: a hundredth of it is left


class ColumnLook(NamedTuple):
    """Shares of the cells of one column, between 0 and 1; they add up to 1."""

    column: str
    kind: str  # of the schema, or 'target' or 'person'
    inside: float  # within the bounds, or in the list
    outside: float  # beyond the bounds, or not in the list
    unread: float  # not a number where one should be; these count as missing
    missing: float  # empty, or spelt as a missing value


@dataclass(frozen=True, repr=False)
class Look:
    """What a look at a table found: NOT PRIVATE, for the eyes of who holds the records.

    Attributes
    ----------
    records : int
        Number of records.
    columns : tuple of ColumnLook
        Target, features, persons.
    hints : tuple of str
        Likely mistakes; they may hold values of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> from dpscd import look
    >>> table = pd.DataFrame({"age": [30, 40], "ill": ["no", "Yes"]})
    >>> target = {"column": "ill", "classes": ["no", "yes"]}
    >>> columns = {"age": {"kind": "number", "bounds": [0, 120]}}
    >>> found = look(table, {"target": target, "columns": columns})
    >>> found.records, len(found.hints)
    (2, 1)
    """

    records: int
    columns: tuple[ColumnLook, ...]
    hints: tuple[str, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """One row per column, with its shares: NOT PRIVATE."""
        return pd.DataFrame(self.columns)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The same as texts: NOT PRIVATE."""
        return [(own.column, own.kind, *map(percent, own[2:])) for own in self.columns]

    def __repr__(self) -> str:
        return f"Look({self.records:,} records, {len(self.hints)} hints, NOT PRIVATE)"

    def _repr_html_(self) -> str:
        from dpscd.rendering import html_table

        note = "\n".join([*(self.hints or ["No likely mistake was found."]), ROWS, REPAIRS])
        title = f"{self.records:,} records. {NOT_PRIVATE}"
        return html_table(title, None, ColumnLook._fields, self.rows, note)

    def __str__(self) -> str:
        shown = pd.DataFrame(self.rows, columns=ColumnLook._fields).to_string(index=False)
        hints = [f"* {hint}" for hint in self.hints] or ["No likely mistake was found."]
        head = f"{self.records:,} records"
        return "\n".join([NOT_PRIVATE, head, shown, *hints, ROWS, REPAIRS, NOT_PRIVATE])

    def __reduce__(self) -> NoReturn:
        raise ParameterError("what a look found is not private: it is not pickled.")


def look(
    table: Any, schema: Any, *, ledger: str | None = None, dataset: str | None = None
) -> Look:
    """Look at records before a fit: shares of usable cells and likely mistakes. NOT PRIVATE.

    Parameters
    ----------
    table : path, list of paths or DataFrame
        The records; not on Dask, whose records others may hold.
    schema : Schema, dict or path
        What is declared about the columns.
    ledger, dataset : str, optional
        File of the budget and the data set's name in it, which may forbid to look.

    Returns
    -------
    Look

    Guarantee: none. No fit uses the result. Bounds, values or missing_values that are changed
    because of it need the mark ``read_from_data = true``.

    Examples
    --------
    >>> import pandas as pd, dpscd
    >>> table = pd.DataFrame({"age": [30, 400], "ill": ["Yes", "no"]})
    >>> schema = {
    ...     "target": {"column": "ill", "classes": ["no", "yes"]},
    ...     "columns": {"age": {"kind": "number", "bounds": [0, 120]}},
    ... }
    >>> dpscd.look(table, schema).columns[0].inside
    0.5
    """
    if is_dask(table):
        raise DataTypeError(
            "look is for records that you hold yourself: it shows facts about them without "
            "noise, so it is off for Dask. Look at a file of your own."
        )
    _check_ledger(ledger, dataset)
    known = schema_of(schema)
    if known.patterns:
        known = known.resolved(names_of(table, known.layout))
    asked = [_asked(known.target), *map(_asked, known.features)]
    if (exposure := known.target.exposure) is not None:
        asked.append(_asked(Column(exposure, "number", known.target.exposure_bounds)))
    if known.person is not None:
        asked.append(_Asked(known.person, "person", f"column {known.person!r}", None))
    counts: list[Counter[Any]] = [Counter() for _ in asked]
    for frame in _frames(table, known):
        for own, seen in zip(asked, counts, strict=True):
            seen["records"] += len(frame)
            seen.update(_counted(own.column, frame[own.name], known.layout))
    records = counts[0]["records"]
    if not records:
        raise DataError(refusals.NO_RECORDS)
    columns, hints = [], []
    for own, seen in zip(asked, counts, strict=True):
        shares = (seen[what] / records for what in ColumnLook._fields[2:])
        columns.append(ColumnLook(own.name, own.kind, *shares))
        hints += [f"{own.title}: {hint}" for hint in _hints(own, seen)]
    return Look(records, tuple(columns), tuple(hints))


def _check_ledger(ledger: str | None, dataset: str | None) -> None:
    """Refuse where the budget of the data set forbids to look."""
    if ledger is None and dataset is None:
        return
    if ledger is None or dataset is None:
        raise ParameterError(
            "{ledger} and {dataset} must be given together.", ledger=ledger, dataset=dataset
        )
    if Ledger(ledger).show(dataset).forbids_look:
        raise LedgerError(
            f"the budget of dataset={dataset!r} was made with --forbid-look: its records are "
            "not looked at without noise. dpscd schema check needs no records."
        )


def _frames(table: Any, schema: Schema) -> Iterator[pd.DataFrame]:
    """Return the records in pieces."""
    if not (paths := paths_of(table)):
        frame = as_frame(table)
        if not isinstance(frame, pd.DataFrame):
            raise DataTypeError("look needs the path of a file, or a table such as pandas has.")
        names = [str(name) for name in frame.columns]
        check_columns(schema, names, target=True, person=True)
        yield frame.set_axis(names, axis=1)
        return
    wanted = used_columns(schema, target=True, person=True)
    for file in (open_table(path, schema.layout) for path in paths):
        check_columns(schema, file.names(), target=True, person=True)
        yield from file.frames(wanted, CHUNK)


def percent(share: float) -> str:
    """Return a share in percent; what is not quite none or all is not written as such."""
    if 0.0 < share < 0.0001:
        return "<0.01 %"
    if 0.9999 < share < 1.0:
        return ">99.99 %"
    return f"{100.0 * share:.4g} %"


class _Asked(NamedTuple):
    """A column that is looked at."""

    name: str
    kind: str
    title: str  # by which hints call it
    column: Column | Target | None  # None if it identifies persons


def _asked(column: Column | Target) -> _Asked:
    if isinstance(column, Column):
        return _Asked(column.name, column.kind, f"column {column.name!r}", column)
    title = f"target {column.name!r}"
    if column.classes:
        return _Asked(column.name, "target", title, column)
    absent = column.missing_values
    own = Column(column.name, "number", column.bounds, column.transform, missing_values=absent)
    return _Asked(column.name, "target", title, own)


def _counted(column: Column | Target | None, cells: pd.Series, layout: Layout) -> Counter[Any]:
    """Return how many cells are what: fields of :class:`ColumnLook`, and what hints ask for."""
    if column is None:
        absent = int(_absent(cells, layout.missing).sum())
        return Counter(missing=absent, inside=len(cells) - absent)
    is_number = isinstance(column, Column) and column.kind == "number"
    seen = (_numbers if is_number else _texts)(column, cells, layout)
    if own := column.missing_values:  # empty cells are not what these declare
        seen["declared"] = int((_absent(cells, own) & ~_absent(cells, ())).sum())
    return seen


def _numbers(column: Any, cells: pd.Series, layout: Layout) -> Counter[Any]:
    values = parse_column(column, cells, layout)
    none = np.isnan(values)
    known = values[~none]
    absent = none & _absent(cells, (*layout.missing, *column.missing_values))
    texts = [str(text_of(cell)) for cell in cells[none & ~absent]]
    seen: Counter[Any] = Counter(("spelled", spelling_of(text)) for text in texts)
    seen.update(missing=int(absent.sum()), unread=len(texts), inside=len(known))
    if column.private_bounds:
        return seen
    low, high = declared_bounds(column, {})
    largest = max(abs(low), abs(high))
    if largest >= _THOUSANDS:
        dotted = (x.strip() for x in cells[~none] if isinstance(x, str))
        kinds = (
            "three" if THREE.fullmatch(x) else "dotted" for x in dotted if DOTTED.fullmatch(x)
        )
        seen.update(kinds)
    beyond = known[(known < low) | (known > high)]
    scaled, _ = scaled_cells(column, known[(known > low) & (known < high)], {})
    seen.update(outside=len(beyond), inside=-len(beyond))
    seen.update(low=int((known <= low).sum()), high=int((known >= high).sum()))
    seen.update(near_low=int((scaled < -_NEAR).sum()), near_high=int((scaled > _NEAR).sum()))
    seen.update(("sentinel", value) for value in beyond[np.isin(beyond, _SENTINELS)].tolist())
    # The power of ten below their ratio to the larger bound; -1 if they are not larger.
    with np.errstate(all="ignore"):
        powers = np.clip(np.floor(np.log10(np.abs(beyond) / largest)), -1, 9)
    seen.update(("decade", int(power)) for power in powers)
    return seen


def _texts(column: Any, cells: pd.Series, layout: Layout) -> Counter[Any]:
    """Count the cells of a column whose values are listed, or of one of truth values."""
    found = parse_column(column, cells, layout)
    seen: Counter[Any] = Counter(
        missing=int((found == MISSING).sum()), inside=int((found >= 0).sum())
    )
    loose: dict[str, list[str]] = {}
    for text in column.classes if isinstance(column, Target) else column.values:
        loose.setdefault(_loose(text), []).append(text)
    for text, count in Counter(str(text_of(cell)) for cell in cells[found == OTHER]).items():
        seen["outside"] += count
        meant = loose.get(_loose(text), [])
        if _loose(text) and len(meant) == 1:
            seen["rename", text, meant[0]] += count
    return seen


def _absent(cells: pd.Series, missing: Sequence[str]) -> npt.NDArray[Any]:
    """Return which cells are empty, or spelt as the schema says of missing ones."""
    found: npt.NDArray[Any] = codes(cells, Listed({}, missing)) == MISSING
    return found


def _loose(text: str) -> str:
    """Return a text without case, blanks, underscores, quotes and full stops at its ends."""
    return re.sub(r"[\s_'\"]", "", text.casefold()).strip(".")


def _hints(own: _Asked, seen: Counter[Any]) -> Iterator[str]:
    """Yield the likely mistakes of one column, each a sentence."""
    records, known = seen["records"], seen["inside"] + seen["outside"]
    if isinstance(own.column, Column) and own.column.kind == "number":
        if seen["unread"] >= _SOME * records:
            share = percent(seen["unread"] / records)
            yield f"{share} of its cells are no numbers, most {_why_unread(seen)}"
        if seen["three"] >= _MANY * records and not seen["dotted"]:
            yield (
                f"{percent(seen['three'] / records)} of its cells have a full stop before "
                "three digits, and none before fewer or more. They are read as decimals: if it "
                "parts thousands, take it out."
            )
        if known:
            yield from _of_known(seen, records, known)
    elif own.column is not None:
        yield from _of_lists(own.kind, seen, records)
    missing = seen["missing"] - seen["declared"]
    if missing >= _HALF * records:
        yield f"{percent(missing / records)} of its cells are missing."


def _of_lists(kind: str, seen: Counter[Any], records: int) -> Iterator[str]:
    pairs = [key for key, _ in seen.most_common() if key[0] == "rename"]
    almost = sum(seen[pair] for pair in pairs)
    if pairs:
        rename = ", ".join(
            f"{json.dumps(a)} = {json.dumps(b)}" for _, a, b in pairs[:_SPELLINGS]
        )
        yield (
            f"{percent(almost / records)} of its cells are listed but for case, blanks or full "
            f"stops; rename = {{ {rename} }} takes them in."
        )
    left = seen["outside"] - almost
    if left >= _HALF * records:
        of_target = "none of the classes, and would count for nothing"
        what = {"target": of_target, "boolean": "no truth values"}.get(kind, "not listed")
        yield f"{percent(left / records)} of its cells are {what}: written otherwise?"


def _why_unread(seen: Counter[Any]) -> str:
    """Return how most cells are written that are no numbers."""
    spelled = {name: seen["spelled", name] for name in SPELLED}
    if spelled["comma"]:  # then those before three digits are decimal ones too
        spelled["comma"] += spelled.pop("commas")
    name = max(spelled, key=lambda own: spelled[own])
    return f"{SPELLED[name]}." if spelled[name] >= _HALF * seen["unread"] else _ANOTHER


def _of_known(seen: Counter[Any], records: int, known: int) -> Iterator[str]:
    sentinels = {value: seen["sentinel", value] for value in _SENTINELS}
    if seen["outside"] - sum(sentinels.values()) >= _MANY * known:
        power = max(range(-1, 10), key=lambda own: seen["decade", own])
        yield (
            f"{percent(seen['outside'] / known)} of its numbers are beyond the bounds, "
            f"most of them {_times(power)}: another unit, or not scaled?"
        )
        return
    for value, count in sentinels.items():
        if count >= _SOME * records:
            yield (
                f"{percent(count / records)} of its cells are {value:g}, beyond the "
                f"bounds; if that means no answer, missing_values = [{value:g}] says so."
            )
    for side, end in (("lowest", "low"), ("highest", "high")):
        at, near = seen[end], seen[f"near_{end}"]
        away = known - at
        if at >= _NEARLY_ALL * known:
            yield (
                f"{percent(at / known)} of its numbers are at the {side} bound: another "
                "unit, unless the column is like that."
            )
        if away and near >= _NEARLY_ALL * away:
            yield (
                f"{percent(near / away)} of its numbers that are not at the {side} bound are "
                "in the hundredth of the range next to it: bounds too wide, or another unit?"
            )


def _times(power: int) -> str:
    """Return in words how large numbers are, given the power of ten below, over the bound."""
    if power < 0:
        return "not larger in size than the bounds"
    if power == 0:
        return "less than 10 times as large as a bound"
    return f"{10**power:,} times as large as a bound, or more"
