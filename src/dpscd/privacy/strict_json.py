"""Strict JSON: each key once, and no NaN or infinity."""

import json
from typing import Any

__all__ = ["read_json"]


def read_json(text: str | bytes) -> Any:
    """Parse untrusted JSON text, or raise ValueError where parsers could differ.

    Of a repeated key one parser takes the first value and another the last, and NaN is not
    JSON: such a file could show one content to a checker and another to a user.
    """
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice.")
    return found


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number of JSON.")
