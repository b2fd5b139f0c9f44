"""The coefficients of a model with their noise: a chart, maps of pairs, and a table of all."""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from dpscd.estimators.purpose import clear_words, prediction_note
from dpscd.estimators.shapes import BAND
from dpscd.report.chart import chart_table, grouped, plot, reach, sign
from dpscd.report.html import (
    Html,
    counted,
    data_table,
    each,
    fixed,
    html,
    joined,
    number,
    whole,
)
from dpscd.report.subject import Subject, Weight

_SHOWN = 24  # weights in the chart
_ROWS = 60  # effects in the chart, of whole columns
_VALUES = 9  # of a curve
_LISTED = 2000  # in the table of all; a page must stay a page

_MAPS = 6  # the clearest
_ACROSS, _DOWN = 12, 24  # values shown: a map must fit on a phone, and on a page
_SHADES = 5
_MINUS = "\u2212"


def coefficients(subject: Subject) -> Html:
    """Return the section on the model itself."""
    parts = [_intro(subject)]
    names = subject.outputs
    for output, name in enumerate(names):
        chart = _chart(subject, output, name)
        own = joined(
            [chart, pair_maps(subject, output, name), _everything(subject, output, name)]
        )
        if len(names) > 1:
            own = html(
                '<details class="part"{}><summary>Towards {}</summary>{}</details>\n',
                Html(" open" if output == 0 else ""),
                name,
                own,
            )
        parts.append(own)
    return joined(parts)


def _intro(subject: Subject) -> Html:
    purpose = prediction_note(subject.estimator, subject.noun)
    if subject.fit.has_intervals:
        purpose = (
            f"These are the {subject.noun}s that predictions are made with; estimates and "
            "confidence intervals are in the section before."
        )
    return html(
        "<p>{units}</p>\n{purpose}{noise}",
        units=f"{_units(subject)} {_scale(subject)}",
        purpose=html("<p>{text}</p>\n", text=purpose) if purpose else html(""),
        noise=_noise(subject),
    )


def _units(subject: Subject) -> str:
    words = subject.kind.weight
    if subject.facts.joint:
        words = (
            "Each weight is a change of the score of its class. Differences count: 0.7 more "
            "than in another class doubles the odds against that one, and what is the same in "
            "all changes nothing."
        )
    target = subject.schema.target.trained_on if subject.schema else None
    words = words.format(target=target or "the prediction")
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
        out=sign("out", "far", "near"),
        within=sign("within", "far", "near"),
    )


def _chart(subject: Subject, output: int, name: str) -> Html:
    # Pairs are maps.
    every = [x for x in subject.weights(output) if x.pair is None]
    chosen = _chosen(subject, every)
    end = reach([x.value for x in chosen], [abs(x.value) + x.band for x in chosen])
    places = _places(every)
    kept = set(map(id, chosen))
    shown = [x for x in every if id(x) in kept]
    parts = []
    for column in dict.fromkeys(x.group for x in chosen):
        own = [x for x in shown if x.group == column]
        rows = [(x.label, _plot(x, end), _numbers(x, places)) for x in own]
        alone = len(own) == 1 and own[0].label == column
        parts.append(grouped(column, rows, alone=alone))
    noun = subject.noun.capitalize()
    part = ": the clearest, by column" if len(chosen) < len(every) else ""
    return html(
        '<p class="lead">{sum}</p>\n{chart}',
        sum=_summary(subject, subject.weights(output)),
        chart=chart_table(
            "weights",
            f"{noun}s towards {name}{part}",
            (
                "Feature" if subject.schema is None else "Value",
                f"{noun} ± band" if subject.card.private else noun,
            ),
            joined(parts),
            end,
        ),
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


def _places(weights: list[Weight]) -> int:
    """Return how many decimal places show two digits of a typical band."""
    sizes = sorted(x.band or abs(x.value) / 10.0 for x in weights)
    typical = sizes[len(sizes) // 2]
    return max(0, min(8, 1 - math.floor(math.log10(typical)))) if typical > 0.0 else 2


def _plot(weight: Weight, end: float) -> Html:
    shares = {"far": 1.0, "near": 1.0 / BAND} if weight.band else {}
    bars = {
        name: (weight.value - share * weight.band, weight.value + share * weight.band)
        for name, share in shares.items()
    }
    return plot(weight.value, bars, end, out=weight.clear)


def _numbers(weight: Weight, places: int) -> Html:
    value = html("{}", fixed(weight.value, places))
    if not weight.band:
        return value
    return html(
        '{} <span class="pm">± {}</span><span class="hidden">, {}</span>',
        value,
        fixed(weight.band, places),
        weight.word,
    )


def pair_maps(subject: Subject, output: int, name: str) -> Html:
    """Return the maps of the clearest pairs of one output, if there are any."""
    effects = [x for x in subject.weights(output) if x.pair is not None]
    found = [list(own) for _, own in groupby(effects, key=lambda x: x.group)]
    if not found:
        return html("")
    maps = joined(_map(subject, own, name) for own in found[:_MAPS])
    left = len(found) - _MAPS
    more = html("<p>{} more pairs are in the table of all.</p>\n", left)
    return html(
        "<h3>Pairs</h3>\n<p>What a pair adds to the effects of its two columns, relative to "
        'the average of the pair: <span class="up3 key">blue</span> is more, '
        '<span class="down3 key">orange</span> less, and the stronger the further. A '
        "<strong>+</strong> or <strong>{minus}</strong> stands where the effect is clear. A "
        "part of what one column does alone can show up here too.</p>\n{maps}{more}",
        minus=_MINUS,
        maps=maps,
        more=more if left > 0 else html(""),
    )


def _map(subject: Subject, effects: Sequence[Weight], name: str) -> Html:
    group = effects[0].group
    first, second = subject.pair(group)
    cells = {x.pair: x for x in effects if x.pair is not None}
    down, across = (list(dict.fromkeys(key[side] for key in cells)) for side in (0, 1))
    if len(across) > len(down):
        cells = {(b, a): x for (a, b), x in cells.items()}
        first, second, down, across = second, first, across, down
    shown = len(down) * len(across)
    down = _thinned(down, _DOWN, subject, first, [(a, x) for (a, _), x in cells.items()])
    across = _thinned(across, _ACROSS, subject, second, [(b, x) for (_, b), x in cells.items()])
    most = max(abs(x.value) for x in effects) or 1.0
    part = len(down) * len(across) < shown
    tall = Html(' class="tall"' if max(map(len, across)) > 2 else "")
    return html(
        '<div class="scroll" role="region" tabindex="0" aria-label="{group}">'
        '<table class="map"><caption>{group}: effect towards {name}{part}, '
        "from {minus}{reach} to {reach}</caption>\n<thead><tr><th>{first} ↓ {second} →</th>"
        "{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n",
        group=group,
        name=name,
        part=", at some of the values" if part else "",
        minus=_MINUS,
        reach=number(most, 2),
        first=first,
        second=second,
        heads=each('<th scope="col"{}>{}</th>', ((tall, label) for label in across)),
        rows=each(
            '<tr><th scope="row">{}</th>{}</tr>\n',
            (
                (label, joined(_cell(cells.get((label, other)), most) for other in across))
                for label in down
            ),
        ),
    )


def _thinned(
    labels: list[str], most: int, subject: Subject, name: str, effects: list[tuple[str, Weight]]
) -> list[str]:
    """Return the shown labels: numbers at regular distances, else the clearest."""
    if len(labels) <= most:
        return labels
    if name in subject.numbers:
        return labels[:: -(-len(labels) // most)]
    clear: dict[str, tuple[bool, float]] = {}
    for label, effect in effects:
        clear[label] = max(clear.get(label, effect.clearness), effect.clearness)
    kept = sorted(labels, key=clear.__getitem__, reverse=True)[:most]
    return [label for label in labels if label in kept]


def _cell(effect: Weight | None, most: float) -> Html:
    """Return one shaded cell; an empty one for values that the model does not know."""
    if effect is None:
        return html("<td></td>")
    shade = round(_SHADES * abs(effect.value) / most)
    side = "up" if effect.value > 0.0 else "down"
    sign = ("+" if effect.value > 0.0 else _MINUS) if effect.clear else ""
    return html(
        '<td class="{}{}">{}<span class="hidden"> {} ± {}</span></td>',
        side,
        shade,
        sign,
        number(effect.value, 2),
        number(effect.band, 2),
    )


def _everything(subject: Subject, output: int, name: str) -> Html:
    every = subject.weights(output)
    listed = every if len(every) <= _LISTED else _clearest(every)[:_LISTED]
    left = len(every) - len(listed)
    note = html("<p>{} more are in the model file.</p>", whole(left)) if left else html("")
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
        note=note,
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
