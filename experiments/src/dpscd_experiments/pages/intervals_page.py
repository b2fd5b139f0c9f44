"""The results page of the bench of intervals: everything on it comes from stored rows."""

import math
from collections.abc import Sequence
from pathlib import PurePosixPath

from dpscd_experiments.experiments.chosen import markdown_table
from dpscd_experiments.experiments.intervals import LEVEL, PLAIN, Named
from dpscd_experiments.interval_tables import QUESTIONS
from dpscd_experiments.pages.intervals_rows import BAND, Line, Share, lines_of
from dpscd_experiments.store import Row

__all__ = ["numbers", "page", "verdict"]

_TITLES = {
    "ridge": "Ridge regression",
    "logistic": "Logistic regression",
}
_NONE = "-"


def page(
    fits: Sequence[Row],
    terms: Sequence[Row],
    designs: Sequence[Named],
    rows: Sequence[Row],
    quick: bool,
    figures: Sequence[str],
) -> str:
    """Return the page in Markdown."""
    kind = "Quick run: few designs and fits. " if quick else ""
    parts = ["# Intervals", kind + _opening(), numbers(fits, terms, designs, figures)]
    parts += ["## Skipped and failed", _trouble(rows)]
    parts += ["## Origin", _origin(rows)]
    return "\n\n".join(parts) + "\n"


def numbers(
    fits: Sequence[Row],
    terms: Sequence[Row],
    designs: Sequence[Named],
    figures: Sequence[str],
) -> str:
    """Return the sections that are made of results alone, with the figures."""
    lines = lines_of(fits, designs)
    pictures = {PurePosixPath(name).stem.removeprefix("intervals-"): name for name in figures}
    parts = []
    if lines:
        parts += ["## Coverage", verdict(lines), *_picture(pictures, "coverage")]
    for family, title in _TITLES.items():
        own = [line for line in lines if line.family == family]
        if own:
            parts += [f"## {title}", _table(own)]
    for name in dict.fromkeys(row["dataset"] for row in terms):
        asked = QUESTIONS[name]
        parts += [f"## {name}: {asked.words}", *_picture(pictures, name)]
        parts += [_terms([row for row in terms if row["dataset"] == name], asked.outcome)]
    return "\n\n".join(parts)


def verdict(lines: Sequence[Line]) -> str:
    """Return in words in how many lines coverage is what it should be, and in which not."""
    given = [(line, line.coverage) for line in lines if line.coverage is not None]
    low = [f"{_named(x)} ({_percent(share)})" for x, share in given if share.low]
    high = [f"{_named(x)} ({_percent(share)})" for x, share in given if share.high]
    none = [_named(line) for line in lines if line.coverage is None]
    some = [
        f"{_named(line)} ({100.0 * line.refused:.1f} %)"
        for line, _ in given
        if line.refused > 0.0
    ]
    inside = sum(BAND[0] <= share.value <= BAND[1] for _, share in given)
    band = f"{100.0 * BAND[0]:.1f} to {100.0 * BAND[1]:.1f} %"
    return "\n".join(
        [
            f"* Coverage lies in {band} in {inside} of {len(given)} lines.",
            f"* Below it by more than two standard errors: {_list(low)}.",
            f"* Above it by more than two standard errors: {_list(high)}.",
            f"* All intervals refused: {_list(none)}.",
            f"* Some refused (share of intervals): {_list(some)}.",
        ]
    )


def _opening() -> str:
    return (
        f"Intervals are at the level {100.0 * LEVEL:.0f} %. An interval covers if it contains "
        "the coefficient of the truth that the records were drawn from or, where the truth is "
        "no such model, the coefficient of the best one of the population. Coverage is pooled "
        "over coefficients and fits, the intercept apart, of the intervals that were given; "
        "after ±, its standard error, clustered by fit. A fit may refuse an interval where "
        "noise or the penalty rules; how often it did is shown beside. Every fit has "
        "coefficients, records and noise of its own, by its seed, from 0 up. Not private: the "
        "usual intervals of least squares or maximum likelihood on the same records, robust "
        "(HC0) where ours are. Width: that of ours over theirs, the median over coefficients "
        "and then over fits."
    )


def _table(lines: Sequence[Line]) -> str:
    head = ["design", "fits", "coverage, %", "not private, %", "width", "refused, %"]
    head += ["fits with any refused, %", "intercept, %"]
    body = [
        [
            line.words,
            str(line.fits),
            _percent(line.coverage),
            _percent(line.plain),
            f"{line.width:.2f}" if math.isfinite(line.width) else _NONE,
            f"{100.0 * line.refused:.1f}",
            f"{100.0 * line.any_refused:.1f}",
            _percent(line.intercept)
            + (
                f" ({100.0 * line.intercept_refused:.1f} refused)"
                if line.intercept_refused
                else ""
            ),
        ]
        for line in lines
    ]
    return markdown_table(head, body)


def _terms(rows: Sequence[Row], outcome: str) -> str:
    methods = list(dict.fromkeys((row["method"], row["epsilon"]) for row in rows))
    methods.sort(key=lambda method: -method[1])
    cells = {(row["term"], row["method"], row["epsilon"]): row for row in rows}
    body = [
        [term, *(_interval(cells.get((term, *method))) for method in methods)]
        for term in dict.fromkeys(row["term"] for row in rows)
    ]
    head = ["by", *(_method(*method) for method in methods)]
    words = f"{outcome[0].upper()}{outcome[1:]}: estimate, and the interval in brackets."
    return f"{words}\n\n{markdown_table(head, body)}"


def _method(method: str, epsilon: float) -> str:
    return "not private" if method == PLAIN else f"epsilon {epsilon:g}"


def _interval(row: Row | None) -> str:
    if row is None:
        return _NONE
    if not math.isfinite(row["low"]):
        return "refused"
    return f"{row['estimate']:.3g} ({row['low']:.3g}, {row['high']:.3g})"


def _percent(share: Share | None) -> str:
    if share is None or not math.isfinite(share.value):
        return _NONE
    return f"{100.0 * share.value:.1f} ± {100.0 * share.error:.1f}"


def _named(line: Line) -> str:
    return f"{line.family}, {line.words}"


def _list(words: Sequence[str]) -> str:
    return "; ".join(words) or "none"


def _picture(pictures: dict[str, str], name: str) -> list[str]:
    if name not in pictures:
        return []
    return [f"![{PurePosixPath(pictures[name]).stem}]({pictures[name]})"]


def _trouble(rows: Sequence[Row]) -> str:
    lines = dict.fromkeys(
        f"* {row['method']}, {row['dataset']}: {row['message']}"
        for row in rows
        if row["status"] != "ok"
    )
    return "\n".join(lines) or "Nothing."


def _origin(rows: Sequence[Row]) -> str:
    """Return which code made the rows; on which machine does not matter."""
    lines = dict.fromkeys(
        ", ".join(
            f"{part} {row[f'prov.{part}']}"
            for part in ("dpscd", "commit", "numpy", "numba", "python")
        )
        for row in rows
    )
    return "\n".join(f"* {words}." for words in lines)
