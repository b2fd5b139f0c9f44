"""HTML templates: text that is not marked as HTML is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["Html", "counted", "data_table", "fixed", "html", "joined", "number", "whole"]

_LONG = 40  # rows, beyond which a table scrolls in a frame of its own
_SHORT = 12  # rows of a table that stays on one page of paper


class Html(str):
    """Text that is HTML already and is not escaped."""

    __slots__ = ()


def html(template: str, **parts: Any) -> Html:
    """Return a template with its ``{marks}`` filled in.

    Notes
    -----
    Guarantee: parts that are not :class:`Html` become text, never markup or attributes: names
    of columns, classes and data sets come from users. Signs that do not print, those that
    turn the direction of writing among them, become a replacement sign.
    """
    return Html(template.format(**{name: _safe(part) for name, part in parts.items()}))


def joined(parts: Iterable[Html], between: str = "") -> Html:
    """Return concatenated pieces of HTML."""
    return Html(between.join(parts))


def data_table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], numeric: int = 0
) -> Html:
    """Return a table in a frame that scrolls when it is too wide, also by keyboard.

    The first cell of each row is its heading; the last `numeric` columns are numbers.
    """
    first = len(headings) - numeric

    def cell(place: int, content: Any) -> Html:
        if place == 0:
            return html('<th scope="row">{x}</th>', x=content)
        kind = Html(' class="num"' if place >= first else "")
        return html("<td{kind}>{x}</td>", kind=kind, x=content)

    head = joined(
        html(
            '<th scope="col"{kind}>{x}</th>',
            kind=Html(' class="num"' if place >= first else ""),
            x=heading,
        )
        for place, heading in enumerate(headings)
    )
    lines = [
        html("<tr>{cells}</tr>\n", cells=joined(cell(*pair) for pair in enumerate(row)))
        for row in rows
    ]
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
