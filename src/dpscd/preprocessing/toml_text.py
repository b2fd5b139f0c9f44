"""TOML of anybody's making, read within bounds of depth; checks of its values, by line."""

import math
import re
import tomllib
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from dpscd.errors import SchemaError
from dpscd.preprocessing.cells import Listed, TruthCells, grouped_text, places_of, same_value
from dpscd.preprocessing.declarations import PRIVATE

MOST_BINS = 1000
"""Intervals that a number may have."""

_MOST_VALUES = 100_000
_LONGEST = 100  # signs of a prefix

Bounds = tuple[float, float] | str

# Of brackets within brackets, and of keys with dots: files of this library need four of each.
_DEEPEST = 20

# What is not closed ends with the line, or the text: no start is looked at twice.
_TOKEN = re.compile(
    r"""\#[^\n]*
    | \"{3} (?:\\.|[^\\])*? (?:\"{3}|\Z) | '{3} .*? (?:'{3}|\Z)
    | (?P<part> "(?:\\.|[^"\\\n])*"? | '[^'\n]*'? | [\w+-]+ )
    | (?P<dot>\.) | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<end>[=,\n])""",
    re.DOTALL | re.VERBOSE,
)

_HEADER = re.compile(r"^\s*\[([^\[\]].*?)\]\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*="""
)


def read_toml(text: str) -> dict[str, Any]:
    """Return what an untrusted TOML text says, or raise TOMLDecodeError."""
    # Python's parser recurses into brackets, and its time grows with the square of the dots.
    depth = dots = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        depth += (kind == "open") - (kind == "close")
        dots = dots + 1 if kind == "dot" else dots if kind == "part" else 0
        if max(depth, dots) > _DEEPEST:
            what = "brackets within brackets" if depth > dots else "dots in a key"
            raise tomllib.TOMLDecodeError(f"more than {_DEEPEST} {what}")
    return tomllib.loads(text)


class Lines:
    """Finds the line of a key in valid TOML, or of the nearest table above it."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self._lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), start=1):
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                table = _path(f"[{header[1]}]")
                self._lines.setdefault(table, number)
            elif key:
                self._lines.setdefault((*table, *_path(f"{key[1]} = {{}}")), number)

    def error(self, path: tuple[str, ...], text: str) -> SchemaError:
        """Return the error about a key of a schema, with its line."""
        above = (self._lines.get(path[:end]) for end in range(len(path), 0, -1))
        number = next(filter(None, above), None)
        place = self.name if number is None else f"{self.name} line {number}"
        return SchemaError(f"{place}: {text}")


def _path(text: str) -> tuple[str, ...]:
    """Return the keys that a header or a dotted key stands for."""
    try:
        values: Any = read_toml(text)
    except tomllib.TOMLDecodeError:  # a line of a text of several lines
        return ("",)
    path = []
    while isinstance(values, dict) and values:
        ((key, values),) = values.items()
        path.append(key)
    return tuple(path)


class Part:
    """One table of a schema: checks its values one at a time, and complains with the line."""

    def __init__(self, lines: Lines, values: Any, *where: str, title: str = "") -> None:
        self.lines, self.values, self.where, self.title = lines, values, where, title

    def error(self, text: str, *key: str) -> SchemaError:
        """Return the error about this table, or about one of its keys, with its line."""
        return self.lines.error((*self.where, *key), text)

    def known(self, names: set[str]) -> None:
        """Refuse keys that are not among `names`."""
        foreign = [key for key in self.values if key not in names]
        if foreign:
            about = f"{self.title}: " if self.title else ""
            keys = ", ".join(map(repr, foreign))
            raise self.error(
                f"{about}{keys} {'is' if len(foreign) == 1 else 'are'} not known here; use "
                f"{', '.join(sorted(names))}.",
                foreign[0],
            )

    def flag(self, key: str, *, usual: bool = False) -> bool:
        """Return a truth value."""
        found = self.values.get(key, usual)
        if type(found) is not bool:
            raise self.error(f"{key} must be true or false.", key)
        return found

    def choice(self, key: str, *allowed: str) -> str | None:
        """Return one of some words; None if there is none."""
        found = self.values.get(key)
        if found not in (None, *allowed):
            *most, last = map(repr, allowed)
            words = f"{', '.join(most)} or {last}" if most else last
            raise self.error(f"{self.title}: {key} must be {words}.", key)
        return None if found is None else str(found)

    def bounds(self) -> Bounds:
        """Return bounds: two numbers, or that they are private."""
        bounds = self.values.get("bounds")
        if bounds == PRIVATE:
            return PRIVATE
        pair = isinstance(bounds, list | tuple) and len(bounds) == 2
        if pair and all(map(is_number, bounds)):
            low, high = float(bounds[0]), float(bounds[1])
            if low < high and math.isfinite(high - low):
                return low, high
        raise self.error(
            f"{self.title} needs bounds = [lowest, highest], two numbers you know without "
            'looking at the records, or bounds = "private" to spend a part of the budget on '
            "them.",
            "bounds",
        )

    def transform(self, bounds: Bounds) -> str | None:
        """Return what is done to numbers before scaling, None if nothing."""
        transform = self.choice("transform", "log1p")
        if transform and (isinstance(bounds, str) or bounds[0] < 0.0):
            raise self.error(
                f"{self.title}: log1p needs declared bounds that begin at 0 or above.",
                "transform",
            )
        return transform

    def knots(self, bounds: Bounds) -> tuple[float, ...]:
        """Return where declared intervals end."""
        if "knots" not in self.values:
            return ()
        if self.values.get("shape") not in ("steps", "smooth") or "bins" in self.values:
            raise self.error(
                f"{self.title}: knots go with shape = 'steps' or 'smooth', and without bins.",
                "knots",
            )
        knots = self.values["knots"]
        good = isinstance(knots, list | tuple) and 1 <= len(knots) < MOST_BINS
        if good and all(map(is_number, knots)) and not isinstance(bounds, str):
            found = tuple(map(float, knots))
            if all(a < b for a, b in pairwise((bounds[0], *found, bounds[1]))):
                return found
        raise self.error(
            f"{self.title}: knots must be numbers that grow, inside of declared bounds, fewer "
            f"than {MOST_BINS}.",
            "knots",
        )

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of different texts; numbers and booleans in it are spelt out."""
        found = self.values.get(key, [])
        if isinstance(found, list | tuple) and len(found) <= _MOST_VALUES:
            texts = tuple(_spelt(value) for value in found)
            if None not in texts and len(set(texts)) == len(texts):
                return tuple(str(text) for text in texts)
        raise self.error(f"{key} must be a list of different texts or numbers.", key)

    def missing_values(self, taken: Listed | TruthCells | None = None) -> tuple[str, ...]:
        """Return the cells that count as missing; `taken` says which are values."""
        found = self.texts("missing_values")
        for text in found:
            if taken is not None and taken.code(text) >= 0:
                raise self.error(
                    f"{text!r} cannot be a value and stand for a missing one.", "missing_values"
                )
        return found

    def rename(self, allowed: tuple[str, ...]) -> Mapping[str, str]:
        """Return other spellings, each with its value; no two values may be one number."""
        found = self.values.get("rename", {})
        if isinstance(found, dict):
            pairs = {str(key).strip(): _spelt(value) for key, value in found.items()}
            if set(pairs.values()) <= set(allowed) and not set(pairs) & set(allowed):
                known = {key: str(value) for key, value in pairs.items()}
                if same := same_value(places_of(allowed, known)):
                    raise self.error(
                        f"{same[0]!r} and {same[1]!r} are one value, which tables of numbers "
                        "cannot tell apart; list one of them."
                    )
                return known
        raise self.error("rename must map other spellings to one of the values each.", "rename")

    def group(self, values: tuple[str, ...], rename: Mapping[str, str]) -> Mapping[str, Any]:
        """Return by what cells are compared with the values: a prefix or a mapping."""
        group = self.values.get("group")
        if group is None:
            return {}
        found = _group(group, values)
        if found is None:
            raise self.error(
                f"{self.title}: group must be {{ prefix = k }} with a whole number of signs "
                f"from 1 to {_LONGEST}, or {{ mapping = {{ ... }} }} from beginnings of cells "
                "to values.",
                "group",
            )
        for text in (*values, *rename):
            if grouped_text(text, found) != text:
                raise self.error(
                    f"{self.title}: by its group no cell can be {text!r}, which is listed.",
                    "group",
                )
        return found


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and no truth value."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return good and math.isfinite(value)


def _spelt(value: Any) -> str | None:
    """Return a value of a list as the text that a table's cell is compared with."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else repr(value)
    if isinstance(value, int):
        return str(value)
    return value.strip() if isinstance(value, str) else None


def _group(group: Any, values: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Return a declared group, the beginnings of a mapping stripped; None if it is none."""
    if not (isinstance(group, dict) and len(group) == 1):
        return None
    ((kind, own),) = group.items()
    if kind == "prefix" and type(own) is int and 1 <= own <= _LONGEST:
        return {"prefix": own}
    if kind != "mapping" or not isinstance(own, dict):
        return None
    texts = {str(start).strip(): value for start, value in own.items()}
    good = texts and "" not in texts and all(value in values for value in texts.values())
    return {"mapping": texts} if good else None
