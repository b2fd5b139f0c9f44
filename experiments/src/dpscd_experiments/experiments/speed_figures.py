"""Figures of speed: what an epoch costs, and how that grows."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from dpscd_experiments.speed.contests import AXES, Row
from dpscd_experiments.style import LOOKS, new_figure, quartiles

# Ratio of the ends of a logarithmic axis: small differences are not to look large.
_LEAST_RANGE = 10.0

#: Which method's look a contender has.
_LOOK_OF = {
    "ours, private": LOOKS["ours"],
    "ours, private, lazy noise": LOOKS["ours"] | {"linestyle": "--"},
    "ours, private, eager noise": LOOKS["published"],
    "ours, not private": LOOKS["plain"] | {"marker": "."},
    "Snap ML": LOOKS["snapml"],
}


def times_of(rows: Sequence[Row], contest: str, contender: str) -> dict[int, float]:
    """Return the seconds of a contender by turn."""
    return {
        row["turn"]: row["seconds"]
        for row in rows
        if row["status"] == "ok" and (row["contest"], row["contender"]) == (contest, contender)
    }


def draw_epochs(rows: Sequence[Row], quick: bool) -> Any:
    """Return the figure of the dense contest: nanoseconds a row of each contender."""
    own = [row for row in rows if row["contest"] == "dense"]
    n = own[0]["n"]
    found = []
    for contender in dict.fromkeys(row["contender"] for row in own):
        seconds = list(times_of(own, "dense", contender).values())
        if seconds:
            low, middle, high = (1e9 * value / n for value in quartiles(seconds))
            found.append((middle, low, high, contender))
    found.sort(reverse=True)
    figure, axes = new_figure(8.4, 0.6 + 0.36 * len(found))
    for place, (middle, low, high, contender) in enumerate(found):
        ours = contender.startswith("ours")
        colour = LOOKS["ours"]["color"] if ours else "0.6"
        axes.barh(place, middle, color=colour, height=0.7)
        axes.plot([low, high], [place, place], color="black", lw=1.2)
        axes.annotate(
            f"{middle:,.0f}" if middle >= 100.0 else f"{middle:.3g}",
            (max(middle, high), place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axes.set_yticks(range(len(found)), [contender for *_, contender in found])
    axes.set_xscale("log")
    positive = [middle for middle, *_ in found if middle > 0.0]
    axes.set_xlim(min(positive) / 2.0, max(positive) * 3.0)
    _plain_numbers(axes.xaxis)
    axes.set_xlabel("nanoseconds a row and epoch (median and quartiles of the turns)")
    axes.set_title(f"{n:,} x {own[0]['d']}, lots of {own[0]['lot']:,}; green: ours")
    axes.spines[["top", "right"]].set_visible(False)
    _stamp(figure, quick)
    return figure


def draw_growth(rows: Sequence[Row], quick: bool) -> Any:
    """Return the figure of the growth contests: one panel an axis."""
    figure, grid = new_figure(10.8, 6.6, 2, 3)
    shown: dict[str, Any] = {}
    for axes, (contest, label) in zip(grid.flat, AXES.items(), strict=True):
        own = [row for row in rows if row["contest"] == contest]
        if not own:
            axes.set_axis_off()
            continue
        for contender in dict.fromkeys(row["contender"] for row in own):
            points = _points(own, contest, contender)
            if points:
                at, low, middle, high = zip(*points, strict=True)
                look = _LOOK_OF[contender]
                shown[contender] = axes.plot(at, middle, **look)[0]
                axes.fill_between(at, low, high, color=look["color"], alpha=0.15, lw=0)
        _scale(axes, sorted({row["at"] for row in own}), contest == "growth-threads")
        axes.set_xlabel(label)
        axes.set_title(_fixed(own[0], contest), fontsize=9)
    for axes in grid[:, 0]:
        axes.set_ylabel("nanoseconds a row and epoch")
    figure.legend(
        shown.values(),
        shown.keys(),
        loc="outside lower center",
        ncols=len(shown),
        fontsize=9,
        handlelength=3.0,
    )
    _stamp(figure, quick)
    return figure


def _stamp(figure: Any, quick: bool) -> None:
    if quick:
        figure.suptitle("quick run: small sizes, few turns", fontsize=9, color="#b00020")


def _points(rows: Sequence[Row], contest: str, contender: str) -> list[tuple[float, ...]]:
    points = []
    for at in sorted({row["at"] for row in rows}):
        here = [row for row in rows if row["at"] == at]
        seconds = list(times_of(here, contest, contender).values())
        if seconds:
            points.append((at, *(1e9 * value / here[0]["n"] for value in quartiles(seconds))))
    return points


def _scale(axes: Any, ticks: Sequence[float], linear: bool) -> None:
    if linear:
        axes.set_ylim(bottom=0.0)
    else:
        axes.set_xscale("log")
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        wider = max(1.0, math.sqrt(_LEAST_RANGE * low / high))
        axes.set_ylim(low / wider, high * wider)
        _plain_numbers(axes.yaxis)
    axes.set_xticks(ticks, [_short(tick) for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(alpha=0.3)


def _plain_numbers(axis: Any) -> None:
    """Label a logarithmic axis at 1, 2, 5, 10 and so on."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.set_minor_formatter(NullFormatter())


def _short(number: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def _fixed(row: Row, contest: str) -> str:
    """Return the sizes that stay as they are along an axis."""
    moving = {"growth-n": "n", "growth-lot": "lot", "growth-entries": "entries"}
    words = {"n": "rows", "d": "columns", "entries": "non-zeros", "lot": "a lot"}
    moves = moving.get(contest, "d" if contest.endswith("d") else "")
    return ", ".join(
        f"{_short(row[name])} {word}"
        for name, word in words.items()
        if name != moves and row.get(name)
    )
