"""Markdown in which names from a model's file are never markup."""

import re
from collections.abc import Iterable, Sequence

__all__ = ["bullets", "code", "plain", "table"]

_MARKS = re.compile(r"[\\`*{}\[\]<>#|$~&!]|(?<!\w)_|_(?!\w)")


def plain(text: str) -> str:
    """Return a text without markup, for a sentence that holds names."""
    return _MARKS.sub(r"\\\g<0>", _shown(text))


def code(text: str) -> str:
    """Return a text as an inline code span, without markup, HTML or formulas."""
    shown = _shown(text)
    longest = run = 0
    for sign in shown:
        run = run + 1 if sign == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    apart = " " if longest or not shown.strip() else ""
    return f"{fence}{apart}{shown}{apart}{fence}"


def _shown(text: str) -> str:
    return "".join(x if x.isprintable() else "\ufffd" for x in text)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a bar in a cell does not end it."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(
        f"| {' | '.join(x.replace('|', chr(92) + '|') for x in y)} |" for y in lines
    )


def bullets(items: Iterable[str]) -> str:
    """Return a list."""
    return "\n".join(f"* {item}" for item in items)
