"""A small line over epsilon as SVG, with the model's own epsilon marked."""

import math
from dataclasses import dataclass

from dpscd.report.html import Html, html, joined, number

__all__ = ["LineChart"]

# In units of the drawing, which is as wide as a phone; text keeps its size there.
_WIDTH, _HEIGHT = 340.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 14.0, 16.0, 46.0


@dataclass(frozen=True)
class LineChart:
    """A line over epsilon, on a logarithmic axis."""

    title: str
    points: list[tuple[float, float]]  # epsilon and value
    own: float  # the epsilon to mark
    mark: str  # label of the marked epsilon
    unit: str = ""  # after each number of the axis
    # of a linear axis; without it the axis is logarithmic
    range_: tuple[float, float] | None = None

    def drawn(self) -> Html:
        """Return the chart as a figure; the table beside it has the numbers."""
        at = next(value for epsilon, value in self.points if epsilon == self.own)
        x, y = self._x(self.own), self._y(at)
        left = x > _WIDTH * 0.75
        rises = self.points[-1][1] > self.points[0][1]
        return html(
            '<figure><figcaption>{title}</figcaption><svg viewBox="0 0 {w} {h}" role="img" '
            'aria-label="{text}">{grid}<polyline points="{path}"/>'
            '<line class="own" x1="{x}" x2="{x}" y1="{top}" y2="{floor}"/>'
            '<circle class="own" cx="{x}" cy="{y}" r="5"/>'
            '<text class="own" x="{tx}" y="{ty}" text-anchor="{anchor}">{mark}</text>'
            '<text x="{mid}" y="{end}" text-anchor="middle">epsilon</text></svg></figure>\n',
            title=self.title,
            text=f"{self.title}, over epsilon from {self.points[0][0]:g} to "
            f"{self.points[-1][0]:g}: {self._say(0)} to {self._say(-1)}; {self.mark} at "
            f"epsilon {self.own:g}. The numbers are in the table below.",
            w=f"{_WIDTH:g}",
            h=f"{_HEIGHT:g}",
            grid=self._grid(),
            path=" ".join(f"{self._x(a):.1f},{self._y(b):.1f}" for a, b in self.points),
            x=f"{x:.1f}",
            y=f"{y:.1f}",
            top=f"{_TOP:g}",
            floor=f"{_HEIGHT - _BOTTOM:g}",
            tx=f"{x - 10 if left else x + 10:.1f}",
            # Where the line is not: below it when it rises, above when it falls.
            ty=f"{y + 20 if rises != left else max(_TOP + 12, y - 9):.1f}",
            anchor="end" if left else "start",
            mark=self.mark,
            mid=f"{(_LEFT + _WIDTH - _RIGHT) / 2:g}",
            end=f"{_HEIGHT - 6:g}",
        )

    def _say(self, place: int) -> str:
        return f"{number(self.points[place][1])}{self.unit}"

    def _grid(self) -> Html:
        parts = []
        for value in self._ticks():
            y = f"{self._y(value):.1f}"
            parts.append(
                html(
                    '<line class="grid" x1="{a}" x2="{b}" y1="{y}" y2="{y}"/>'
                    '<text x="{t}" y="{y}" dy="4" text-anchor="end">{text}</text>',
                    a=f"{_LEFT:g}",
                    b=f"{_WIDTH - _RIGHT:g}",
                    t=f"{_LEFT - 6:g}",
                    y=y,
                    text=f"{number(value)}{self.unit}",
                )
            )
        for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0):
            parts.append(
                html(
                    '<text x="{x}" y="{y}" text-anchor="middle">{text}</text>',
                    x=f"{self._x(epsilon):.1f}",
                    y=f"{_HEIGHT - _BOTTOM + 20:g}",
                    text=f"{epsilon:g}",
                )
            )
        return joined(parts)

    def _ends(self) -> tuple[float, float]:
        if self.range_:
            return self.range_
        values = [value for _, value in self.points if value > 0.0] or [1.0]
        low = 10.0 ** math.floor(math.log10(min(values)))
        high = 10.0 ** math.ceil(math.log10(max(values)))
        return low, max(high, 10.0 * low)

    def _ticks(self) -> list[float]:
        low, high = self._ends()
        if self.range_:
            return [low + (high - low) * part / 5.0 for part in range(6)]
        first, last = round(math.log10(low)), round(math.log10(high))
        step = max(1, (last - first) // 4)
        return [10.0**power for power in range(first, last + 1, step)]

    def _x(self, epsilon: float) -> float:
        first, last = (math.log10(end) for end in (self.points[0][0], self.points[-1][0]))
        share = (math.log10(epsilon) - first) / (last - first)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def _y(self, value: float) -> float:
        low, high = self._ends()
        if self.range_:
            share = (value - low) / (high - low)
        else:
            share = math.log10(max(value, low) / low) / math.log10(high / low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)
