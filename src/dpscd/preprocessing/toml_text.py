"""TOML of anybody's making, read within bounds of depth; where its keys stand."""

import re
import tomllib
from typing import Any

from dpscd.errors import SchemaError

_MOST_TOLD = 20  # mistakes, of a text that has more

# Of a key with dots: files of this library need four.
_DOTS = re.compile(r"""(?:(?:"[^"\n]*"|'[^'\n]*'|[\w-]+)[ \t]*\.[ \t]*){100}""")
_HEADER = re.compile(r"^\s*\[([^\[\]].*?)\]\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*="""
)


def read_toml(text: str) -> dict[str, Any]:
    """Return what an untrusted TOML text says, or raise TOMLDecodeError."""
    # Python's parser recurses into brackets, and its time grows with the square of the dots.
    if _DOTS.search(text):
        raise tomllib.TOMLDecodeError("a key has too many dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        problem = "too many brackets within brackets"
    raise tomllib.TOMLDecodeError(problem)


class Lines:
    """Lines of keys in valid TOML, or of the nearest tables above them; notes mistakes."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self._wrong: list[tuple[int, str]] = []
        self._lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.split("\n"), start=1):
            header, key = _HEADER.match(line), _KEY.match(line)
            if header:
                table = _path(f"[{header[1]}]")
                self._lines.setdefault(table, number)
            elif key:
                self._lines.setdefault((*table, *_path(f"{key[1]} = {{}}")), number)

    def at(self, path: tuple[str, ...], number: int) -> None:
        """Say on which line a key stands, where it is not TOML that says so."""
        self._lines.setdefault(path, number)

    def line(self, path: tuple[str, ...]) -> int:
        """Return the line of a key, or of the nearest table above it; 0 if there is none."""
        above = (self._lines.get(path[:end]) for end in range(len(path), 0, -1))
        return next(filter(None, above), 0)

    def note(self, path: tuple[str, ...], text: str) -> None:
        """Note a mistake about a key."""
        number = self.line(path)
        place = f"{self.name} line {number}" if number else self.name
        self._wrong.append((number, f"{place}: {text}"))

    def check(self) -> None:
        """Raise SchemaError if there are mistakes: all of them, in the order of their lines."""
        if self._wrong:
            raise self.error()

    def error(self) -> SchemaError:
        """Return the error that tells the mistakes that were noted."""
        texts = [text for _, text in sorted(self._wrong, key=lambda one: one[0])]
        if len(texts) == 1:
            return SchemaError(texts[0])
        more = [f"and {len(texts) - _MOST_TOLD} more."] if len(texts) > _MOST_TOLD else []
        told = [f"* {text}" for text in texts[:_MOST_TOLD]]
        return SchemaError("\n".join([f"{len(texts)} mistakes in the schema:", *told, *more]))


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
