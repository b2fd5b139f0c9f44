"""Markdown and YAML in which texts from a model's file are never markup."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MARKS = re.compile(r"[\\`*{}\[\]<>#|$~&!]|(?<!\w)_|_(?!\w)")


def plain(text: str) -> str:
    """Return a text without markup, for a sentence that holds names."""
    return _MARKS.sub(r"\\\g<0>", _shown(text))


def code(text: str) -> str:
    """Return a text as an inline code span, without markup, HTML or formulas."""
    shown = _shown(text)
    longest = max(map(len, re.findall("`+", shown)), default=0)
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


def yaml_text(values: Mapping[str, Any]) -> str:
    """Return nested mappings, lists, texts, numbers and truth values as block-style YAML.

    Keys are plain words of this library. A text is a literal block where that cannot be
    misread, and otherwise quoted as JSON, which YAML includes: no text can become a number, a
    date, a truth value or another key.
    """
    return "".join(f"{line}\n" for line in _mapping(values, ""))


def _mapping(values: Mapping[str, Any], indent: str) -> list[str]:
    lines = []
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            lines += [f"{indent}{key}:", *_mapping(value, indent + "  ")]
        elif isinstance(value, list | tuple) and value:
            lines += [f"{indent}{key}:", *(f"{indent}  - {_scalar(x)}" for x in value)]
        elif isinstance(value, str) and _fits_block(value):
            # "-": the text has no line end after its last line.
            lines.append(f"{indent}{key}: |-")
            lines += [f"{indent}  {line}" if line else "" for line in value.split("\n")]
        else:
            lines.append(f"{indent}{key}: {_scalar(value)}")
    return lines


def _fits_block(text: str) -> bool:
    """Return whether a text of several lines is the same inside a literal block."""
    lines = text.split("\n")
    return (
        len(lines) > 1
        and bool(lines[0] and lines[-1])
        and all(x.isprintable() and x == x.rstrip() for x in lines)
        and not lines[0].startswith(" ")
    )


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        text = json.dumps(value, allow_nan=False)
        if isinstance(value, float) and "." not in text:
            # Many readers want a point in a number: to them 1e-05 is a text.
            return text.replace("e", ".0e")
        return text
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(x if x.isprintable() else _escaped(x) for x in quoted)


def _escaped(sign: str) -> str:
    code = ord(sign)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
