"""Pairs of columns as maps: tables of shaded cells, signed where they are clear."""

from collections.abc import Sequence
from itertools import groupby

from dpscd.report.html import Html, html, joined, number
from dpscd.report.subject import Subject, Weight

__all__ = ["pair_maps"]

_MAPS = 6  # the clearest
_ACROSS, _DOWN = 12, 24  # values shown: a map must fit on a phone, and on a page
_SHADES = 5
_MINUS = "\u2212"


def pair_maps(subject: Subject, output: int, name: str) -> Html:
    """Return the maps of the clearest pairs of one output, if there are any."""
    effects = [x for x in subject.weights(output) if x.pair is not None]
    found = [list(own) for _, own in groupby(effects, key=lambda x: x.group)]
    if not found:
        return html("")
    maps = joined(_map(subject, own, name) for own in found[:_MAPS])
    left = len(found) - _MAPS
    return html(
        "<h3>Pairs</h3>\n<p>What a pair adds to the effects of its two columns, relative to "
        'the average of the pair: <span class="up3 key">blue</span> is more, '
        '<span class="down3 key">orange</span> less, and the stronger the further. A '
        "<strong>+</strong> or <strong>{minus}</strong> stands where the effect is clear. A "
        "part of what one column does alone can show up here too.</p>\n{maps}{more}",
        minus=_MINUS,
        maps=maps,
        more=html("<p>{n} more pairs are in the table of all.</p>\n", n=left)
        if left > 0
        else html(""),
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
    reach = max(abs(x.value) for x in effects) or 1.0
    part = len(down) * len(across) < shown
    return html(
        '<div class="scroll" role="region" tabindex="0" aria-label="{group}">'
        '<table class="map"><caption>{group}: effect towards {name}{part}, '
        "from {minus}{reach} to {reach}</caption>\n<thead><tr><th>{first} ↓ {second} →</th>"
        "{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n",
        group=group,
        name=name,
        part=", at some of the values" if part else "",
        minus=_MINUS,
        reach=number(reach, 2),
        first=first,
        second=second,
        heads=joined(
            html('<th scope="col"{tall}>{label}</th>', tall=_tall(across), label=label)
            for label in across
        ),
        rows=joined(
            html(
                '<tr><th scope="row">{label}</th>{cells}</tr>\n',
                label=label,
                cells=joined(_cell(cells.get((label, other)), reach) for other in across),
            )
            for label in down
        ),
    )


def _tall(labels: Sequence[str]) -> Html:
    return Html(' class="tall"' if max(map(len, labels)) > 2 else "")


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


def _cell(effect: Weight | None, reach: float) -> Html:
    """Return one shaded cell; an empty one for values that the model does not know."""
    if effect is None:
        return html("<td></td>")
    shade = round(_SHADES * abs(effect.value) / reach)
    side = "up" if effect.value > 0.0 else "down"
    sign = ("+" if effect.value > 0.0 else _MINUS) if effect.clear else ""
    return html(
        '<td class="{side}{shade}">{sign}<span class="hidden"> {value} ± {band}</span></td>',
        side=side,
        shade=shade,
        sign=sign,
        value=number(effect.value, 2),
        band=number(effect.band, 2),
    )
