"""JSON that means one thing: every key once, and numbers that are numbers."""

import json
from typing import Any

__all__ = ["read_json"]


def read_json(text: str | bytes) -> Any:
    """Return what JSON text says, or raise ValueError where readers could differ.

    Parameters
    ----------
    text : str or bytes
        Of anybody's making.

    Notes
    -----
    Of a key that stands twice one reader takes the first value and another the last, and
    NaN is a word that JSON does not have: a file with either could show one content to
    whoever checks it and another to whoever uses it.
    """
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice.")
    return found


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number of JSON.")
