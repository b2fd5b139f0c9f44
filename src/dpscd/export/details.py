"""Details that a registry requires and no model knows: a file that the owners fill in."""

import os
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from dpscd.errors import ParameterError
from dpscd.export.detail_fields import FIELDS, Field
from dpscd.preprocessing.toml_text import read_toml

__all__ = ["missing_everything", "read_details", "template"]

#: Values by the path of their names, such as ("deployment", "basic", "name").
Details = dict[tuple[str, ...], Any]

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

_HEAD = """\
# What the registry of deployments of differential privacy asks and the model does not know.
# Names and sections are those of the registry. Texts may be Markdown. Fill in what has an
# empty value; take the # away from what is optional and wanted. Then:
#   dpscd export registry model.json --details {name} --out entry.yaml
"""


def template(name: str = "details.toml") -> str:
    """Return an empty details file, as TOML; `name` is for the command in its head."""
    lines = [_HEAD.format(name=name)]
    section: tuple[str, ...] = ()
    for field in FIELDS:
        if field.path[:-1] != section:
            section = field.path[:-1]
            lines += [f"[{'.'.join(section)}]", ""]
        lines += [f"# {line}" for line in field.asks.split("\n")]
        if field.choices:
            lines.append(f"# One of: {', '.join(field.choices)}")
        empty = '[""]' if field.kind == "list" else '""'
        lines += [f"{'' if field.needed else '# '}{field.path[-1]} = {empty}", ""]
    return "\n".join(lines)


def missing_everything() -> str:
    """Return the names of all required fields, with commas."""
    return ", ".join(field.name for field in FIELDS if field.needed)


def read_details(path: str | os.PathLike[str]) -> Details:
    """Return the answers of a TOML details file, or raise ParameterError with all errors."""
    name = Path(path).name
    try:
        values = read_toml(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{name} is not TOML: {error}.") from None
    given = _flat(values)
    known = {field.path for field in FIELDS}
    problems = [
        f"{'.'.join(path)} is not asked for; what the model's card knows comes from there"
        for path in given
        if path not in known
    ]
    found: Details = {}
    missing = []
    for field in FIELDS:
        value = _value(given.get(field.path))
        if value in ("", []):
            if field.needed:
                missing.append(field.name)
        elif (problem := _problem(field, value)) is not None:
            problems.append(f"{field.name} {problem}")
        else:
            found[field.path] = value
    if missing:
        problems.insert(0, f"missing: {', '.join(missing)}")
    if problems:
        raise ParameterError(f"{name} cannot be used: {'; '.join(problems)}.")
    return found


def _flat(values: Mapping[str, Any], before: tuple[str, ...] = ()) -> Details:
    found: Details = {}
    for key, value in values.items():
        path = (*before, key)
        found |= _flat(value, path) if isinstance(value, dict) else {path: value}
    return found


def _value(value: Any) -> Any:
    """Return a value without surrounding space; an absent or blank one is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and all(isinstance(x, str) for x in value):
        return [x.strip() for x in value if x.strip()]
    return value.isoformat() if type(value) is date else value


def _problem(field: Field, value: Any) -> str | None:
    """Return what is wrong with a given value."""
    if field.kind == "list":
        return None if isinstance(value, list) and _texts(value) else "must be a list of texts"
    if not isinstance(value, str):
        return "must be a text"
    if field.choices and value not in field.choices:
        return f"must be one of {', '.join(repr(x) for x in field.choices)}"
    if field.kind == "slug" and not _SLUG.fullmatch(value):
        return "must be letters, digits, - and _, for an address"
    return "must be a date, YYYY-MM-DD" if field.kind == "date" and not _is_day(value) else None


def _texts(values: list[Any]) -> bool:
    return all(isinstance(x, str) for x in values)


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
