"""Likely mistakes in a schema or a table, by what a look counted: NOT PRIVATE."""

import json
from collections.abc import Iterator

from dpscd.preprocessing.number_spellings import SPELLED
from dpscd.preprocessing.tallies import ListTally, NumberTally, Tally

__all__ = ["hints_of", "percent"]

_NEARLY_ALL = 0.9
_HALF = 0.5
_MANY = 0.05
_SOME = 0.005
_SPELLINGS = 5  # of one column that are named


def percent(share: float) -> str:
    """Return a share in percent; what is not quite none or all is not written as such."""
    if 0.0 < share < 0.0001:
        return "<0.01 %"
    if 0.9999 < share < 1.0:
        return ">99.99 %"
    return f"{100.0 * share:.4g} %"


def hints_of(tally: Tally) -> list[str]:
    """Return the likely mistakes of one column, each a sentence."""
    found: list[str] = []
    if isinstance(tally, ListTally):
        found += _of_lists(tally)
    elif isinstance(tally, NumberTally):
        found += _of_numbers(tally)
    missing = tally.missing - tally.declared
    if missing >= _HALF * tally.records:
        found.append(f"{percent(missing / tally.records)} of its cells are missing.")
    return [f"{tally.title}: {hint}" for hint in found]


def _of_lists(tally: ListTally) -> Iterator[str]:
    if tally.spellings:
        share = sum(tally.spellings.values()) / tally.records
        pairs = [pair for pair, _ in tally.spellings.most_common(_SPELLINGS)]
        rename = ", ".join(f"{json.dumps(a)} = {json.dumps(b)}" for a, b in pairs)
        yield (
            f"{percent(share)} of its cells are listed but for case, blanks or full stops; "
            f"rename = {{ {rename} }} takes them in."
        )
    left = tally.outside - sum(tally.spellings.values())
    if left >= _HALF * tally.records:
        what = (
            "none of the classes, and would count for nothing"
            if tally.kind == "target"
            else ("no truth values" if tally.kind == "boolean" else "not listed")
        )
        yield f"{percent(left / tally.records)} of its cells are {what}: written otherwise?"


def _of_numbers(tally: NumberTally) -> Iterator[str]:
    if tally.unread >= _SOME * tally.records:
        why = _why_unread(tally)
        share = percent(tally.unread / tally.records)
        yield f"{share} of its cells are no numbers, most {why}"
    if tally.three >= _MANY * tally.records and not tally.dotted:
        yield (
            f"{percent(tally.three / tally.records)} of its cells have a full stop before "
            "three digits, and none before fewer or more. They are read as decimals: if it "
            "parts thousands, take it out."
        )
    if tally.known:
        yield from _of_known(tally)


def _why_unread(tally: NumberTally) -> str:
    """Return how most cells are written that are no numbers."""
    spelled = tally.spelled.copy()
    if spelled["comma"]:  # then those before three digits are decimal ones too
        spelled["comma"] += spelled.pop("commas", 0)
    name, count = max(spelled.items(), key=lambda item: item[1], default=("", 0))
    return f"{SPELLED[name]}." if count >= _HALF * tally.unread else "texts: another kind?"


def _of_known(tally: NumberTally) -> Iterator[str]:
    outside = tally.outside - sum(tally.sentinels.values())
    if outside >= _MANY * tally.known:
        power = tally.decades.most_common(1)[0][0]
        yield (
            f"{percent(tally.outside / tally.known)} of its numbers are beyond the bounds, "
            f"most of them {_times(power)}: another unit, or not scaled?"
        )
        return
    for value, count in tally.sentinels.items():
        if count >= _SOME * tally.records:
            yield (
                f"{percent(count / tally.records)} of its cells are {value:g}, beyond the "
                f"bounds; if that means no answer, missing_values = [{value:g}] says so."
            )
    for side, at, near in (
        ("lowest", tally.low, tally.near_low),
        ("highest", tally.high, tally.near_high),
    ):
        away = tally.known - at
        if at >= _NEARLY_ALL * tally.known:
            yield (
                f"{percent(at / tally.known)} of its numbers are at the {side} bound: another "
                "unit, unless the column is like that."
            )
        if away and near >= _NEARLY_ALL * away:
            yield (
                f"{percent(near / away)} of its numbers that are not at the {side} bound are "
                "in the hundredth of the range next to it: bounds too wide, or another unit?"
            )


def _times(power: int) -> str:
    """Return in words how large numbers are, given the power of ten below, over the bound."""
    if power < 0:
        return "not larger in size than the bounds"
    if power == 0:
        return "less than 10 times as large as a bound"
    return f"{10**power:,} times as large as a bound, or more"
