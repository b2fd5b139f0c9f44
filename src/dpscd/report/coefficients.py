"""The coefficients of a model as a chart that is a table, with the band of the noise."""

from collections.abc import Iterable

from dpscd.report.html import Html, data_table, html, joined, number, whole
from dpscd.report.subject import Subject, Weight

__all__ = ["coefficients"]

_SHOWN = 24  # in the chart
_LISTED = 2000  # in the table of all; a page must stay a page


def coefficients(subject: Subject) -> Html:
    """Return the section on the model itself."""
    parts = [_intro(subject)]
    names = subject.outputs
    for output, name in enumerate(names):
        chart = joined([_chart(subject, output, name), _everything(subject, output, name)])
        if len(names) > 1:
            chart = html(
                '<details class="part"{open}><summary>Towards {name}</summary>{chart}</details>',
                open=Html(" open" if output == 0 else ""),
                name=name,
                chart=chart,
            )
        parts.append(chart)
    return joined(parts)


def _intro(subject: Subject) -> Html:
    return html(
        "<p>{units}</p>\n{noise}",
        units=f"{_units(subject)} {_scale(subject)}",
        noise=_noise(subject),
    )


def _units(subject: Subject) -> str:
    if subject.regression:
        what = subject.target or "the prediction"
        return f"Each weight says by how much {what} goes up or down."
    if subject.kind.startswith("logistic"):
        return "Each weight is a change of the log-odds: 0.7 doubles the odds, −0.7 halves them."
    return "Each weight is a change of the decision score; above zero the class is chosen."


def _scale(subject: Subject) -> str:
    if subject.schema is None:
        return "It belongs to one unit of the feature as it was given to the training."
    if subject.schema.rows != "scale":
        return "It belongs to a feature of a row that is divided by its own length."
    return (
        "It counts in full when a record has the value named; for a number, when it lies at "
        "its upper bound, and with the opposite sign at its lower bound."
    )


def _noise(subject: Subject) -> Html:
    if not subject.card.private:
        return html("<p>No noise was added to this model, so there are no bands.</p>\n")
    proved = (
        "For this kind of model (ridge regression) it is a proven upper bound."
        if subject.regression
        else "It is proved for ridge regression; for this kind of model it is an estimate, "
        "proved only for a training that has reached its optimum."
    )
    return html(
        "<p>The bar around a weight is the <strong>band of the noise</strong> that protects "
        "people: two standard deviations to each side. Weights whose band leaves out zero "
        "<strong>stand out</strong> (filled); the others (hollow) may be noise alone. {proved} "
        "The band needs no records to compute. It is not a confidence interval: chance in "
        "the records themselves comes on top.</p>\n",
        proved=proved,
    )


def _chart(subject: Subject, output: int, name: str) -> Html:
    every = subject.weights(output)
    chosen = sorted(every, key=lambda x: -x.lead)[:_SHOWN]
    out = sum(x.stands_out for x in every)
    reach = max((abs(x.value) + x.band for x in chosen), default=1.0) or 1.0
    groups = list(dict.fromkeys(x.group for x in chosen))
    kept = set(map(id, chosen))
    body = joined(
        _group(group, [x for x in every if id(x) in kept and x.group == group], reach)
        for group in groups
    )
    return html(
        "<p class=\"lead\">{sum}</p>\n"
        '<table class="weights"><caption>Weights towards {name}{part}</caption>\n'
        '<thead><tr><th scope="col">Value</th><th scope="col" class="plot">'
        '<span class="hidden">Chart</span>{axis}</th>'
        '<th scope="col" class="num">Weight{pm}</th></tr></thead>\n{body}</table>\n',
        sum=_summary(subject, len(every), out),
        name=name,
        part=f": the {len(chosen)} that lie furthest outside their band"
        if len(chosen) < len(every)
        else "",
        axis=_axis(reach),
        pm=" ± band" if subject.card.private else "",
        body=body,
    )


def _summary(subject: Subject, count: int, out: int) -> str:
    if not subject.card.private:
        return f"{whole(count)} weights."
    if count == 1:
        return "Its one weight " + ("stands out." if out else "may be noise alone.")
    return f"{whole(out)} of {whole(count)} weights stand out from the noise."


def _group(group: str, weights: list[Weight], reach: float) -> Html:
    head = html("")
    alone = len(weights) == 1 and weights[0].label == group
    if group and not alone:
        head = html(
            '<tr class="group"><th scope="rowgroup" colspan="3">{group}</th></tr>\n',
            group=group,
        )
    rows = joined(_row(x, reach, single=alone) for x in weights)
    return html("<tbody>{head}{rows}</tbody>\n", head=head, rows=rows)


def _row(weight: Weight, reach: float, *, single: bool) -> Html:
    return html(
        '<tr{kind}><th scope="row">{label}</th><td class="plot">{plot}</td>'
        '<td class="num">{value}{band}</td></tr>\n',
        kind=Html(' class="single"' if single else ""),
        label=weight.label,
        plot=_plot(weight, reach),
        value=number(weight.value),
        band=_plus_minus(weight),
    )


def _plus_minus(weight: Weight) -> Html:
    if not weight.band:
        return html("")
    return html(
        ' <span class="pm">± {band}</span><span class="hidden">, {word}</span>',
        band=number(weight.band, 2),
        word="stands out" if weight.stands_out else "within the noise",
    )


def _plot(weight: Weight, reach: float) -> Html:
    """Return a weight on its axis: positions are parts of whatever width there is."""
    return html(
        '<svg class="w{kind}" width="100%" height="22" aria-hidden="true" focusable="false">'
        '<line class="zero" x1="50%" x2="50%" y1="0" y2="22"/>'
        '<line class="band" x1="{low}" x2="{high}" y1="11" y2="11"/>'
        '<circle cx="{at}" cy="11" r="4.5"/></svg>',
        kind="" if weight.stands_out else " within",
        low=_at(weight.value - weight.band, reach),
        high=_at(weight.value + weight.band, reach),
        at=_at(weight.value, reach),
    )


def _axis(reach: float) -> Html:
    ends = ((-1.0, "start"), (0.0, "middle"), (1.0, "end"))
    marks = joined(
        html(
            '<text x="{x}" y="13" text-anchor="{anchor}">{text}</text>',
            x=f"{50.0 + 50.0 * end:g}%",
            anchor=anchor,
            text=number(end * reach, 2),
        )
        for end, anchor in ends
    )
    return html(
        '<svg class="axis" width="100%" height="18" aria-hidden="true" focusable="false">'
        "{marks}</svg>",
        marks=marks,
    )


def _at(value: float, reach: float) -> str:
    return f"{50.0 + 49.0 * max(-1.0, min(1.0, value / reach)):.2f}%"


def _everything(subject: Subject, output: int, name: str) -> Html:
    every = subject.weights(output)
    listed = every
    if len(every) > _LISTED:
        listed = sorted(every, key=lambda x: -x.lead)[:_LISTED]
    left = len(every) - len(listed)
    note = html("<p>{left} more are in the model file.</p>", left=whole(left))
    rows = _rows(subject, [subject.intercept(output), *listed])
    headings = ["Feature"] if subject.schema is None else ["Column", "Value"]
    names = len(headings)
    headings.append("Weight")
    if subject.card.private:
        headings += ["± band", "Stands out"]
    return html(
        "<details><summary>All {count} weights as a table</summary>{table}{note}</details>\n",
        count=whole(len(every)),
        table=data_table(
            f"All weights towards {name}", headings, rows, numeric=len(headings) - names
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
            rows[-1] += [number(x.band, 3), "yes" if x.stands_out else "no"]
    return rows
