"""A codebook becomes a schema: what is known about the columns, one line for each, as CSV."""

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpscd.errors import SchemaError
from dpscd.preprocessing.declarations import Layout
from dpscd.preprocessing.schema_checks import schema_parts
from dpscd.preprocessing.template import document, plain_toml
from dpscd.preprocessing.toml_text import Lines
from dpscd.records.encoding import other_delimiter

#: Between the values of a cell that lists some.
SEPARATOR = "|"
_NEEDED, _LISTS = ("name", "kind"), ("values", "missing_values")
_FLAGS = ("integer", "cyclic", "complete")
_KNOWN = (*_NEEDED, "low", "high", *_LISTS, *_FLAGS, "label")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def schema_of_codebook(
    path: str | os.PathLike[str],
    layout: Layout,
    *,
    target: str | None = None,
    person: str | None = None,
    names: list[str] | None = None,
) -> str:
    """Return the schema that a codebook says, as TOML; columns that are alike share a part.

    `names` are those of the table, if it is at hand. The target is the last column if it is not
    given. All mistakes are told at once, each with its line.
    """
    lines = Lines("", Path(path).name)
    entries, labels = _entries(Path(path), lines)
    if not entries:
        lines.note((), "it has no columns of a table.")
    target = target or next(reversed(entries), "")
    if target not in entries:
        lines.note((), f"it has no column {target!r}, the target.")
    for name in dict.fromkeys([*entries, *([person] if person else [])]):
        if names is not None and name not in names:
            lines.note(("columns", name), f"the table has no column {name!r}.")
    columns = {name: own for name, own in entries.items() if name not in (target, person)}
    chosen = _as_target(entries.get(target, {}))
    lines.at(("target",), lines.line(("columns", target)))
    table = {} if person is None else {"table": {"person": person}}
    schema_parts({**table, "target": {"column": target, **chosen}, "columns": columns}, lines)
    facts = {name: (_written(_as_target(own)), _written(own)) for name, own in entries.items()}
    if person is not None:
        facts.setdefault(person, ([], []))
    left = [name for name in names or () if name not in facts]
    return document("codebook", layout, facts, target, person, labels, left)


def _entries(path: Path, lines: Lines) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return what is said about each column, as a schema has it, and the labels."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SchemaError(f"{path.name} is not a text in UTF-8.") from None
    head = next(csv.reader(io.StringIO(text, newline="")), [])
    sign = other_delimiter(head, ",") or ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign)
    names = [cell.strip().lower() for cell in next(reader, [])]
    for name in _NEEDED:
        if name not in names:
            lines.note((), f"it has no column {name!r} in its first line.")
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            lines.note((), f"it has two columns called {name!r}.")
        elif name not in _KNOWN:
            known = ", ".join(_KNOWN)
            lines.note((), f"a column {name!r} is not known; use {known}.")
    lines.check()  # what cells mean follows from the first line
    entries: dict[str, dict[str, Any]] = {}
    labels: dict[str, str] = {}
    for cells in reader:
        row = dict(zip(names, map(str.strip, cells), strict=False))
        if not any(cells):
            continue
        name = row.get("name", "")
        lines.at(("columns", name), reader.line_num)
        if len(cells) != len(names) or not name:
            lines.note(("columns", name), f"it must have {len(names)} cells, the first a name.")
        elif name in entries:
            lines.note(("columns", name), f"column {name!r} is there twice.")
        entries[name] = _entry(row)
        labels |= {name: row["label"]} if row.get("label") else {}
    return entries, labels


def _entry(row: Mapping[str, str]) -> dict[str, Any]:
    """Return what a row says, as a schema has it; what is wrong stays, to be refused there."""
    own: dict[str, Any] = {"kind": row.get("kind", "").lower()}
    low, high = row.get("low", ""), row.get("high", "")
    if low or high:
        own["bounds"] = low if low == high == "private" else [_number(low), _number(high)]
    for key in _LISTS:
        if row.get(key):
            own[key] = [value.strip() for value in row[key].split(SEPARATOR)]
    for key in _FLAGS:
        if row.get(key):
            own[key] = _TRUTH.get(row[key].lower(), row[key])
            if own[key] is False:
                del own[key]
    return own


def _as_target(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said about a column as a schema says it about the target."""
    found = {key: own[key] for key in ("bounds", "missing_values") if key in own}
    return found if "bounds" in own else {**found, "classes": own.get("values", [])}


def _number(text: str) -> Any:
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _written(own: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {plain_toml(value)}" for key, value in own.items()]
