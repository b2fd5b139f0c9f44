"""The names of a table's columns, and what the file itself declares of them; no record."""

import json
import os
import re
from collections.abc import Sequence

from dpscd.errors import DataError
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.number_spellings import SPELLED, spelling_of
from dpscd.preprocessing.parsing import check_columns
from dpscd.preprocessing.reading import open_table
from dpscd.preprocessing.schema import Schema
from dpscd.preprocessing.separators import other_delimiter

__all__ = ["check_names", "declared_columns", "undeclared_dates"]

_JSON = re.compile(r"""[\[{]\s*([\[{"'].*)?""", re.DOTALL)


def declared_columns(path: str | os.PathLike[str], layout: Layout) -> dict[str, str]:
    """Return the columns of a file in order, each with the kind that the file declares.

    Kinds are 'number', 'boolean', 'category', 'date', or '' where nothing is known, as in every
    CSV file. The file may be compressed; ``-`` is CSV from standard input.

    Notes
    -----
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

    Notes
    -----
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
