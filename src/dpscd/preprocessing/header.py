"""The names of a table's columns, and what the file itself declares of them; no record."""

import os

from dpscd.errors import DataError
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.reading import open_table

__all__ = ["declared_columns"]


def declared_columns(path: str | os.PathLike[str], layout: Layout) -> dict[str, str]:
    """Return the columns of a file, each with its kind as far as the file declares it.

    Parameters
    ----------
    path : path
        The file, ``-`` for CSV from standard input; may be compressed.
    layout : Layout
        How it is written.

    Returns
    -------
    dict
        Names in order, with 'number', 'boolean', 'category', or '' where nothing is known,
        as in every CSV file.

    Notes
    -----
    Guarantee: the result is a function of `layout` and of the file's line of names, of a
    Parquet file its schema; no record has a part in it.
    """
    table = open_table(path, layout)
    names = table.names()
    if not names or len(set(names)) != len(names):
        raise DataError("the table must have columns, and no two of one name.")
    return dict(zip(names, table.kinds(), strict=True))
