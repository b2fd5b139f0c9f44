"""Charts made of tables: an axis with zero in the middle, as wide as the page."""

from collections.abc import Callable, Iterable

from dpscd.report.html import Html, each, html, joined, number


def chart_table(
    kind: str,
    caption: str,
    headings: tuple[str, str],
    body: Html,
    end: float,
    shown: Callable[[float], float] = float,
) -> Html:
    """Return a table with a chart between the `headings` of its first and last column.

    Its axis goes `end` to both sides of 0; `shown` converts a value to the printed number.
    """
    sides = ((-1.0, "start"), (0.0, "middle"), (1.0, "end"))
    marks = each(
        '<text x="{}%" y="13" text-anchor="{}">{}</text>',
        ((f"{50.0 + 50.0 * x:g}", anchor, number(shown(x * end), 2)) for x, anchor in sides),
    )
    note = html("")
    if 'class="cut"' in body:  # text has no such quotes: they are escaped
        note = html(
            "<p>An arrow at the end of a bar says that it goes on beyond the axis.</p>\n"
        )
    return html(
        '<table class="{kind}"><caption>{caption}</caption>\n'
        '<thead><tr><th scope="col">{first}</th><th scope="col" class="plot">'
        '<span class="hidden">Chart</span>'
        '<svg class="axis" width="100%" height="18" aria-hidden="true" focusable="false">'
        "{marks}</svg></th>"
        '<th scope="col" class="num">{last}</th></tr></thead>\n{body}</table>\n{note}',
        kind=kind,
        caption=caption,
        first=headings[0],
        last=headings[1],
        marks=marks,
        body=body,
        note=note,
    )


def reach(values: list[float], extents: list[float]) -> float:
    """Return an end of the axis within which every value fits, but not the widest bars."""
    most = sorted(extents)[int(0.8 * (len(extents) - 1))]
    return max(most, 1.1 * max(map(abs, values))) or 1.0


def grouped(name: str, rows: Iterable[tuple[str, Html, Html]], *, alone: bool) -> Html:
    """Return rows (label, plot and numbers) under their name, unless it labels the only one."""
    head = html("")
    if name and not alone:
        head = html('<tr class="group"><th scope="rowgroup" colspan="3">{}</th></tr>\n', name)
    kind = "single" if alone else "" if name else "plain"
    lines = each(
        '<tr class="{}"><th scope="row">{}</th><td class="plot">{}</td>'
        '<td class="num">{}</td></tr>\n',
        ((kind, *row) for row in rows),
    )
    return html("<tbody>{}{}</tbody>\n", head, lines)


def plot(value: float, bars: dict[str, tuple[float, float]], end: float, *, out: bool) -> Html:
    """Return a value on the axis with its bars, the longest first."""
    lines = each(
        '<line class="{}" x1="{}" x2="{}" y1="11" y2="11"/>',
        ((name, _at(low, end), _at(high, end)) for name, (low, high) in bars.items()),
    )
    return html(
        '<svg class="w {kind}" width="100%" height="22" aria-hidden="true" focusable="false">'
        '<line class="zero" x1="50%" x2="50%" y1="0" y2="22"/>'
        '{lines}{arrows}<circle cx="{at}" cy="11" r="4.5"/></svg>',
        kind="out" if out else "within",
        lines=lines,
        arrows=joined(_arrows(*bar, end) for bar in list(bars.values())[:1]),
        at=_at(value, end),
    )


def sign(kind: str, *bars: str) -> Html:
    """Return the sign of a legend: a point with these bars, at most two."""
    places = ((2, 38), (11, 29))
    return html(
        '<svg class="w {}" width="40" height="16" aria-hidden="true" focusable="false">'
        '{}<circle cx="20" cy="8" r="4.5"/></svg>',
        kind,
        each(
            '<line class="{}" x1="{}" x2="{}" y1="8" y2="8"/>',
            ((name, *place) for name, place in zip(bars, places, strict=False)),
        ),
    )


def _at(value: float, end: float) -> str:
    """Return the place of a value, as a part of the width, within the ends."""
    return f"{50.0 + 49.0 * max(-1.0, min(1.0, value / end)):.2f}%"


def _arrows(low: float, high: float, end: float) -> Html:
    """Return an arrow at each end of the axis beyond which a bar extends."""
    sides = (
        (low < -end, "1%", "M1 -5 L-6 0 L1 5 Z"),
        (high > end, "99%", "M-1 -5 L6 0 L-1 5 Z"),
    )
    paths = (place for cut, *place in sides if cut)
    return each('<svg x="{}" y="11"><path class="cut" d="{}"/></svg>', paths)
