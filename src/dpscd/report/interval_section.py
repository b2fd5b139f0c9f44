"""Effects with confidence intervals: a forest plot as a table, and all its numbers."""

import math
from dataclasses import dataclass, replace
from itertools import groupby

from dpscd.estimators.intervals import Intervals
from dpscd.preprocessing.column_features import declared_bounds
from dpscd.report.chart import chart_table, grouped, plot, reach, sign
from dpscd.report.html import Html, counted, data_table, each, html, joined, number, whole
from dpscd.report.subject import Subject

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Estimate:
    """One term of a summary."""

    term: str
    group: str  # column of the term
    label: str  # the part of the column
    widest: float  # range of the feature, 0 if its unit cannot be changed
    refused: str | None  # why there is no interval: then the numbers are NaN
    value: float  # this and the others as in the summary
    low: float
    high: float
    error: float
    p_value: float
    privacy: float

    @property
    def leaves_out_zero(self) -> bool:
        """Whether the interval does not contain 0."""
        return self.low > 0.0 or self.high < 0.0

    @property
    def extent(self) -> float:
        """Distance from 0 to the far end of the interval."""
        return max(abs(self.low), abs(self.high))


def estimates(subject: Subject, summary: Intervals) -> list[Estimate]:
    """Return the terms of a summary, the intercept last."""
    known = _places(subject)
    names = ("estimate", "low", "high", "std_error", "p_value", "privacy")
    found = []
    for row in summary.frame.to_dict(orient="records"):
        group, label, widest = known.get(str(row["term"]), ("", str(row["term"]), 0.0))
        term = str(row["term"]) if subject.schema else label
        numbers = (float(row[name]) for name in names)
        found.append(Estimate(term, group, label, widest, row["refused"], *numbers))
    return found


def _places(subject: Subject) -> dict[str, tuple[str, str, float]]:
    """Return column, label and width of the terms, by their names."""
    if subject.schema is None:
        widest = 2.0 * subject.facts.row_bound
        terms = subject.features or [f"x{k}" for k in range(subject.facts.d)]
        labels = subject.names
        return {term: ("", own, widest) for term, own in zip(terms, labels, strict=True)}
    found = {}
    for column in subject.schema.features:
        name = column.name
        found[f"{name}=(missing)"] = name, "(missing)", 0.0
        if column.kind == "category":
            against = f"{name}, against {column.values[0]}"
            for level in (*column.values, "(other)", "(missing)"):
                found[f"{name}={level}"] = against, str(level), 0.0
        elif column.kind == "number":
            low, high = declared_bounds(column, subject.bounds)
            term = f"log1p({name})" if column.transform else name
            width = high - low if not column.transform else 0.0
            found[term] = name, term, width
        else:
            found[name] = name, name, 0.0
    return found


def reach_of(shown: list[Estimate]) -> float:
    """Return the end of the axis for estimates, or for those whose unit cannot be changed."""
    fixed = [x for x in shown if not x.widest] or shown
    return reach([x.value for x in fixed], [x.extent for x in fixed])


def drawn(estimate: Estimate, end: float) -> Estimate:
    """Return an estimate for the power of ten of its feature that fills the axis best."""
    if not estimate.widest or not estimate.extent:
        return estimate
    power = math.floor(math.log10(end / estimate.extent))
    step = 10.0 ** min(power, math.floor(math.log10(estimate.widest)))
    if step == 1.0:
        return estimate
    numbers = {name: step * getattr(estimate, name) for name in ("value", "low", "high")}
    return replace(estimate, label=f"{estimate.label}, per {step:g}", **numbers)


_SHOWN = 60  # rows of the chart; the table has all


def interval_section(subject: Subject, summary: Intervals) -> Html:
    """Return the section on estimates with their confidence intervals."""
    every = estimates(subject, summary)
    sure = [x for x in every if x.refused is None]
    level = f"{100.0 * summary.level:g} %"
    odds = not subject.regression
    return joined(
        [
            _lead(sure),
            _about(subject, level, odds=odds),
            _chart(subject, sure, level, odds=odds),
            _numbers(sure, level, odds=odds),
            _refused([x for x in every if x.refused is not None]),
        ]
    )


def _lead(sure: list[Estimate]) -> Html:
    slopes = [x for x in sure if x.term != INTERCEPT]
    if not slopes:
        return html('<p class="lead">No effect has an interval: the noise hides them.</p>\n')
    return html(
        '<p class="lead">{} of {} differ clearly from zero.</p>\n',
        whole(sum(x.leaves_out_zero for x in slopes)),
        counted(len(slopes), "effect"),
    )


def _about(subject: Subject, level: str, *, odds: bool) -> Html:
    what = (
        "Each number belongs to one unit of the feature as it was given to the training."
        if subject.schema is None
        else "The effect of a number belongs to one unit of it, or one step of ordered values; "
        "that of a level compares it with the level named beside its column, all other columns "
        "being equal. The intercept belongs to a record whose numbers are 0 and whose levels "
        "are those."
    )
    scale = (
        "Estimates are changes of the log-odds; the odds ratio says by what the odds are "
        "multiplied."
        if odds
        else f"Estimates are changes of {subject.target or 'the prediction'}."
    )
    return html(
        "<p>{what} {scale}</p>\n"
        "<p>The <strong>interval</strong> at {level} counts both what chance there is in the "
        "records and the noise added for privacy; <strong>privacy</strong> is "
        "the share of that noise in the variance, the square of the standard error. {assume} "
        "Of 100 effects that are zero, about 5 seem clear by chance. Effects are associations: "
        "no interval says what would happen if somebody changed a column.</p>\n",
        what=what,
        scale=scale,
        level=level,
        assume=_assumption(subject, odds=odds),
    )


def _assumption(subject: Subject, *, odds: bool) -> str:
    if subject.facts.robust:
        person = subject.protected.is_person
        whose = ", clustered by person: records of one person may be alike" if person else ""
        return (
            f"Standard errors are robust (sandwich){whose}. They do not assume that the model "
            "is true: if it is not, the estimates describe the line that fits best."
        )
    spread = "" if odds else ", and that what it leaves spreads alike everywhere"
    curve = "the log-odds are" if odds else "the mean is"
    return f"Standard errors assume that the model is true: that {curve} a line{spread}."


def _chart(subject: Subject, sure: list[Estimate], level: str, *, odds: bool) -> Html:
    slopes = [x for x in sure if x.term != INTERCEPT]
    if not slopes:
        return html("")
    end = reach_of(slopes)
    shown = slopes[:_SHOWN]
    if len(slopes) > _SHOWN:
        clearest = sorted(slopes, key=lambda x: -abs(x.value) / x.error)[:_SHOWN]
        kept = set(map(id, clearest))
        shown = [x for x in slopes if id(x) in kept]
    parts = []
    for group, terms in groupby(shown, key=lambda x: x.group):
        own = list(terms)
        every = [drawn(x, end) for x in own]
        rows = [(x.label, _plot(x, end), _interval(x, odds=odds)) for x in every]
        alone = group != "" and len(own) == 1 and own[0].label in (group, f"log1p({group})")
        parts.append(grouped(group, rows, alone=alone))
    what = "Odds ratios" if odds else "Effects"
    part = f": the {_SHOWN} clearest" if len(slopes) > _SHOWN else ""
    return html(
        '<ul class="legend"><li>{out}<span>the interval leaves out {none}</span></li>'
        "<li>{within}<span>the interval contains {none}</span></li></ul>\n{chart}",
        out=sign("out", "far"),
        within=sign("within", "far"),
        none="1" if odds else "0",
        chart=chart_table(
            "weights forest",
            f"{what} with intervals at {level}, towards {subject.outputs[0]}{part}",
            (
                "Feature" if subject.schema is None else "Column or level",
                "Odds ratio, interval" if odds else "Estimate, interval",
            ),
            joined(parts),
            end,
            _odds if odds else float,
        ),
    )


def _plot(row: Estimate, end: float) -> Html:
    return plot(row.value, {"far": (row.low, row.high)}, end, out=row.leaves_out_zero)


def _interval(row: Estimate, *, odds: bool) -> Html:
    ends = row.value, row.low, row.high
    return html(
        '{} <span class="pm">({} to {})</span><span class="hidden">, {}</span>',
        *(number(_odds(x) if odds else x) for x in ends),
        "clear" if row.leaves_out_zero else "may be none",
    )


def _numbers(sure: list[Estimate], level: str, *, odds: bool) -> Html:
    """Return all numbers, per unit."""
    if not sure:
        return html("")
    headings = ["Term", "Estimate", f"{level} interval", "Std. error", "p-value", "Privacy"]
    if odds:
        headings += ["Odds ratio", f"{level} interval"]
    rows: list[list[str]] = []
    for x in sure:
        row: list[str] = [
            x.term,
            number(x.value, 4),
            _between(x.low, x.high),
            number(x.error),
            number(x.p_value, 2) if x.p_value >= 1e-3 else "< 0.001",
            f"{100.0 * x.privacy:.0f} %",
        ]
        if odds:
            row += [number(_odds(x.value), 4), _between(_odds(x.low), _odds(x.high), 4)]
        rows.append(row)
    return data_table("Estimates, per unit", headings, rows, numeric=len(headings) - 1)


def _odds(value: float) -> float:
    """Return the factor of odds for this increase of their logarithm."""
    return math.exp(min(value, 700.0))


def _between(low: float, high: float, digits: int = 3) -> Html:
    """Return an interval that is not broken into lines."""
    ends = number(low, digits), number(high, digits)
    return html('<span class="unbroken">{} to {}</span>', *ends)


def _refused(refused: list[Estimate]) -> Html:
    if not refused:
        return html("")
    items = each("<li>{}: {}.</li>", ((x.term, x.refused) for x in refused))
    return html("<h3>Without an interval</h3>\n<ul>{}</ul>\n", items)
