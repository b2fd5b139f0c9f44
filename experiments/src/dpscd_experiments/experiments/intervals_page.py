"""What stored fits say about intervals: one row per fit, one line per design, and the page."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median
from typing import Any

from dpscd_experiments.experiment import load_spec
from dpscd_experiments.interval_designs import FAMILIES, Design, Family
from dpscd_experiments.interval_tables import QUESTIONS
from dpscd_experiments.store import Row
from dpscd_experiments.style import markdown_table

#: Of all intervals, and how many standard errors they reach.
LEVEL = 0.95
REACH = NormalDist().inv_cdf(0.5 + LEVEL / 2.0)

#: The method on real tables without privacy, and the experiment of their rows.
PLAIN, TABLES = "plain", "intervals-tables"

#: Coverage within these is called right.
BAND = (0.935, 0.965)

_DIGITS = 4
_TITLES = {
    "ridge": "Ridge regression",
    "logistic": "Logistic regression",
}
_NONE = "-"


@dataclass(frozen=True)
class Named:
    """A design as the bench's file has it."""

    name: str  # in rows, and on the page
    words: str
    design: Design  # what it is
    families: tuple[Family, ...]  # for which models
    seeds: int  # how many fits


@dataclass(frozen=True)
class Share:
    """A share of intervals that contain the truth, with a standard error over fits."""

    value: float
    error: float

    @property
    def low(self) -> bool:
        """Whether it is below the band by more than two standard errors."""
        return self.value + 2.0 * self.error < BAND[0]

    @property
    def high(self) -> bool:
        """Whether it is above the band by more than two standard errors."""
        return self.value - 2.0 * self.error > BAND[1]


@dataclass(frozen=True)
class Line:
    """What all fits of one model and design say."""

    family: str  # the model, and the design
    name: str
    words: str
    fits: int  # how many there are
    # Of coefficients, private and not; coverage is None where all were refused.
    coverage: Share | None
    plain: Share
    # Median over fits of the width over that without privacy; NaN where all were refused.
    width: float
    refused: float  # share of intervals that were refused, and of fits that refused any
    any_refused: float
    intercept: Share | None  # coverage of the intercept, if there is one
    intercept_refused: float  # share of fits that refused it


def fits_of(rows: Iterable[Row]) -> list[Row]:
    """Return one row per fit of generated records, with its metrics as columns."""
    found: dict[str, Row] = {}
    for row in rows:
        if row["experiment"] == TABLES:
            continue
        own = found.setdefault(
            row["cell"], {name: row[name] for name in ("dataset", "method", "epsilon", "seed")}
        )
        own[row["metric"]] = _short(row["value"])
    names = list(dict.fromkeys(name for own in found.values() for name in own))
    return [{name: own.get(name, math.nan) for name in names} for own in found.values()]


def terms_of(rows: Iterable[Row]) -> list[Row]:
    """Return one row per term of a real table and method, in the units that are shown."""
    found: dict[tuple[str, float], Row] = {}
    for row in rows:
        if row["experiment"] != TABLES:
            continue
        term = QUESTIONS[row["dataset"]].terms[int(row["at"])]
        own = found.setdefault(
            (row["cell"], row["at"]),
            {**{name: row[name] for name in ("dataset", "method", "epsilon")}, "term": term},
        )
        own[row["metric"]] = round(row["value"], _DIGITS)
    return list(found.values())


def lines_of(fits: Sequence[Row], designs: Sequence[Named]) -> list[Line]:
    """Return a line for each model and design of which there are fits."""
    by: dict[tuple[Any, Any], list[Row]] = {}
    for row in fits:
        by.setdefault((row["method"], row["dataset"]), []).append(row)
    return [
        _line(family, named, by[family, named.name])
        for family in FAMILIES
        for named in designs
        if (family, named.name) in by
    ]


def share_of(fits: Sequence[tuple[float, float]]) -> Share | None:
    """Return a share pooled over fits, clustered by fit."""
    total = math.fsum(count for _, count in fits)
    if not total:
        return None
    value = math.fsum(covered for covered, _ in fits) / total
    squares = math.fsum((covered - value * count) ** 2 for covered, count in fits)
    many = len(fits)
    return Share(value, math.sqrt(squares * many / max(many - 1, 1)) / total)


def _short(value: float) -> float:
    """Return a number as it is shown and stored: counts as whole numbers."""
    found = round(float(value), _DIGITS)
    return int(found) if found.is_integer() else found


def _line(family: str, named: Named, fits: Sequence[Row]) -> Line:
    terms = [row["intervals"] + row["refused"] for row in fits]
    widths = [row["width"] for row in fits if math.isfinite(row["width"])]
    plain = share_of([(x["plain_covered"], k) for x, k in zip(fits, terms, strict=True)])
    intercepts = [row["intercept_covered"] for row in fits] if named.design.intercept else []
    given = [x for x in intercepts if math.isfinite(x)]
    return Line(
        family,
        named.name,
        named.words,
        len(fits),
        share_of([(row["covered"], row["intervals"]) for row in fits]),
        plain or Share(math.nan, 0.0),
        median(widths) if widths else math.nan,
        math.fsum(row["refused"] for row in fits) / math.fsum(terms),
        fmean(row["refused"] > 0 for row in fits),
        share_of([(x, 1.0) for x in given]),
        1.0 - len(given) / len(intercepts) if intercepts else 0.0,
    )


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
    opening = kind + load_spec("intervals")["opening"].format(level=100.0 * LEVEL)
    parts = ["# Intervals", opening, numbers(fits, terms, designs, figures)]
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
    parts = []
    if lines:
        parts += ["## Coverage", verdict(lines), *_picture(figures, "coverage")]
    for family, title in _TITLES.items():
        own = [line for line in lines if line.family == family]
        if own:
            parts += [f"## {title}", _table(own)]
    for name in dict.fromkeys(row["dataset"] for row in terms):
        asked = QUESTIONS[name]
        parts += [f"## {name}: {asked.words}", *_picture(figures, name)]
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


def _picture(figures: Sequence[str], name: str) -> list[str]:
    file = f"intervals-{name}"
    return [f"![{file}]({file}.png)"] if file in figures else []


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
