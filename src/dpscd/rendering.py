"""Templates and how each format escapes: the one door of Jinja2.

Guarantee: what a template is given becomes text, never markup, whatever names of columns,
classes and data sets contain. HTML and SVG are escaped by Jinja2, Markdown by :func:`plain`,
and YAML and JSON are written by ``json.dumps``.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from shlex import quote
from textwrap import indent
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

_FOLDER = Path(__file__).with_name("templates")
_MARKS = re.compile(r"[\\`*{}\[\]<>#|$~&!]|(?<!\w)_|_(?!\w)")


def html_table(
    title: str,
    facts: Mapping[str, Any] | None = None,
    headings: Sequence[str] = (),
    rows: Iterable[Sequence[Any]] = (),
    note: str = "",
) -> str:
    """Return a fragment of HTML for notebooks: a title, named facts, a table and a note.

    Everything is text and is escaped; floats are shown with four digits.
    """
    return rendered(
        "notebook.html.j2",
        title=title,
        facts=facts or {},
        headings=headings,
        rows=[list(row) for row in rows],
        note=note,
    )


def rendered(template: str, **values: Any) -> str:
    """Return a template filled in; its ending, before ``.j2``, says how it is escaped."""
    return _environment(template.split(".")[-2]).get_template(template).render(values)


def filled(text: str, **values: Any) -> str:
    """Return a text with its values; what is made of it is escaped where it is put."""
    return _compiled(text).render(values)


@cache
def _compiled(text: str) -> Template:
    return _environment("text").from_string(text)


@cache
def _environment(kind: str) -> Environment:
    """Return the environment of templates with this ending; that of plain text is "text"."""
    escape = {
        "html": _printable, "md": _markdown, "yaml": _markdown, "json": _json, "toml": _json,
        "text": None,
    }[kind]  # fmt: skip
    found = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=kind == "html",  # noqa: S701 - the others are escaped by `finalize`
        finalize=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    shown = (number, whole, counted, capital, quoted, code, cells)
    found.filters |= {one.__name__: one for one in shown}
    found.filters |= {"yaml": yaml, "paragraphs": _paragraphs, "line": _line}
    found.filters |= {"raw": _Written, "text": _text, "shell": lambda x: _Written(quote(x))}
    found.tests["float"] = lambda value: isinstance(value, float)
    return found


# --- numbers and lists for readers ----------------------------------------------------------


def number(value: float, digits: int = 3) -> str:
    """Return a number for readers: few digits, a true minus sign."""
    if value != 0.0 and not 1e-3 <= abs(value) < 1e5:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        text = f"{float(mantissa):.{digits}g}e{int(exponent)}" if exponent else mantissa
    else:
        text = f"{value:.{digits}g}"
        if "e" in text:
            text = f"{float(text):.0f}"
    return text.replace("-", "\u2212")


def fixed(value: float, places: int) -> str:
    """Return a number with `places` decimals, for a column."""
    rounded = round(value, places) + 0.0  # no minus before a zero
    return f"{rounded:.{places}f}".replace("-", "\u2212")


def whole(value: float) -> str:
    """Return a count with separators between thousands."""
    return f"{value:,.0f}"


def counted(count: int, thing: str) -> str:
    """Return a count with its noun: "1 feature", "2,000 features"."""
    return f"{whole(count)} {thing}{'' if count == 1 else 's'}"


def capital(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def quoted(names: Sequence[str], most: int = 8) -> str:
    """Return names in quotation marks, as a part of a sentence."""
    shown = [f"“{name}”" for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


# --- escaping -------------------------------------------------------------------------------


class _Written(str):
    """Text that is escaped already, or is the owner's."""

    __slots__ = ()


def _shown(text: str) -> str:
    return "".join(x if x.isprintable() or x == "\n" else "\ufffd" for x in text)


def _printable(value: Any) -> Any:
    """Return a value without signs that do not print, such as those that turn writing round."""
    return _shown(value) if type(value) is str else value


def _markdown(value: Any) -> Any:
    return plain(value) if type(value) is str else value


def plain(text: str) -> str:
    """Return a text in which nothing is markup in Markdown; its line ends are spaces."""
    return _Written(_MARKS.sub(r"\\\g<0>", _shown(text).replace("\n", " ")))


def code(text: str) -> str:
    """Return a text as an inline code span, without markup, HTML or formulas."""
    shown = _shown(text).replace("\n", "\ufffd")
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    apart = " " if longest or not shown.strip() else ""
    return _Written(f"{fence}{apart}{shown}{apart}{fence}")


def cells(row: Iterable[str]) -> str:
    """Return a row of a table, in Markdown; a bar in a cell does not end it."""
    texts = (_markdown(cell).replace("|", "\\|") for cell in row)
    return _Written(f"| {' | '.join(texts)} |")


def _json(value: Any) -> str:
    """Return a value as JSON."""
    return value if isinstance(value, _Written) else json.dumps(value, allow_nan=False)


def _text(value: str) -> str:
    """Return a text as Python and JSON write it."""
    return _Written(json.dumps(value))


def _paragraphs(text: str) -> str:
    """Return Markdown with each paragraph on a line; lists and tables keep their lines."""
    parts = (part.strip() for part in re.split(r"\n\s*\n", text))
    lines = (x if x[:2] == "* " else _line(x) for x in parts if x)
    return _Written("\n\n".join(lines))


def _line(text: str) -> str:
    """Return a text on one line, for a heading or a cell."""
    return type(text)(" ".join(text.split()))


def yaml(value: Any, spaces: int = 0) -> str:
    """Return a text, number, truth value or list of texts as the value of a YAML key.

    A text of several lines is a literal block where that cannot be misread, and otherwise
    quoted as JSON, which YAML includes: no text can become a number, a date or another key.
    """
    if isinstance(value, list | tuple):
        return _Written("".join(f"\n{' ' * spaces}- {_scalar(x)}" for x in value) or "[]")
    if isinstance(value, str) and _fits_block(value):
        # "-": the text has no line end after its last line.
        return _Written(f"|-\n{indent(value, ' ' * spaces)}")
    return _Written(_scalar(value))


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
    shown = json.dumps(value, ensure_ascii=False)
    return "".join(x if x.isprintable() else _escaped(x) for x in shown)


def _escaped(sign: str) -> str:
    point = ord(sign)
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
