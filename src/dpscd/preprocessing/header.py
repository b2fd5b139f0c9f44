"""The names of a table's columns, and what the file itself declares of them; no record.

Of a CSV file the first line alone is decoded: what follows may be anything and changes
nothing. Of a Parquet file its schema is read, which every such file carries.
"""

import bz2
import csv
import gzip
import lzma
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from dpscd.errors import DataError
from dpscd.preprocessing.schema import Layout

__all__ = ["declared_columns"]

_LONGEST = 2**24  # bytes of a line of names; more is no table
_PARQUET = (".parquet", ".pq")


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
    file = Path(path)
    if str(path) != "-":
        if file.is_dir():
            raise DataError(f"{file.name} is a folder; give its files.")
        if not file.exists():
            raise DataError(f"there is no file {str(path)!r}.")
    if file.suffix.lower() in _PARQUET:
        return _of_parquet(file)
    if not layout.header:
        return _unique(list(layout.names))
    name = "standard input" if str(path) == "-" else file.name
    problem = f"{name} cannot be read: is it cut, or compressed in another way?"
    try:
        with _opened(path) as stream:
            names = _first_line(stream, name, layout)
    except (EOFError, lzma.LZMAError, zipfile.BadZipFile):
        names = None
    except OSError as error:
        if error.errno is not None:
            raise
        names = None
    if names is None:
        raise DataError(problem)
    return _unique(names)


def _unique(names: list[str]) -> dict[str, str]:
    if not names or len(set(names)) != len(names):
        raise DataError("the table must have columns, and no two of one name.")
    return dict.fromkeys(names, "")


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file, unpacked as its name says."""
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    packed: dict[str, Callable[[Any, str], Any]] = {
        ".gz": gzip.open,
        ".bz2": bz2.open,
        ".xz": lzma.open,
        ".zst": _zstandard,
    }
    suffix = Path(path).suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
            if len(members) != 1:
                raise DataError(f"{Path(path).name} must hold one file.")
            with archive.open(members[0]) as stream:
                yield stream
        return
    with packed.get(suffix, open)(path, "rb") as stream:
        yield stream


def _zstandard(path: Any, mode: str) -> Any:
    try:
        library: Any = import_module("zstandard")
    except ImportError:
        raise DataError("files that end in .zst need the package zstandard.") from None
    return library.open(path, mode)


def _first_line(stream: IO[bytes], name: str, layout: Layout) -> list[str]:
    """Return the cells of the first line that is neither empty nor a comment."""
    for place, line in enumerate(_lines(stream, name)):
        text = _text(line, "utf-8-sig" if place == 0 else "utf-8")
        if text is None:
            raise DataError(f"{name}: its line of names is not a text in UTF-8.")
        text = _without_comment(text, layout.comment)
        if not text.strip():
            continue
        cells = _cells(text, layout.delimiter)
        if cells is None:
            raise DataError(f"{name}: a quote in its line of names is not closed.")
        return cells
    raise DataError(f"{name} is empty.")


def _lines(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield lines, whatever ends them, and read no further than asked to."""
    while line := stream.readline(_LONGEST):
        first, *others = line.splitlines()
        if len(first) == _LONGEST:
            raise DataError(f"{name} is not a table: its first line does not end.")
        yield first
        yield from others


def _text(line: bytes, encoding: str) -> str | None:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        return None


def _without_comment(text: str, sign: str | None) -> str:
    """Return a line up to the sign of a comment that is not inside quotes."""
    quoted = False
    for place, letter in enumerate(text):
        quoted ^= letter == '"'
        if letter == sign and not quoted:
            return text[:place]
    return text


def _cells(text: str, delimiter: str) -> list[str] | None:
    """Return the cells of a line; None if a quote is not closed in it, or a cell is endless."""
    rows = csv.reader([text, ""], delimiter=delimiter, skipinitialspace=True)
    try:
        cells = [cell.strip() for cell in next(rows)]
    except csv.Error:
        return None
    return cells if rows.line_num == 1 else None


def _of_parquet(file: Path) -> dict[str, str]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_schema
    except ImportError:
        raise DataError(
            "Parquet files need pyarrow; install it with: pip install 'dpscd[parquet]'"
        ) from None
    try:
        found = read_schema(file)
    except ArrowException:
        found = None
    if found is None:
        raise DataError(f"{file.name} is not a Parquet file, or damaged.")
    names = _unique([str(name) for name in found.names])
    return {name: _kind(found.field(place).type) for place, name in enumerate(names)}


def _kind(declared: Any) -> str:
    """Return the kind of a column by the type that its file declares."""
    from pyarrow import types

    if types.is_boolean(declared):
        return "boolean"
    if types.is_integer(declared) or types.is_floating(declared) or types.is_decimal(declared):
        return "number"
    text = types.is_string(declared) or types.is_large_string(declared)
    return "category" if text or types.is_dictionary(declared) else ""
