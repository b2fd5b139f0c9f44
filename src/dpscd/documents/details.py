"""Details that a registry requires and no model knows: a file that the owners fill in."""

import os
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dpscd.errors import ParameterError
from dpscd.preprocessing.toml_text import read_toml


class Field(NamedTuple):
    """One question of the details file."""

    path: tuple[str, ...]  # place in the registry's record
    needed: bool  # whether an entry of tier 3 is refused without it
    kind: str  # of the answer: 'text', 'list', 'date' or 'slug'
    choices: tuple[str, ...]  # the allowed answers; any text if empty

    @property
    def name(self) -> str:
        """The path in one word."""
        return ".".join(self.path)


#: Values by the path of their names, such as ("deployment", "basic", "name").
Details = dict[tuple[str, ...], Any]

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

_FILE = Path(__file__).parents[1] / "templates" / "details.toml"
_KINDS = {"url_slug": "slug", "publication_date": "date"}


def template(name: str = "details.toml") -> str:
    """Return an empty details file, as TOML; `name` is for the command in its head."""
    return _FILE.read_text(encoding="utf-8").replace("{name}", name)


@cache
def fields() -> tuple[Field, ...]:
    """Return the questions of the empty file; those without # are needed."""
    found, section, choices = [], "", ()
    for line in template().split("\n"):
        if header := re.fullmatch(r"\[(.*)\]", line):
            section = header[1]
        elif listed := re.fullmatch("# One of: (.*)", line):
            choices = tuple(listed[1].split(", "))
        elif key := re.fullmatch(r'(# )?(\w+) = (\[?)""\]?', line):
            kind = "list" if key[3] else _KINDS.get(key[2], "text")
            path = (*filter(None, section.split(".")), key[2])
            found.append(Field(path, not key[1], kind, choices))
            choices = ()
    return tuple(found)


def missing_everything() -> str:
    """Return the names of all required fields, with commas."""
    return ", ".join(field.name for field in fields() if field.needed)


def read_details(path: str | os.PathLike[str]) -> Details:
    """Return the answers of a TOML details file, or raise ParameterError with all errors."""
    name = Path(path).name
    try:
        values = read_toml(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{name} is not TOML: {error}.") from None
    given = _flat(values)
    known = {field.path for field in fields()}
    problems = [
        f"{'.'.join(path)} is not asked for; what the model's card knows comes from there"
        for path in given
        if path not in known
    ]
    found: Details = {}
    missing = []
    for field in fields():
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
        texts = isinstance(value, list) and all(isinstance(x, str) for x in value)
        return None if texts else "must be a list of texts"
    if not isinstance(value, str):
        return "must be a text"
    if field.choices and value not in field.choices:
        return f"must be one of {', '.join(repr(x) for x in field.choices)}"
    if field.kind == "slug" and not _SLUG.fullmatch(value):
        return "must be letters, digits, - and _, for an address"
    return "must be a date, YYYY-MM-DD" if field.kind == "date" and not _is_day(value) else None


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
