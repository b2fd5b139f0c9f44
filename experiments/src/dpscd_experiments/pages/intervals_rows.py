"""What stored fits say about intervals: one row per fit, one line per design."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from dpscd_experiments.experiments.intervals import TABLES, Named
from dpscd_experiments.interval_designs import FAMILIES
from dpscd_experiments.interval_tables import QUESTIONS
from dpscd_experiments.store import Row

__all__ = ["BAND", "Line", "Share", "fits_of", "lines_of", "share_of", "terms_of"]

#: Coverage within these is called right.
BAND = (0.935, 0.965)

_DIGITS = 4


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
