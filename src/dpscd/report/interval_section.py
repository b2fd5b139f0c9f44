"""Effects with confidence intervals: a forest plot as a table, and all its numbers."""

import math
from itertools import groupby

from dpscd.estimators.intervals import Intervals
from dpscd.information import ROBUST
from dpscd.report.axis import CUT, at, axis, beyond, is_cut
from dpscd.report.html import Html, counted, data_table, html, joined, number, whole
from dpscd.report.interval_rows import (
    INTERCEPT,
    Drawn,
    Estimate,
    drawn,
    estimates,
    reach_of,
)
from dpscd.report.subject import Subject

__all__ = ["interval_section"]

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
    clear = sum(x.leaves_out_zero for x in slopes)
    return html(
        '<p class="lead">{clear} of {count} differ clearly from zero.</p>\n',
        clear=whole(clear),
        count=counted(len(slopes), "effect"),
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
    person = subject.protected.is_person
    if subject.estimator.inference == ROBUST or person:
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
    reach = reach_of(slopes)
    shown = slopes[:_SHOWN]
    if len(slopes) > _SHOWN:
        clearest = sorted(slopes, key=lambda x: -abs(x.value) / x.error)[:_SHOWN]
        kept = set(map(id, clearest))
        shown = [x for x in slopes if id(x) in kept]
    cut = any(is_cut(*drawn(x, reach).ends[1:], reach) for x in shown)
    body = joined(
        _group(group, [drawn(x, reach) for x in own], reach, odds=odds)
        for group, own in groupby(shown, key=lambda x: x.group)
    )
    return html(
        '<ul class="legend"><li>{out}<span>the interval leaves out {none}</span></li>'
        "<li>{within}<span>the interval contains {none}</span></li></ul>\n"
        '<table class="weights forest"><caption>{what} with intervals at {level}, towards '
        "{name}{part}</caption>\n"
        '<thead><tr><th scope="col">{term}</th><th scope="col" class="plot">'
        '<span class="hidden">Chart</span>{axis}</th>'
        '<th scope="col" class="num">{kind}, interval</th></tr></thead>\n{body}</table>\n{cut}',
        out=_sign("out"),
        within=_sign("within"),
        none="1" if odds else "0",
        what="Odds ratios" if odds else "Effects",
        level=level,
        name=subject.outputs[0],
        part=f": the {_SHOWN} clearest" if len(slopes) > _SHOWN else "",
        term="Feature" if subject.schema is None else "Column or level",
        axis=axis(reach, _odds if odds else float),
        kind="Odds ratio" if odds else "Estimate",
        body=body,
        cut=html("<p>{text}</p>\n", text=CUT) if cut else html(""),
    )


def _group(group: str, rows: list[Drawn], reach: float, *, odds: bool) -> Html:
    head = html("")
    alone = len(rows) == 1 and group and not group.startswith(f"{rows[0].estimate.term},")
    alone = alone and rows[0].estimate.label in (group, f"log1p({group})")
    if group and not alone:
        head = html(
            '<tr class="group"><th scope="rowgroup" colspan="3">{group}</th></tr>\n',
            group=group,
        )
    kind = "single" if alone else "" if group else "plain"
    lines = joined(_row(x, reach, kind, odds=odds) for x in rows)
    return html("<tbody>{head}{lines}</tbody>\n", head=head, lines=lines)


def _row(row: Drawn, reach: float, kind: str, *, odds: bool) -> Html:
    value, low, high = map(_odds, row.ends) if odds else row.ends
    clear = row.estimate.leaves_out_zero
    return html(
        '<tr class="{kind}"><th scope="row">{label}</th><td class="plot">{plot}</td>'
        '<td class="num">{value} <span class="pm">({low} to {high})</span>'
        '<span class="hidden">, {word}</span></td></tr>\n',
        kind=kind,
        label=row.label,
        plot=_plot(row, reach),
        value=number(value),
        low=number(low),
        high=number(high),
        word="clear" if clear else "may be none",
    )


def _plot(row: Drawn, reach: float) -> Html:
    """Return an interval on its axis, with positions relative to the width."""
    value, low, high = row.ends
    return html(
        '<svg class="w {kind}" width="100%" height="22" aria-hidden="true" focusable="false">'
        '<line class="zero" x1="50%" x2="50%" y1="0" y2="22"/>'
        '<line class="far" x1="{low}" x2="{high}" y1="11" y2="11"/>'
        '{beyond}<circle cx="{at}" cy="11" r="4.5"/></svg>',
        beyond=beyond(low, high, reach),
        kind="out" if row.estimate.leaves_out_zero else "within",
        low=at(low, reach),
        high=at(high, reach),
        at=at(value, reach),
    )


def _sign(kind: str) -> Html:
    return html(
        '<svg class="w {kind}" width="40" height="16" aria-hidden="true" focusable="false">'
        '<line class="far" x1="2" x2="38" y1="8" y2="8"/>'
        '<circle cx="20" cy="8" r="4.5"/></svg>',
        kind=kind,
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
    return html(
        '<span class="unbroken">{low} to {high}</span>',
        low=number(low, digits),
        high=number(high, digits),
    )


def _refused(refused: list[Estimate]) -> Html:
    if not refused:
        return html("")
    items = joined(html("<li>{term}: {why}.</li>", term=x.term, why=x.refused) for x in refused)
    return html("<h3>Without an interval</h3>\n<ul>{items}</ul>\n", items=items)
