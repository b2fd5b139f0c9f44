"""On which line of a TOML text a key stands, for messages."""

import re
import tomllib
from typing import Any

from dpscd.preprocessing.toml_text import read_toml

__all__ = ["Lines"]

_HEADER = re.compile(r"^\s*\[([^\[\]].*?)\]\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*="""
)


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

    def at(self, path: tuple[str, ...]) -> str:
        """Return where a key is, as the beginning of a message."""
        for end in range(len(path), 0, -1):
            number = self._lines.get(path[:end])
            if number is not None:
                return f"{self.name} line {number}"
        return self.name


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
