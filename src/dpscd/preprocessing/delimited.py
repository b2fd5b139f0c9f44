"""CSV files, plain or compressed: every cell as it is written, one line per record.

Unless a schema says otherwise a record is a line: a quoted cell that goes on in the next line
is refused, because a stray quote of one record would swallow the records after it. So records
can be counted without reading a cell. Messages say what is wrong with a file, never what is in
it.
"""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import pandas as pd

from dpscd.errors import DataError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.declarations import Layout

CHUNK = 100_000  # records at a time

_BLOCK = 2**20
_LONGEST = 2**24  # bytes of a line of names; more is no table
_MARK = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of some files
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, gzip.BadGzipFile)
_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}

T = TypeVar("T")


class CsvFile:
    """Cells between delimiters, of a file or of the bytes that came through a pipe."""

    def __init__(self, source: Path | bytes, name: str, layout: Layout) -> None:
        self._source = source
        self._name = name
        self._layout = layout

    def names(self) -> list[str]:
        """Return the names of the columns; of the file only the header is looked at."""
        if not self._layout.header:
            return list(self._layout.names)
        return next(self._whole(self._header()))

    def _header(self) -> Iterator[list[str]]:
        with ExitStack() as stack:
            file = stack.enter_context(self._opened())
            if not self._layout.multiline:
                file = io.BytesIO(self._first_line(file))
            pieces = stack.enter_context(closing(self._cells(file, 1)))
            yield _names_in(next(pieces))

    def kinds(self) -> list[str]:
        """Return what the file declares of its columns: nothing."""
        return [""] * len(self.names())

    def count(self) -> int:
        """Return the number of records: of lines, where a record is one."""
        count = next(self._whole(self._lines()))
        if self._layout.multiline:
            with suppress(DataError):  # said when records are read; until then lines count
                count = next(self._whole(self._parsed()))
        return max(0, count - int(self._layout.header))

    def _lines(self) -> Iterator[int]:
        with self._opened() as file:
            lines = _Lines(file, self._layout)
            while lines.read(_BLOCK):
                pass
            yield lines.count

    def _parsed(self) -> Iterator[int]:
        with self._opened() as file:
            yield sum(map(len, self._cells(file, _BLOCK, usecols=[0])))

    def frames(
        self, wanted: Sequence[str] | None = None, chunk: int = CHUNK
    ) -> Iterator[pd.DataFrame]:
        """Return the records in pieces, cells as texts; at least one, of `wanted` columns."""
        return self._whole(self._frames(wanted, chunk))

    def _whole(self, found: Iterator[T]) -> Iterator[T]:
        return intact(found, _is_damage, refusals.NOT_WHOLE.format(self._name))

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

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """Open the file; a compressed one is unpacked while it is read."""
        with ExitStack() as stack:
            yield stack.enter_context(self._open(stack))

    def _open(self, stack: ExitStack) -> Any:
        if isinstance(self._source, bytes):
            return io.BytesIO(self._source)
        kind = self._source.suffix.lower()
        if kind == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(self._source))
            members = archive.namelist()
            if len(members) != 1:
                raise DataError(f"{self._name} must hold one file, the table.")
            if archive.getinfo(members[0]).flag_bits & 1:
                raise DataError(f"{self._name} is encrypted.")
            return archive.open(members[0])
        if kind == ".zst":
            try:
                import zstandard
            except ImportError:
                needed = "files that end in .zst need the package zstandard."
                raise DataError(needed) from None
            return zstandard.open(self._source, "rb")
        opened = _OPENERS.get(kind)
        return self._source.open("rb") if opened is None else opened(self._source)

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


def intact(
    found: Iterator[T], is_damage: Callable[[Exception], bool], otherwise: str
) -> Iterator[T]:
    """Yield what is found in a file, or raise DataError with a text if it is damaged."""
    try:
        yield from found
        return
    except Exception as error:
        if not is_damage(error):
            raise
    # Outside of the handler: an unpacker's error holds a checksum or bytes of the data.
    raise DataError(otherwise)


def _is_damage(error: Exception) -> bool:
    """Return whether an error means that a packed file is not whole."""
    if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
        return error.errno is None
    packer = type(error).__module__.partition(".")[0] == "zstandard"
    return packer or isinstance(error, _DAMAGE)


def _names_in(first: pd.DataFrame) -> list[str]:
    return [str(cell).strip() for cell in first.iloc[0]]
