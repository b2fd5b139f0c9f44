"""Results as tidy rows in one file of JSON lines.

A row is one number: a metric of one cell (see :mod:`dpscd_experiments.runner`), with all that
is needed to read it alone. The file is appended to by one process, all rows of a cell in one
write, or replaced as a whole when rows are to be forgotten. After a crash its last line may be
torn: it is dropped, and the cell runs again. The last run of a cell is the one that counts.
Numbers that JSON lacks are the texts 'inf', '-inf' and 'nan'.
"""

import csv
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dpscd.errors import DpscdError

Row = dict[str, Any]

_STATUSES = ("ok", "failed", "skipped")

#: The columns that every row has, with their types; besides them one for each parameter of the
#: cell (param.*) and one for each fact about its origin (prov.*).
COLUMNS: dict[str, tuple[type, ...]] = {
    "cell": (str,),  # key of the cell: a hash of the columns from experiment to seed
    "rows": (int,),  # how many rows the cell wrote; with fewer it does not count as done
    "experiment": (str,),
    "dataset": (str,),
    "method": (str,),
    "epsilon": (float, int),  # privacy that was asked for; inf without
    "delta": (float, int),
    "seed": (int,),
    "status": (str,),
    "message": (str,),  # the error, the reason for skipping, or warnings
    "metric": (str, type(None)),  # name of the number; null when there is none
    "at": (float, int, type(None)),  # where on a curve; null for a single number
    "value": (float, int, type(None)),
    "seconds": (float, int),  # wall time of the whole cell, loading included
}

_SCALARS = (str, int, float, bool, type(None))
_PREFIXES = ("param.", "prov.")
_TEXTS = ("cell", "experiment", "dataset", "method", "status", "message", "metric")
_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class StoreError(DpscdError, ValueError):
    """A file of results is not one, or has a row that does not fit the columns."""


class Store:
    """A file of result rows, made at the first append."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add all rows of one cell, in one write that is on the disk when this returns."""
        for number, row in enumerate(rows, 1):
            _check(row, f"row {number} of {len(rows)}")
        text = "".join(_line(row) for row in rows)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as stream:
            _drop_torn_line(stream)
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())

    def read(self) -> list[Row]:
        """Return the rows of all complete cells, of each the last run, in their order."""
        cells: dict[str, list[tuple[int, Row]]] = {}
        for number, row in enumerate(self._rows()):
            cells.setdefault(row["cell"], []).append((number, row))
        kept = []
        for runs in cells.values():
            size = runs[-1][1]["rows"]
            last = runs[-size:]
            if len(last) == size and all(row["rows"] == size for _, row in last):
                kept.extend(last)
        return [row for _, row in sorted(kept, key=lambda numbered: numbered[0])]

    def by_cell(self) -> dict[str, list[Row]]:
        """Return the rows of each complete cell, by its key."""
        found: dict[str, list[Row]] = {}
        for row in self.read():
            found.setdefault(row["cell"], []).append(row)
        return found

    def status(self) -> dict[str, str]:
        """Return the status of each complete cell, by its key."""
        return {row["cell"]: row["status"] for row in self.read()}

    def forget(self, method: str) -> int:
        """Drop all rows of a method, so that its cells run again; return how many.

        The file is replaced in one step: it has either all of them or none.
        """
        rows = list(self._rows())
        kept = [row for row in rows if row["method"] != method]
        if len(kept) < len(rows):
            other = self.path.with_name(f"{self.path.name}.new")
            with other.open("wb") as stream:
                stream.write("".join(_line(row) for row in kept).encode())
                stream.flush()
                os.fsync(stream.fileno())
            other.replace(self.path)
        return len(rows) - len(kept)

    def _rows(self) -> Iterable[Row]:
        try:
            *lines, _torn = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        for number, line in enumerate(lines, 1):
            where = f"{self.path}, line {number}"
            try:
                row = _decoded(json.loads(line, parse_constant=_refuse))
            except ValueError:
                raise StoreError(f"{where} is not a result row.") from None
            _check(row, where)
            yield row


def _line(row: Mapping[str, Any]) -> str:
    plain = {
        name: _special(value) if isinstance(value, float) else value
        for name, value in row.items()
    }
    return json.dumps(plain, allow_nan=False, ensure_ascii=False) + "\n"


def _special(value: float) -> float | str:
    return value if math.isfinite(value) else str(float(value))


def _decoded(row: Any) -> Row:
    if not isinstance(row, dict):
        raise ValueError
    return {
        name: _SPECIAL[value]
        if isinstance(value, str) and value in _SPECIAL and name not in _TEXTS
        else value
        for name, value in row.items()
    }


def _check(row: Mapping[str, Any], where: str) -> None:
    for name, types in COLUMNS.items():
        if name not in row:
            raise StoreError(f"{where} has no column {name!r}.")
        value = row[name]
        if not isinstance(value, types) or isinstance(value, bool):
            raise StoreError(f"{where} has {value!r} in the column {name!r}.")
    if row["status"] not in _STATUSES:
        raise StoreError(f"{where} has the status {row['status']!r}: one of {_STATUSES} is.")
    if row["rows"] < 1:
        raise StoreError(f"{where} has {row['rows']!r} in the column 'rows': at least 1 is.")
    for name in row.keys() - COLUMNS.keys():
        if not name.startswith(_PREFIXES) or not isinstance(row[name], _SCALARS):
            raise StoreError(f"{where} has an unknown column {name!r}.")


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _drop_torn_line(stream: BinaryIO) -> None:
    """Cut what a crash left after the last whole line."""
    end = stream.seek(0, os.SEEK_END)
    if end == 0:
        return
    stream.seek(end - 1)
    if stream.read(1) != b"\n":
        stream.seek(0)
        stream.truncate(stream.read().rfind(b"\n") + 1)


def write_csv(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as a table, provenance left out: it is in the store and in the text."""
    names = dict.fromkeys(
        name for row in rows for name in row if not name.startswith(("prov.", "rows"))
    )
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(names), extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(file: Path) -> list[Row]:
    """Return the rows of a table that :func:`write_csv` wrote; empty fields are None."""
    with file.open(newline="", encoding="utf-8") as stream:
        return [
            {name: _value(name, text) for name, text in row.items()}
            for row in csv.DictReader(stream)
        ]


def _value(name: str, text: str) -> Any:
    if name in _TEXTS:
        return text
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def pick(rows: Iterable[Row], metric: str, **columns: Any) -> list[Row]:
    """Return the rows of a metric whose other columns, parameters too, are as given."""
    return [
        row
        for row in rows
        if row["metric"] == metric
        and all(row.get(name, row.get(f"param.{name}")) == at for name, at in columns.items())
    ]


def values(rows: Iterable[Row], metric: str, **columns: Any) -> list[float]:
    """Return the numbers of these rows."""
    return [float(row["value"]) for row in pick(rows, metric, **columns)]
