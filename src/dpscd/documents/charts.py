"""Charts: where everything lies. Templates draw them as SVG, without scripts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from dpscd.rendering import number

_LETTERS = 40  # of the numbers below a chart, and between them

Points = Sequence[tuple[float, float]]

# In units of the drawing, which is as wide as a phone; text keeps its size there.
_WIDTH, _HEIGHT = 340.0, 212.0
_LEFT, _RIGHT, _TOP, _BOTTOM, _LABEL = 52.0, 14.0, 16.0, 28.0, 18.0

_SCALES: dict[str, Callable[[float], float]] = {
    "linear": float,
    "log": math.log10,
    "log1p": math.log1p,
}


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`, beyond which everything lies at its end."""

    low: float
    high: float
    label: str = ""
    unit: str = ""  # after each number
    scale: str = "linear"  # or 'log', 'log1p'
    marks: Sequence[float] = ()  # numbers beside it; few round ones if empty

    def share(self, value: float) -> float:
        """Return how far along a value lies, from 0 to 1."""
        scale = _SCALES[self.scale]
        low, high = scale(self.low), scale(self.high)
        return (scale(min(max(value, self.low), self.high)) - low) / ((high - low) or 1.0)

    @property
    def ticks(self) -> Sequence[float]:
        """The numbers beside the axis."""
        if self.marks:
            return [x for x in self.marks if self.low <= x <= self.high]
        if self.scale == "linear":
            return _round_numbers(self.low, self.high)
        first = math.floor(math.log10(max(self.low, 1.0 if self.scale == "log1p" else 1e-300)))
        last = math.ceil(math.log10(max(self.high, 1.0)) if self.high >= 1.0 else 0.0)
        step = max(1, (last - first) // 4)
        powers = [10.0**power for power in range(first, last + 1, step)]
        every = [0.0, *powers] if self.scale == "log1p" else powers
        return [x for x in every if self.low <= x <= self.high]


def _round_numbers(low: float, high: float) -> list[float]:
    """Return three to six round numbers between two."""
    size = 10.0 ** math.floor(math.log10((high - low) / 3.0))
    step = next(x * size for x in (5.0, 2.0, 1.0) if (high - low) / (x * size) >= 3.0)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


@dataclass(frozen=True)
class Chart:
    """Lines over one axis, with a band and points; `text` says the same in words."""

    title: str
    text: str
    x: Axis
    y: Axis
    line: Points
    band: Sequence[tuple[float, float, float]] = ()  # x, low and high
    other: Points = ()  # a line to compare with
    dots: Points = ()
    own: tuple[float, float, str] | None = None  # a point to mark, with its label

    width: ClassVar[float] = _WIDTH
    left: ClassVar[float] = _LEFT
    right: ClassVar[float] = _WIDTH - _RIGHT
    top: ClassVar[float] = _TOP
    floor: ClassVar[float] = _HEIGHT - _BOTTOM

    @property
    def height(self) -> float:
        """The height with the label of the axis, if it has one."""
        return _HEIGHT + (_LABEL if self.x.label else 0.0)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point lies in the drawing."""
        across = self.left + self.x.share(x) * (self.right - self.left)
        return round(across, 1), round(
            self.floor - self.y.share(y) * (self.floor - self.top), 1
        )

    @property
    def grid(self) -> list[tuple[float, str]]:
        """Heights of the lines of the grid, with their numbers."""
        return [(self.at(self.x.low, y)[1], f"{number(y)}{self.y.unit}") for y in self.y.ticks]

    @property
    def marks(self) -> list[tuple[float, str]]:
        """Places of numbers below, with their texts: as many as there is room for."""
        found = [(self.at(x, self.y.low)[0], f"{number(x)}{self.x.unit}") for x in self.x.ticks]
        return found[:: 1 + sum(len(text) + 2 for _, text in found) // _LETTERS]

    def path(self, points: Points) -> str:
        """Return points as SVG writes them."""
        return " ".join(f"{x:g},{y:g}" for x, y in (self.at(*point) for point in points))

    @property
    def area(self) -> str:
        """The band as a polygon."""
        there = [(x, high) for x, _, high in self.band]
        back = [(x, low) for x, low, _ in reversed(self.band)]
        return self.path([*there, *back])

    @property
    def marked(self) -> dict[str, float | str]:
        """Where the label of the marked point lies: beside the line, within the drawing."""
        if self.own is None:
            return {}
        x, y = self.at(*self.own[:2])
        left = x > self.width * 0.75
        below = (self.line[-1][1] > self.line[0][1]) != left
        side, anchor = (-10, "end") if left else (10, "start")
        high = y + 20 if below else max(self.top + 12, y - 9)
        return {
            "x": x,
            "y": y,
            "tx": x + side,
            "ty": high,
            "anchor": anchor,
            "label": self.own[2],
        }


def stepped(points: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Return the corners of steps whose middles are given: the first number of each is x."""
    places = [point[0] for point in points]
    middles = [(a + b) / 2.0 for a, b in pairwise(places)]
    ends = [2.0 * places[0] - middles[0], *middles, 2.0 * places[-1] - middles[-1]]
    return [
        (end, *point[1:])
        for place, point in enumerate(points)
        for end in ends[place : place + 2]
    ]


# --- bars -----------------------------------------------------------------------------------


def bar(
    names: tuple[str, str],
    value: float,
    ends: tuple[float, float],
    texts: tuple[str, str, str],
    axis: float,
    *,
    clear: bool,
) -> dict[str, Any]:
    """Return a row of a table with a bar, which lies between places in percent.

    `names` are group and label; `texts` the value, its band or the ends of its interval, and a
    word for those who listen. The axis goes to `axis` on both sides of zero.
    """
    low, high = ends
    places = (round(50.0 + 49.0 * max(-1.0, min(1.0, x / axis)), 2) for x in (value, *ends))
    return {
        **dict(zip(("group", "label"), names, strict=True)),
        **dict(zip(("value", "more", "word"), texts, strict=True)),
        **dict(zip(("place", "low", "high"), places, strict=True)),
        "clear": clear,
        "cut": (low < -axis, high > axis),  # whether it goes on beyond an end
    }


def bars(
    caption: str,
    headings: tuple[str, str],
    rows: Sequence[dict[str, Any]],
    ends: tuple[str, ...],
    *,
    from_zero: bool,
) -> dict[str, Any]:
    """Return a table with a bar in each row, in groups; `ends` are the numbers of its axis."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["group"], []).append(row)
    return {
        "caption": caption,
        "headings": headings,
        # Each with its name, and whether it has one row of its own name.
        "groups": [
            (name, len(own) == 1 and own[0]["label"] in (name, f"log1p({name})"), own)
            for name, own in found.items()
        ],
        "ends": ends,
        "from_zero": from_zero,
        "cut": any(any(row["cut"]) for row in rows),
    }


def reach(values: Sequence[float], extents: Sequence[float]) -> float:
    """Return an end of the axis within which every value fits, but not the widest bars."""
    most = sorted(extents)[int(0.8 * (len(extents) - 1))]
    return max(most, 1.1 * max(map(abs, values))) or 1.0


def axis_ends(end: float, shown: Callable[[float], float] = float) -> tuple[str, ...]:
    """Return the numbers of an axis with zero in the middle."""
    return tuple(number(shown(x), 2) for x in (-end, 0.0, end))
