"""Figures of intervals: coverage by design, and intervals of real tables."""

import math
from collections.abc import Sequence
from typing import Any

from dpscd_experiments.experiments.intervals_page import BAND, LEVEL, PLAIN, Line
from dpscd_experiments.interval_tables import QUESTIONS
from dpscd_experiments.store import Row
from dpscd_experiments.style import new_figure, quick_stamp

_OURS, _PLAIN = "#009e73", "0.55"
_COLOURS = ("#d55e00", "#0072b2", "#009e73")
_LEAST = 0.70  # coverage below is drawn here, with an arrow


def draw_coverage(lines: Sequence[Line], quick: bool) -> Any:
    """Return the figure of coverage: one panel per model, one line per design."""
    families = list(dict.fromkeys(line.family for line in lines))
    most = max(sum(line.family == family for line in lines) for family in families)
    figure, (panels,) = new_figure(6.0 * len(families), 1.8 + 0.3 * most, 1, len(families))
    for axes, family in zip(panels, families, strict=True):
        _draw_family(axes, [line for line in lines if line.family == family])
        axes.set_title(family)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    figure.suptitle(f"Share of {100.0 * LEVEL:.0f} % intervals that contain the truth")
    quick_stamp(figure, quick)
    return figure


def _draw_family(axes: Any, lines: Sequence[Line]) -> None:
    low, high = (100.0 * edge for edge in BAND)
    axes.axvspan(low, high, color=_OURS, alpha=0.12, lw=0.0, label=f"{low:.1f} to {high:.1f} %")
    axes.axvline(100.0 * LEVEL, color="black", lw=0.8)
    ways = (("not private", _PLAIN, "o", 0.18), ("ours, private", _OURS, "D", -0.12))
    for label, colour, marker, shift in ways:
        shares = [
            (place + shift, share)
            for place, line in enumerate(lines)
            if (share := line.coverage if marker == "D" else line.plain) is not None
        ]
        axes.errorbar(
            [100.0 * max(share.value, _LEAST) for _, share in shares],
            [place for place, _ in shares],
            xerr=[200.0 * share.error for _, share in shares],
            fmt=marker,
            color=colour,
            markersize=4.5,
            linewidth=1.0,
            label=f"{label} (two standard errors)",
        )
        for place, share in shares:
            if share.value < _LEAST:
                axes.text(100.0 * _LEAST, place, f"  {100.0 * share.value:.0f} %", va="center")
    words = [
        line.words + (f"\n{100.0 * line.refused:.0f} % refused" if line.refused > 0.005 else "")
        for line in lines
    ]
    axes.set_yticks(range(len(lines)), words, fontsize=7.5)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_xlim(right=100.5)
    axes.set_xlabel("coverage, percent")
    axes.grid(axis="x", alpha=0.3)


def draw_table(rows: Sequence[Row], quick: bool) -> Any:
    """Return the figure of a real table: intervals without privacy and with, term by term."""
    asked = QUESTIONS[rows[0]["dataset"]]
    methods = list(dict.fromkeys((row["method"], row["epsilon"]) for row in rows))
    methods.sort(key=lambda method: -method[1])
    terms = list(dict.fromkeys(row["term"] for row in rows))
    figure, axes = new_figure(9.0, 1.8 + 0.42 * len(terms))
    refused = set()
    for number, (method, epsilon) in enumerate(methods):
        own = [row for row in rows if (row["method"], row["epsilon"]) == (method, epsilon)]
        shift = 0.6 * ((number + 0.5) / len(methods) - 0.5)
        given = [row for row in own if math.isfinite(row["low"])]
        refused |= {(row["term"], epsilon) for row in own} - {
            (x["term"], epsilon) for x in given
        }
        plain = method == PLAIN
        axes.errorbar(
            [row["estimate"] for row in given],
            [terms.index(row["term"]) + shift for row in given],
            xerr=[
                [row["estimate"] - row["low"] for row in given],
                [row["high"] - row["estimate"] for row in given],
            ],
            fmt="o" if plain else "D",
            color="black" if plain else _COLOURS[(number - 1) % len(_COLOURS)],
            markersize=3.0,
            linewidth=1.2,
            label="not private" if plain else f"epsilon {epsilon:g}",
        )
    axes.axvline(0.0, color="0.4", lw=0.8)
    axes.set_yticks(range(len(terms)), [_label(term, refused) for term in terms], fontsize=8)
    axes.set_ylim(len(terms) - 0.5, -0.5)
    for edge in range(1, len(terms)):
        axes.axhline(edge - 0.5, color="0.9", lw=0.8)
    axes.set_xlabel(f"{asked.outcome}, {100.0 * LEVEL:.0f} % intervals")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle(f"{asked.name}: {asked.words}", fontsize=10)
    quick_stamp(figure, quick)
    return figure


def _label(term: str, refused: set[tuple[str, float]]) -> str:
    at = sorted(epsilon for name, epsilon in refused if name == term)
    if not at:
        return term
    return f"{term}\nrefused at epsilon {', '.join(f'{epsilon:g}' for epsilon in at)}"
