"""Checks of what a schema declares about several columns together."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from dpscd.errors import SchemaError
from dpscd.preprocessing.column_features import column_width
from dpscd.preprocessing.declarations import Column, Cross, Pair, Target
from dpscd.preprocessing.knots import MOST_IN_PAIRS, MOST_INTERVALS
from dpscd.preprocessing.pair_features import pair_width

__all__ = ["MOST_FEATURES", "check_monotone", "check_size", "checked_pairs", "checked_person"]

Complaint = Callable[[tuple[str, ...], str], SchemaError]

#: Features that a schema may ask for in all, whatever shapes follow from epsilon and n.
MOST_FEATURES = 1_000_000
_MOST_BINS = 1000
_WHERE = ("table", "pairs")


def checked_pairs(
    values: Any, columns: Sequence[Column], complain: Complaint
) -> tuple[Pair, ...]:
    """Return the pairs of plain values, or raise SchemaError.

    Each value is a list of two names, or a table with columns and bins.
    """
    if not isinstance(values, list | tuple):
        raise complain(_WHERE, 'pairs must be a list, such as [["month", "hour"]].')
    pairs: list[Pair] = []
    paired: set[frozenset[str]] = set()
    kinds = {column.name: column.kind for column in columns}
    for value in values:
        pair = _pair(value, complain)
        for name in pair.columns:
            if name not in kinds:
                raise complain(_WHERE, f"pairs: there is no column {name!r}.")
            if kinds[name] == "ignore":
                raise complain(_WHERE, f"pairs: column {name!r} is ignored.")
        if pair.columns[0] == pair.columns[1]:
            raise complain(_WHERE, f"pairs: column {name!r} is paired with itself.")
        if frozenset(pair.columns) in paired:
            both = " and ".join(map(repr, pair.columns))
            raise complain(_WHERE, f"pairs: {both} are paired twice.")
        pairs.append(pair)
        paired.add(frozenset(pair.columns))
    crossed = {" x ".join(pair.columns) for pair in pairs}
    if len(crossed) < len(pairs) or crossed & set(kinds):
        raise complain(_WHERE, "pairs: two pairs, or a pair and a column, have one name.")
    return tuple(pairs)


def _pair(value: Any, complain: Complaint) -> Pair:
    bins = None
    if isinstance(value, dict) and set(value) == {"columns", "bins"}:
        value, bins = value["columns"], value["bins"]
        if type(bins) is not int or not 1 <= bins <= _MOST_BINS:
            raise complain(_WHERE, f"pairs: bins must be an integer from 1 to {_MOST_BINS}.")
    two = isinstance(value, list | tuple) and len(value) == 2
    if not two or not all(isinstance(name, str) for name in value):
        raise complain(
            _WHERE,
            'pairs: each must be two names, ["month", "hour"], or '
            '{columns = ["month", "hour"], bins = 4}.',
        )
    return Pair((value[0], value[1]), bins)


def check_monotone(
    columns: Sequence[Column],
    pairs: Sequence[Pair],
    target: Target,
    rows: str,
    complain: Complaint,
) -> None:
    """Refuse a monotone column whose effect alone is not what a prediction follows."""
    paired = {name for pair in pairs for name in pair.columns}
    for column in columns:
        if column.monotone is None:
            continue
        reason = None
        if column.name in paired:
            reason = "it is in a pair, whose effect comes on top of its own"
        elif rows != "scale":
            reason = "rows are normalised, so its effect depends on the rest of a record"
        elif len(target.classes) > 2:
            reason = "the target has more than two classes, and each would have its own say"
        if reason:
            raise complain(
                ("columns", column.name, "monotone"),
                f"column {column.name!r} cannot be monotone: {reason}.",
            )


def check_size(columns: Sequence[Column], pairs: Sequence[Pair], complain: Complaint) -> None:
    """Refuse more features than MOST_FEATURES, at the column or pair that exceeds it."""
    used = {
        column.name: dataclasses.replace(column, shape="smooth", bins=MOST_INTERVALS)
        if column.undecided
        else column
        for column in columns
        if column.kind != "ignore"
    }
    total = 0
    for name, column in used.items():
        total += column_width(column)
        if total > MOST_FEATURES:
            raise complain(("columns", name), _too_many(f"column {name!r}"))
    for pair in pairs:
        first, second = (used[name] for name in pair.columns)
        cross = Cross(first, second, pair.bins or MOST_IN_PAIRS)
        total += pair_width(cross)
        if total > MOST_FEATURES:
            raise complain(_WHERE, _too_many(f"the pair {cross.name!r}"))


def _too_many(what: str) -> str:
    return f"with {what} there can be more than {MOST_FEATURES:,} features."


def checked_person(
    value: Any, columns: tuple[Column, ...], target: Target, complain: Complaint
) -> str | None:
    """Return the name of the column that identifies persons, or raise SchemaError."""
    where = ("table", "person")
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise complain(where, "person must be the name of one column.")
    if value == target.name:
        raise complain(
            where, f"column {value!r} is the target: it cannot identify persons as well."
        )
    if any(column.name == value and column.kind != "ignore" for column in columns):
        raise complain(
            where,
            f"column {value!r} identifies persons, so it must not be a feature: take "
            f'[columns.{value}] away, or give it kind = "ignore".',
        )
    return value
