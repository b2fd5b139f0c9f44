"""The axis of charts made of tables: zero in the middle, as wide as the page."""

from collections.abc import Callable

from dpscd.report.html import Html, html, joined, number

__all__ = ["CUT", "at", "axis", "beyond", "is_cut"]

CUT = "An arrow at the end of a bar says that it goes on beyond the axis."
"""What is said below a chart in which a bar is cut."""


def axis(reach: float, shown: Callable[[float], float] = float) -> Html:
    """Return the numbers at both ends, `reach` from 0, and in the middle of an axis.

    `shown` converts a value to the printed number.
    """
    ends = ((-1.0, "start"), (0.0, "middle"), (1.0, "end"))
    marks = joined(
        html(
            '<text x="{x}" y="13" text-anchor="{anchor}">{text}</text>',
            x=f"{50.0 + 50.0 * end:g}%",
            anchor=anchor,
            text=number(shown(end * reach), 2),
        )
        for end, anchor in ends
    )
    return html(
        '<svg class="axis" width="100%" height="18" aria-hidden="true" focusable="false">'
        "{marks}</svg>",
        marks=marks,
    )


def at(value: float, reach: float) -> str:
    """Return the place of a value, as a part of the width, within the ends."""
    return f"{50.0 + 49.0 * max(-1.0, min(1.0, value / reach)):.2f}%"


def is_cut(low: float, high: float, reach: float) -> bool:
    """Return whether a bar extends beyond an end of the axis."""
    return low < -reach or high > reach


def beyond(low: float, high: float, reach: float) -> Html:
    """Return an arrow at each end of the axis beyond which a bar extends."""
    ends = (
        (low < -reach, "1%", "M1 -5 L-6 0 L1 5 Z"),
        (high > reach, "99%", "M-1 -5 L6 0 L-1 5 Z"),
    )
    return joined(
        html('<svg x="{x}" y="11"><path class="cut" d="{d}"/></svg>', x=x, d=d)
        for cut, x, d in ends
        if cut
    )
