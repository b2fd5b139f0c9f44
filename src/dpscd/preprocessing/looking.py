"""A look at a table before a fit, for the eyes of who holds the records: NOT PRIVATE.

Nothing here is used by a fit, kept in a model or written to a file.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import pandas as pd

from dpscd.errors import DataError, DataTypeError, LedgerError, ParameterError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.containers import as_frame, is_dask
from dpscd.preprocessing.look_hints import hints_of, percent
from dpscd.preprocessing.parsing import check_columns, used_columns
from dpscd.preprocessing.reading import CHUNK, open_table
from dpscd.preprocessing.schema import Schema, schema_of
from dpscd.preprocessing.tallies import PersonTally, Tally, tally_of
from dpscd.privacy.ledger import Ledger

__all__ = ["NOT_PRIVATE", "REPAIRS", "ROWS", "ColumnLook", "Look", "look"]

NOT_PRIVATE = "NOT PRIVATE, DO NOT SHARE: this was read off the records, without noise."
REPAIRS = (
    "Bounds, values or missing_values that you change because of this are read off the records "
    "too: mark their column, or the target, with read_from_data = true. A separator or a "
    "spelling (rename) needs no mark."
)
ROWS = "No row is shortened: by the schema none is longer than 1, the row_bound of models."


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

    Notes
    -----
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
    tallies = _tallies(known)
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
    return Look(records, columns, tuple(hint for tally in tallies for hint in hints_of(tally)))


def _check_ledger(ledger: str | None, dataset: str | None) -> None:
    """Refuse where the budget of the data set forbids to look."""
    if ledger is None and dataset is None:
        return
    if ledger is None or dataset is None:
        raise ParameterError(
            f"ledger={ledger!r} and dataset={dataset!r} must be given together."
        )
    if Ledger(ledger).show(dataset).forbids_look:
        raise LedgerError(
            f"the budget of dataset={dataset!r} was made with --forbid-look: its records are "
            "not looked at without noise. dpscd schema check needs no records."
        )


def _tallies(schema: Schema) -> list[Tally]:
    found = [tally_of(schema.target), *map(tally_of, schema.features)]
    if schema.person is not None:
        found.append(PersonTally(schema.person, "person", f"column {schema.person!r}"))
    return found


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
