"""TOML of anybody's making: what would take the parser too deep, or too long, is refused."""

import re
import tomllib
from typing import Any

__all__ = ["read_toml"]

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


def read_toml(text: str) -> dict[str, Any]:
    """Return what an untrusted TOML text says, or raise TOMLDecodeError.

    The parser of Python recurses into brackets, and takes a time that grows with the square of
    the dots of a key.
    """
    depth = dots = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        depth += (kind == "open") - (kind == "close")
        dots = dots + 1 if kind == "dot" else dots if kind == "part" else 0
        if max(depth, dots) > _DEEPEST:
            what = "brackets within brackets" if depth > dots else "dots in a key"
            raise tomllib.TOMLDecodeError(f"more than {_DEEPEST} {what}")
    return tomllib.loads(text)
