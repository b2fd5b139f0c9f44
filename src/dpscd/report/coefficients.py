"""Chart of the coefficients of a model, as a table, with the noise band."""

import math
from collections.abc import Iterable
from itertools import groupby

from dpscd.estimators.purpose import clear_words, has_intervals, prediction_note
from dpscd.report.axis import CUT, at, axis, beyond, is_cut
from dpscd.report.html import Html, counted, data_table, fixed, html, joined, number, whole
from dpscd.report.pair_map import pair_maps
from dpscd.report.subject import BAND, Subject, Weight

__all__ = ["coefficients"]

_SHOWN = 24  # weights in the chart
_ROWS = 60  # effects in the chart, of whole columns
_VALUES = 9  # of a curve
_LISTED = 2000  # in the table of all; a page must stay a page


def coefficients(subject: Subject) -> Html:
    """Return the section on the model itself."""
    parts = [_intro(subject)]
    names = subject.outputs
    for output, name in enumerate(names):
        chart = joined(
            [
                _chart(subject, output, name),
                pair_maps(subject, output, name),
                _everything(subject, output, name),
            ]
        )
        if len(names) > 1:
            chart = html(
                '<details class="part"{open}><summary>Towards {name}</summary>'
                "{chart}</details>\n",
                open=Html(" open" if output == 0 else ""),
                name=name,
                chart=chart,
            )
        parts.append(chart)
    return joined(parts)


def _intro(subject: Subject) -> Html:
    return html(
        "<p>{units}</p>\n{purpose}{noise}",
        units=f"{_units(subject)} {_scale(subject)}",
        purpose=_purpose(subject),
        noise=_noise(subject),
    )


def _purpose(subject: Subject) -> Html:
    """Return what the numbers may be used for."""
    text = prediction_note(subject.estimator, subject.noun)
    if has_intervals(subject.estimator):
        text = (
            f"These are the {subject.noun}s that predictions are made with; estimates and "
            "confidence intervals are in the section before."
        )
    return html("<p>{text}</p>\n", text=text) if text else html("")


_MULTINOMIAL = (
    "Each weight is a change of the score of its class. Differences count: 0.7 more than in "
    "another class doubles the odds against that one, and what is the same in all changes "
    "nothing."
)


def _units(subject: Subject) -> str:
    if subject.is_multinomial:
        return _MULTINOMIAL.replace("weight", subject.noun)
    words = subject.kind.weight.format(target=subject.trained_on or "the prediction")
    return words.replace("weight", subject.noun)


def _scale(subject: Subject) -> str:
    if subject.schema is None:
        return "It belongs to one unit of the feature as it was given to the training."
    if subject.schema.rows != "scale":
        return "It belongs to a feature of a row that is divided by its own length."
    return (
        "It is what a record with the value named has more, or less, than the average of the "
        "column; between two values of a number it changes evenly. Values that the released "
        "means cannot tell from ones that no record has are left out."
    )


def _noise(subject: Subject) -> Html:
    if not subject.card.private:
        return html("<p>No noise was added to this model, so there are no bands.</p>\n")
    return html(
        "<p>The noise that protects people changes each {noun}: the <strong>band</strong> "
        "around it says by how much; the thick part is half of it. {band} It needs no records "
        "to compute, and is no confidence interval: chance in the records themselves comes on "
        "top.</p>\n"
        '<ul class="legend"><li>{out}<span><strong>clear</strong>: {clear}</span></li>'
        "<li>{within}<span><strong>not clear</strong>: all others</span></li></ul>\n"
        "<p>A model can predict well although few of its {noun}s are clear: the noise of many "
        "cancels out in a prediction, and columns that go together share what they "
        "explain.</p>\n",
        band=subject.band,
        clear=clear_words(subject.noun),
        noun=subject.noun,
        out=_sign("out"),
        within=_sign("within"),
    )


def _sign(kind: str) -> Html:
    return html(
        '<svg class="w {kind}" width="40" height="16" aria-hidden="true" focusable="false">'
        '<line class="far" x1="2" x2="38" y1="8" y2="8"/>'
        '<line class="near" x1="11" x2="29" y1="8" y2="8"/>'
        '<circle cx="20" cy="8" r="4.5"/></svg>',
        kind=kind,
    )


def _chart(subject: Subject, output: int, name: str) -> Html:
    # Pairs are maps.
    every = [x for x in subject.weights(output) if x.pair is None]
    chosen = _chosen(subject, every)
    reach = _reach(chosen)
    places = _places(every)
    cut = any(is_cut(x.value - x.band, x.value + x.band, reach) for x in chosen)
    groups = list(dict.fromkeys(x.group for x in chosen))
    kept = set(map(id, chosen))
    body = joined(
        _group(group, [x for x in every if id(x) in kept and x.group == group], reach, places)
        for group in groups
    )
    return html(
        '<p class="lead">{sum}</p>\n'
        '<table class="weights"><caption>{noun}s towards {name}{part}</caption>\n'
        '<thead><tr><th scope="col">{what}</th><th scope="col" class="plot">'
        '<span class="hidden">Chart</span>{axis}</th>'
        '<th scope="col" class="num">{noun}{pm}</th></tr></thead>\n{body}</table>\n{cut}',
        noun=subject.noun.capitalize(),
        sum=_summary(subject, subject.weights(output)),
        name=name,
        part=": the clearest, by column" if len(chosen) < len(every) else "",
        what="Feature" if subject.schema is None else "Value",
        axis=axis(reach),
        pm=" ± band" if subject.card.private else "",
        body=body,
        cut=html("<p>{text}</p>\n", text=CUT) if cut else html(""),
    )


def _chosen(subject: Subject, every: list[Weight]) -> list[Weight]:
    """Return the charted weights: whole columns of a table, some values of long ones."""
    if subject.noun == "weight":
        return _clearest(every)[:_SHOWN]
    chosen: list[Weight] = []
    for _, own in groupby(every, key=lambda x: x.group):
        column = list(own)
        step = math.ceil(len(column) / _VALUES)
        curve = step > 1 and column[0].group in subject.numbers
        part = column[::step] if curve else column
        if not chosen or len(chosen) + len(part) <= _ROWS:
            chosen += part
    return chosen


def _clearest(weights: list[Weight]) -> list[Weight]:
    return sorted(weights, key=lambda x: x.clearness, reverse=True)


def _summary(subject: Subject, weights: list[Weight]) -> str:
    count = len(weights)
    if not subject.card.private:
        return f"{counted(count, subject.noun)}, without noise."
    if count == 1:
        return f"Its one {subject.noun}: {weights[0].word}."
    clear = sum(x.clear for x in weights)
    return f"Clear: {whole(clear)} of {whole(count)} {subject.noun}s."


def _reach(weights: list[Weight]) -> float:
    """Return the end of the axis: every weight fits, but not the widest bands."""
    ends = sorted(abs(x.value) + x.band for x in weights)
    most = ends[int(0.8 * (len(ends) - 1))]
    return max(most, 1.1 * max(abs(x.value) for x in weights)) or 1.0


def _places(weights: list[Weight]) -> int:
    """Return how many decimal places show two digits of a typical band."""
    sizes = sorted(x.band or abs(x.value) / 10.0 for x in weights)
    typical = sizes[len(sizes) // 2]
    return max(0, min(8, 1 - math.floor(math.log10(typical)))) if typical > 0.0 else 2


def _group(group: str, weights: list[Weight], reach: float, places: int) -> Html:
    head = html("")
    alone = len(weights) == 1 and weights[0].label == group
    if group and not alone:
        head = html(
            '<tr class="group"><th scope="rowgroup" colspan="3">{group}</th></tr>\n',
            group=group,
        )
    rows = joined(
        _row(x, reach, places, kind="single" if alone else "" if group else "plain")
        for x in weights
    )
    return html("<tbody>{head}{rows}</tbody>\n", head=head, rows=rows)


def _row(weight: Weight, reach: float, places: int, *, kind: str) -> Html:
    band = html("")
    if weight.band:
        band = html(
            ' <span class="pm">± {band}</span><span class="hidden">, {word}</span>',
            band=fixed(weight.band, places),
            word=weight.word,
        )
    return html(
        '<tr class="{kind}"><th scope="row">{label}</th><td class="plot">{plot}</td>'
        '<td class="num">{value}{band}</td></tr>\n',
        kind=kind,
        label=weight.label,
        plot=_plot(weight, reach),
        value=fixed(weight.value, places),
        band=band,
    )


def _plot(weight: Weight, reach: float) -> Html:
    """Return a weight on its axis, with positions relative to the width."""
    lines = joined(
        html(
            '<line class="{name}" x1="{low}" x2="{high}" y1="11" y2="11"/>',
            name=name,
            low=at(weight.value - share * weight.band, reach),
            high=at(weight.value + share * weight.band, reach),
        )
        for name, share in (("far", 1.0), ("near", 1.0 / BAND))
        if weight.band
    )
    return html(
        '<svg class="w {kind}" width="100%" height="22" aria-hidden="true" focusable="false">'
        '<line class="zero" x1="50%" x2="50%" y1="0" y2="22"/>'
        '{lines}{beyond}<circle cx="{at}" cy="11" r="4.5"/></svg>',
        beyond=beyond(weight.value - weight.band, weight.value + weight.band, reach),
        kind="out" if weight.clear else "within",
        lines=lines,
        at=at(weight.value, reach),
    )


def _everything(subject: Subject, output: int, name: str) -> Html:
    every = subject.weights(output)
    listed = every
    if len(every) > _LISTED:
        listed = _clearest(every)[:_LISTED]
    left = len(every) - len(listed)
    note = html("<p>{left} more are in the model file.</p>", left=whole(left))
    rows = _rows(subject, [subject.intercept(output), *listed])
    headings = ["Feature"] if subject.schema is None else ["Column", "Value"]
    names = len(headings)
    headings.append(subject.noun.capitalize())
    if subject.card.private:
        headings += ["± band", "Says"]
    return html(
        "<details><summary>{count} as a table</summary>{table}{note}</details>\n",
        count=f"All {counted(len(every), subject.noun)}" if len(every) > 1 else "The weight",
        table=data_table(
            f"All {subject.noun}s towards {name}", headings, rows, numeric=len(headings) - names
        ),
        note=note if left else html(""),
    )


def _rows(subject: Subject, weights: Iterable[Weight]) -> list[list[str]]:
    rows = []
    for x in weights:
        names = [x.label]
        if subject.schema is not None:
            names = [x.group, x.label if x.label != x.group else ""]
        rows.append([*names, number(x.value, 4)])
        if subject.card.private:
            rows[-1] += [number(x.band, 3), x.word]
    return rows
