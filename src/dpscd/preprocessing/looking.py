"""A look at a table before a fit, for the eyes of who holds the records: NOT PRIVATE.

Nothing here is used by a fit, kept in a model or written to a file.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import pandas as pd

from dpscd.errors import DataError, DataTypeError, LedgerError, ParameterError
from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.schema import Schema, schema_of
from dpscd.preprocessing.tallies import (
    SPELLED,
    ListTally,
    NumberTally,
    PersonTally,
    Tally,
    tally_of,
)
from dpscd.privacy.ledger import Ledger
from dpscd.records import refusals
from dpscd.records.encoding import check_columns, used_columns
from dpscd.records.files import CHUNK, names_of, open_table
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
        The target first, then the features, then who persons are.
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
        # Files, caches and other processes are no eyes of the owner.
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
        It prints as a table between two warnings.

    Guarantee: none. The result is computed from the records without noise, and no fit uses it.
    Whoever changes bounds, values or missing_values because of it must mark the column with
    ``read_from_data = true``; a separator or a spelling needs no mark.

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
    if known.has_patterns:
        known = known.resolved(names_of(table, known.layout))
    tallies = [tally_of(known.target), *map(tally_of, known.features)]
    if (exposure := known.target.exposure) is not None:
        tallies.append(tally_of(Column(exposure, "number", known.target.exposure_bounds)))
    if known.person is not None:
        tallies.append(PersonTally(known.person, "person", f"column {known.person!r}"))
    for frame in _frames(table, known):
        for tally in tallies:
            tally.add(frame[tally.name], known.layout)
    records = tallies[0].records
    if not records:
        raise DataError(refusals.NO_RECORDS)
    columns = tuple(
        ColumnLook(
            tally.name,
            tally.kind,
            *(x / records for x in (tally.inside, tally.outside, tally.unread, tally.missing)),
        )
        for tally in tallies
    )
    return Look(records, columns, tuple(hint for tally in tallies for hint in _hints(tally)))


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
    paths = table if isinstance(table, list) else [table]
    if not (paths and all(isinstance(path, str | os.PathLike) for path in paths)):
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


def _hints(tally: Tally) -> list[str]:
    """Return the likely mistakes of one column, each a sentence."""
    found: list[str] = []
    if isinstance(tally, ListTally):
        found += _of_lists(tally)
    elif isinstance(tally, NumberTally):
        found += _of_numbers(tally)
    missing = tally.missing - tally.declared
    if missing >= _HALF * tally.records:
        found.append(f"{percent(missing / tally.records)} of its cells are missing.")
    return [f"{tally.title}: {hint}" for hint in found]


def _of_lists(tally: ListTally) -> Iterator[str]:
    if tally.spellings:
        share = sum(tally.spellings.values()) / tally.records
        pairs = [pair for pair, _ in tally.spellings.most_common(_SPELLINGS)]
        rename = ", ".join(f"{json.dumps(a)} = {json.dumps(b)}" for a, b in pairs)
        yield (
            f"{percent(share)} of its cells are listed but for case, blanks or full stops; "
            f"rename = {{ {rename} }} takes them in."
        )
    left = tally.outside - sum(tally.spellings.values())
    if left >= _HALF * tally.records:
        what = (
            "none of the classes, and would count for nothing"
            if tally.kind == "target"
            else ("no truth values" if tally.kind == "boolean" else "not listed")
        )
        yield f"{percent(left / tally.records)} of its cells are {what}: written otherwise?"


def _of_numbers(tally: NumberTally) -> Iterator[str]:
    if tally.unread >= _SOME * tally.records:
        why = _why_unread(tally)
        share = percent(tally.unread / tally.records)
        yield f"{share} of its cells are no numbers, most {why}"
    if tally.three >= _MANY * tally.records and not tally.dotted:
        yield (
            f"{percent(tally.three / tally.records)} of its cells have a full stop before "
            "three digits, and none before fewer or more. They are read as decimals: if it "
            "parts thousands, take it out."
        )
    if tally.known:
        yield from _of_known(tally)


def _why_unread(tally: NumberTally) -> str:
    """Return how most cells are written that are no numbers."""
    spelled = tally.spelled.copy()
    if spelled["comma"]:  # then those before three digits are decimal ones too
        spelled["comma"] += spelled.pop("commas", 0)
    name, count = max(spelled.items(), key=lambda item: item[1], default=("", 0))
    return f"{SPELLED[name]}." if count >= _HALF * tally.unread else "texts: another kind?"


def _of_known(tally: NumberTally) -> Iterator[str]:
    outside = tally.outside - sum(tally.sentinels.values())
    if outside >= _MANY * tally.known:
        power = tally.decades.most_common(1)[0][0]
        yield (
            f"{percent(tally.outside / tally.known)} of its numbers are beyond the bounds, "
            f"most of them {_times(power)}: another unit, or not scaled?"
        )
        return
    for value, count in tally.sentinels.items():
        if count >= _SOME * tally.records:
            yield (
                f"{percent(count / tally.records)} of its cells are {value:g}, beyond the "
                f"bounds; if that means no answer, missing_values = [{value:g}] says so."
            )
    for side, at, near in (
        ("lowest", tally.low, tally.near_low),
        ("highest", tally.high, tally.near_high),
    ):
        away = tally.known - at
        if at >= _NEARLY_ALL * tally.known:
            yield (
                f"{percent(at / tally.known)} of its numbers are at the {side} bound: another "
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
