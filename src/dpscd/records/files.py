"""Tables in files: CSV, plain or packed by gzip, and Parquet; every cell as it is written.

Unless a schema says otherwise a record of a CSV file is a line, so that records are counted
without reading a cell: a quoted cell that goes on in the next line is refused, because a stray
quote would swallow other records. Messages never say what is in a file.
"""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import pandas as pd

from dpscd.errors import DataError, ParameterError
from dpscd.preprocessing.declarations import Layout
from dpscd.records import refusals
from dpscd.records.rows import as_frame

CHUNK = 100_000  # records at a time

_BLOCK = 2**20
_LONGEST = 2**24  # bytes of a line of names; more is no table
_MARK = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of some files
_PARQUET = (".parquet", ".pq")
_UNREAD = {
    ".json .jsonl .ndjson": "JSON: save it as CSV in UTF-8, or as Parquet",
    ".xlsx .xls .xlsm .xlsb .ods": "a spreadsheet: save it as CSV in UTF-8",
    ".feather .arrow .ipc": "a Feather file: save it as Parquet (pandas.read_feather reads it)",
    ".zip .bz2 .xz .zst .7z .tar .tgz": "packed: unpack it (only .gz is read as it is)",
}
"""What is said of files of other kinds, by how their names end."""

T = TypeVar("T")


def open_table(path: str | os.PathLike[str], layout: Layout) -> "CsvFile | ParquetTable":
    """Return a file of records; nothing of it is read yet but what comes through a pipe."""
    if str(path) == "-":  # kept in memory
        return CsvFile(sys.stdin.buffer.read(), "standard input", layout)
    file = Path(path)
    kind = file.suffix.lower()
    if file.is_dir():
        parts = sorted(part for part in file.iterdir() if part.suffix.lower() in _PARQUET)
        if not parts:
            raise DataError(f"{file.name} is a folder without Parquet files; give its files.")
        return ParquetTable(parts)
    if not file.exists():
        raise DataError(f"there is no file {str(path)!r}.")
    if file.stat().st_size == 0:
        raise DataError(f"{file.name} is empty.")
    for kinds, words in _UNREAD.items():
        if kind in kinds.split():
            raise DataError(f"{file.name} is {words}.")
    return ParquetTable([file]) if kind in _PARQUET else CsvFile(file, file.name, layout)


def paths_of(table: Any) -> list[Any]:
    """Return the paths by which a table is given; none if it is in memory."""
    paths = table if isinstance(table, list) else [table]
    return paths if all(isinstance(path, str | os.PathLike) for path in paths) else []


def names_of(table: Any, layout: Layout) -> list[str]:
    """Return the names of a table's columns, which are public; none if it is not one."""
    if not (paths := paths_of(table)):
        return [str(name) for name in getattr(as_frame(table), "columns", ())]
    if str(paths[0]) == "-":
        raise ParameterError(
            "standard input is read once: a schema with patterns needs a file."
        )
    return open_table(paths[0], layout).names()


class CsvFile:
    """Cells between delimiters, of a file or of the bytes that came through a pipe."""

    def __init__(self, source: Path | bytes, name: str, layout: Layout) -> None:
        self._source = source
        self._name, self._damaged = name, refusals.NOT_WHOLE.format(name)
        self._layout = layout

    def names(self) -> list[str]:
        """Return the names of the columns; no record has a part in it."""
        if not self._layout.header:
            return list(self._layout.names)
        return _asked(self._header, self._damaged)

    def _header(self) -> list[str]:
        with self._opened() as file:
            line = file if self._layout.multiline else io.BytesIO(self._first_line(file))
            with closing(self._cells(line, 1)) as pieces:
                return _names_in(next(pieces))

    def kinds(self) -> list[str]:
        """Return the kind that the file declares of each column: none, ''."""
        return [""] * len(self.names())

    def count(self) -> int:
        """Return the number of records: of lines, where a record is one."""
        count = _asked(self._lines, self._damaged)
        if self._layout.multiline:
            with suppress(DataError):  # said when records are read; until then lines count
                count = _asked(self._parsed, self._damaged)
        return max(0, count - int(self._layout.header))

    def _lines(self) -> int:
        with self._opened() as file:
            lines = _Lines(file, self._layout)
            while lines.read(_BLOCK):
                pass
            return lines.count

    def _parsed(self) -> int:
        with self._opened() as file:
            return sum(map(len, self._cells(file, _BLOCK, usecols=[0])))

    def frames(
        self, wanted: Sequence[str] | None = None, chunk: int = CHUNK
    ) -> Iterator[pd.DataFrame]:
        """Return the records in pieces, cells as texts; at least one, of `wanted` columns."""
        return _intact(self._frames(wanted, chunk), self._damaged)

    def _frames(self, wanted: Sequence[str] | None, chunk: int) -> Iterator[pd.DataFrame]:
        records = 0
        with self._opened() as file:
            lines = _Lines(file, self._layout)
            pieces = self._cells(io.BufferedReader(lines, _BLOCK), chunk)
            first = next(pieces)
            records += len(first)
            names = list(self._layout.names)
            if self._layout.header:
                names, first = _names_in(first), first.iloc[1:]
            elif first.shape[1] != len(names):
                raise DataError(refusals.OTHER_WIDTH.format(self._name, len(names)))
            kept = [k for k, name in enumerate(names) if wanted is None or name in wanted]
            chosen = [names[place] for place in kept]
            yield first.iloc[:, kept].set_axis(chosen, axis=1)
            for piece in pieces:
                records += len(piece)
                yield piece.iloc[:, kept].set_axis(chosen, axis=1)
        if not self._layout.multiline and records != lines.count:
            raise DataError(refusals.NOT_LINES.format(self._name))

    def _first_line(self, file: IO[bytes]) -> bytes:
        """Return the first line that is neither blank nor a comment."""
        lines, rest = _Lines(file, self._layout), file.read(len(_MARK)).removeprefix(_MARK)
        while block := file.read(2**16):
            *whole, rest = (rest + block).splitlines(keepends=True)
            for line in whole:
                if lines.is_record(line):
                    return line
            if len(rest) > _LONGEST:
                raise DataError(f"{self._name} is not a table: its first line does not end.")
        return rest if lines.is_record(rest) else b""

    def _opened(self) -> IO[bytes]:
        """Open the file; a packed one is unpacked while it is read."""
        if isinstance(self._source, bytes):
            return io.BytesIO(self._source)
        if self._source.suffix.lower() == ".gz":
            return gzip.open(self._source)  # type: ignore[return-value]
        return self._source.open("rb")

    def _cells(
        self, file: Any, chunk: int, **options: Any
    ) -> Generator[pd.DataFrame, None, None]:
        """Return cells as texts; whatever pandas has to say of them stays here."""
        from dpscd.kernels._jit import interrupts_wait  # with Numba, which names do not need

        problem = ""
        try:
            with interrupts_wait():  # pandas would make an error of its own of them
                reader = pd.read_csv(
                    file,
                    sep=self._layout.delimiter,
                    comment=self._layout.comment,
                    header=None,
                    dtype=str,
                    na_filter=False,
                    skipinitialspace=True,
                    encoding="utf-8-sig",
                    chunksize=chunk,
                    **options,
                )
            with reader:
                while True:
                    with interrupts_wait():
                        piece = next(reader, None)
                    if piece is None:
                        break
                    yield piece
        except pd.errors.EmptyDataError:
            problem = refusals.EMPTY.format(self._name)
        except pd.errors.ParserError:
            problem = refusals.NOT_CELLS.format(self._name, self._layout.delimiter)
        except UnicodeError:
            problem = refusals.NOT_UTF8.format(self._name)
        if problem:
            raise DataError(problem)


class _Lines(io.RawIOBase):
    """A stream that counts lines neither blank nor comments, as pandas sees them."""

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        super().__init__()
        self._file = file
        self._blank = b" \t".replace(layout.delimiter.encode(), b"")
        self._comment = (layout.comment or "\n").encode()
        self._special = np.zeros(256, dtype=bool)  # how a line begins that may be no record
        self._special[list(b"\n" + self._comment + self._blank)] = True
        # Some versions of pandas do not see a comment end at a carriage return. As a line feed
        # it ends the same line; where it stood before one, a blank line follows, which is none.
        self._ends = b"\r" if layout.comment and not layout.multiline else b"\n"
        self._rest = b""
        self._begun = False
        self.count = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read on."""
        block = self._file.read(len(buffer))
        self._see(block)
        buffer[: len(block)] = block.replace(self._ends, b"\n")
        return len(block)

    def _see(self, block: bytes) -> None:
        seen = b"\n" + self._rest + block
        signs = np.frombuffer(seen, dtype=np.uint8)
        ends = np.flatnonzero(signs == ord("\n"))
        starts = signs[ends[ends < len(signs) - 1] + 1]
        plain = block and self._begun
        if plain and not (self._special[starts].any() or (signs == ord("\r")).any()):
            # No line is blank, a comment, or ends otherwise: much faster than one by one.
            self.count += len(ends) - 1
            self._rest = seen[ends[-1] + 1 :]
            return
        lines = seen[1:].splitlines(keepends=True)
        # The last one may go on, also after a carriage return.
        self._rest = lines.pop() if block and not seen.endswith(b"\n") else b""
        if lines and not self._begun:
            self._begun, lines[0] = True, lines[0].removeprefix(_MARK)
        self.count += sum(map(self.is_record, lines))

    def is_record(self, line: bytes) -> bool:
        """Return whether a line is neither blank nor a comment."""
        blank = line.lstrip(self._blank)[:1] in (b"", b"\n", b"\r")
        return not (blank or line.startswith(self._comment))


def _names_in(first: pd.DataFrame) -> list[str]:
    return [str(cell).strip() for cell in first.iloc[0]]


class ParquetTable:
    """Parquet files, one after another, with types that do not depend on what is missing."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files

    def names(self) -> list[str]:
        """Return the names of the columns, as the files state them."""
        found = [
            _of_parquet(file, lambda t: list(t.schema_arrow.names)) for file in self._files
        ]
        if any(sorted(names) != sorted(found[0]) for names in found):
            raise DataError("the Parquet files of the folder have different columns.")
        return found[0]

    def kinds(self) -> list[str]:
        """Return the kind that the first file declares of each column; '' if it does not."""
        return _of_parquet(
            self._files[0], lambda t: [_kind(own.type) for own in t.schema_arrow]
        )

    def count(self) -> int:
        """Return the number of records, as the files state it."""
        return sum(
            _of_parquet(file, lambda t: int(t.metadata.num_rows)) for file in self._files
        )

    def frames(
        self, wanted: Sequence[str] | None = None, chunk: int = CHUNK
    ) -> Iterator[pd.DataFrame]:
        """Return the records in pieces, in order; at least one, of `wanted` columns."""
        for file in self._files:
            damaged = refusals.NOT_PARQUET.format(file.name)
            yield from _intact(self._frames(file, wanted, chunk), damaged)

    def _frames(
        self, file: Path, wanted: Sequence[str] | None, chunk: int
    ) -> Iterator[pd.DataFrame]:
        with _parquet_file(file) as table:
            names = table.schema_arrow.names
            columns = [name for name in names if wanted is None or name in wanted]
            # Without pandas's own notes in the file, by which columns become an index.
            typed = {"types_mapper": pd.ArrowDtype, "ignore_metadata": True}
            yield table.schema_arrow.empty_table().select(columns).to_pandas(**typed)
            for batch in table.iter_batches(batch_size=chunk, columns=columns):
                yield batch.to_pandas(**typed)


def _of_parquet(path: Path, question: Callable[[Any], T]) -> T:
    def answer() -> T:
        with _parquet_file(path) as table:
            return question(table)

    return _asked(answer, refusals.NOT_PARQUET.format(path.name))


def _parquet_file(path: Path) -> Any:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(refusals.NEEDS_ARROW) from None
    return ParquetFile(path)


def _kind(declared: Any) -> str:
    from pyarrow import types

    kinds = {
        "boolean": (types.is_boolean,),
        "integer": (types.is_integer,),
        "number": (types.is_floating, types.is_decimal),
        "date": (types.is_temporal,),
        "category": (types.is_string, types.is_large_string, types.is_dictionary),
    }
    return next((kind for kind, own in kinds.items() if any(is_(declared) for is_ in own)), "")


def _asked(answer: Callable[[], T], otherwise: str) -> T:
    """Return what a file answers, or raise DataError with a text if it is damaged."""
    return next(_intact((answer() for _ in range(1)), otherwise))


def _intact(found: Iterator[T], otherwise: str) -> Iterator[T]:
    """Yield what is found in a file, or raise DataError with a text if it is damaged."""
    try:
        yield from found
        return
    except Exception as error:
        if not _is_damage(error):
            raise
    # Outside of the handler: an unpacker's error holds a checksum or bytes of the data.
    raise DataError(otherwise)


def _is_damage(error: Exception) -> bool:
    """Return whether an error is about what is in a file, not the system's about the file."""
    if isinstance(error, OSError):
        return error.errno is None
    unpacker = isinstance(error, EOFError | zlib.error)
    return unpacker or type(error).__module__.startswith("pyarrow")
