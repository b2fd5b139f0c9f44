"""Plain values as readable YAML: blocks, and texts with one meaning."""

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["yaml_text"]


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
