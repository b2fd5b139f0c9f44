"""HTML templates: text that is not marked as HTML is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_LONG = 40  # rows, beyond which a table scrolls in a frame of its own
_SHORT = 12  # rows of a table that stays on one page of paper


class Html(str):
    """Text that is HTML already and is not escaped."""

    __slots__ = ()


def html(template: str, *marks: Any, **parts: Any) -> Html:
    """Return a template with its marks, ``{}`` or ``{name}``, filled in.

    Guarantee: parts that are not :class:`Html` become text, never markup or attributes: names
    of columns, classes and data sets come from users. Signs that do not print, those that
    turn the direction of writing among them, become a replacement sign.
    """
    named = {name: _safe(part) for name, part in parts.items()}
    return Html(template.format(*map(_safe, marks), **named))


def each(template: str, rows: Iterable[Iterable[Any]]) -> Html:
    """Return a template once for each row of parts."""
    return joined(html(template, *row) for row in rows)


def joined(parts: Iterable[Html], between: str = "") -> Html:
    """Return concatenated pieces of HTML."""
    return Html(between.join(parts))


def data_table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], numeric: int = 0
) -> Html:
    """Return a table in a frame that scrolls when it is too wide, also by keyboard.

    The first cell of each row is its heading; the last `numeric` columns are numbers.
    """
    kinds = [Html()] * (len(headings) - numeric) + [Html(' class="num"')] * numeric
    head = each('<th scope="col"{}>{}</th>', zip(kinds, headings, strict=True))
    lines = []
    for first, *others in rows:
        cells = each("<td{}>{}</td>", zip(kinds[1:], others, strict=True))
        lines.append(html('<tr><th scope="row">{}</th>{}</tr>\n', first, cells))
    kind = (" wide" if len(headings) > 3 else "") + (
        " long" if len(lines) > _LONG else " short" if len(lines) <= _SHORT else ""
    )
    return html(
        '<div class="scroll{kind}" role="region" tabindex="0" aria-label="{caption}">'
        "<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>\n"
        "<tbody>{body}</tbody></table></div>\n",
        caption=caption,
        head=head,
        body=joined(lines),
        kind=kind,
    )


def number(value: float, digits: int = 3) -> str:
    """Return a number for readers: few digits, a true minus sign."""
    if value != 0.0 and not 1e-3 <= abs(value) < 1e5:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        text = f"{float(mantissa):.{digits}g}e{int(exponent)}"
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


def _safe(part: Any) -> str:
    if isinstance(part, Html):
        return part
    text = "".join(sign if sign.isprintable() else "\ufffd" for sign in str(part))
    return escape(text)
