"""Tables in files: CSV and Parquet, piece by piece, every cell as it is written.

Messages say what is wrong with the file, never what is in it.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pandas as pd

from dpscd.errors import DataError, SchemaError
from dpscd.preprocessing.parsing import Parsed, parse
from dpscd.preprocessing.schema import Layout, Schema

__all__ = ["STANDARD_INPUT", "read_frames", "read_parsed"]

STANDARD_INPUT = "-"
CHUNK = 100_000  # records at a time

_PARQUET = (".parquet", ".pq")
_NO_PARQUET = "Parquet files need pyarrow; install it with: pip install 'dpscd[parquet]'"


def read_parsed(
    paths: Sequence[str | os.PathLike[str]],
    schema: Schema,
    *,
    target: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Parsed:
    """Return the numbers in one or several files of one schema.

    Parameters
    ----------
    paths : list of paths
        The files, ``-`` for standard input.
    schema : Schema
        What their columns mean.
    target : bool, default=True
        Whether the target is wanted.
    progress : callable, optional
        Told how many records were read since the last time.
    """
    wanted = [column.name for column in schema.features]
    wanted += [schema.target.name] if target else []
    parts = []
    for path in paths:
        for frame in read_frames(path, schema.layout, wanted):
            parts.append(parse(schema, frame, target=target))
            if progress:
                progress(len(frame))
    found = Parsed.joined(parts)
    if not len(found):
        raise DataError(f"{_name(paths[0])} has no records.")
    return found


def read_frames(
    path: str | os.PathLike[str],
    layout: Layout,
    wanted: Sequence[str] | None = None,
    chunk: int = CHUNK,
) -> Iterator[pd.DataFrame]:
    """Return the records of a file in pieces, in order; at least one piece.

    Parameters
    ----------
    path : path
        The file, ``-`` for CSV from standard input; may be compressed (gz, bz2, xz, zst,
        zip with one member).
    layout : Layout
        How it is written; of a Parquet file only what counts as missing.
    wanted : list of str, optional
        Columns to keep; None keeps all. Those that the file has not are left out.
    chunk : int
        Records in a piece.
    """
    if str(path) == STANDARD_INPUT:
        text = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
        return _csv(text, "standard input", layout, wanted, chunk)
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{file.name} is a folder; give its files.")
    if not file.exists():
        raise DataError(f"there is no file {str(path)!r}.")
    if file.stat().st_size == 0:
        raise DataError(f"{file.name} is empty.")
    if file.suffix.lower() in _PARQUET:
        return _parquet(file, wanted, chunk)
    return _csv(file, file.name, layout, wanted, chunk)


def _csv(
    source: Path | IO[str],
    name: str,
    layout: Layout,
    wanted: Sequence[str] | None,
    chunk: int,
) -> Iterator[pd.DataFrame]:
    pieces = _raw_csv(source, name, layout, chunk)
    first = next(pieces, None)
    if first is None:
        raise DataError(f"{name} is empty.")
    if layout.header:
        names = [str(cell).strip() for cell in first.iloc[0]]
        first = first.iloc[1:]
    else:
        names = list(layout.names)
        if first.shape[1] != len(names):
            raise SchemaError(
                f"{name} has {first.shape[1]} columns, but names in [table] has {len(names)}; "
                "is the delimiter another one?"
            )
    kept = [place for place, column in enumerate(names) if wanted is None or column in wanted]
    chosen = [names[place] for place in kept]
    yield first.iloc[:, kept].set_axis(chosen, axis=1)
    for piece in pieces:
        yield piece.iloc[:, kept].set_axis(chosen, axis=1)


def _raw_csv(
    source: Path | IO[str], name: str, layout: Layout, chunk: int
) -> Iterator[pd.DataFrame]:
    """Return cells as texts; whatever pandas has to say of them stays here."""
    problem = ""
    try:
        reader = pd.read_csv(
            source,
            sep=layout.delimiter,
            comment=layout.comment,
            header=None,
            dtype=str,
            na_filter=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            chunksize=chunk,
        )
        with reader:
            yield from reader
    except pd.errors.EmptyDataError:
        problem = f"{name} is empty."
    except pd.errors.ParserError:
        problem = (
            f"{name} is not a table with {layout.delimiter!r} between cells: its rows have "
            "different numbers of them, or a quote is not closed. Set delimiter in [table]."
        )
    except UnicodeError:
        problem = f"{name} is not a text in UTF-8."
    except (EOFError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        problem = f"{name} cannot be read: is it cut, or compressed in another way?"
    if problem:
        raise DataError(problem)


def _parquet(file: Path, wanted: Sequence[str] | None, chunk: int) -> Iterator[pd.DataFrame]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(_NO_PARQUET) from None
    problem = False
    try:
        with ParquetFile(file) as table:
            names = table.schema_arrow.names
            columns = [name for name in names if wanted is None or name in wanted]
            # Types of the file, which do not depend on what is missing.
            typed = {"types_mapper": pd.ArrowDtype}
            yield table.schema_arrow.empty_table().select(columns).to_pandas(**typed)
            for batch in table.iter_batches(batch_size=chunk, columns=columns):
                yield batch.to_pandas(**typed)
    except ArrowException:
        problem = True
    if problem:
        raise DataError(f"{file.name} is not a Parquet file, or damaged.")


def _name(path: Any) -> str:
    return "standard input" if str(path) == STANDARD_INPUT else Path(path).name
