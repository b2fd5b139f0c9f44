"""Checks of single values in a schema: bounds, lists, spellings, flags."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from dpscd.errors import SchemaError
from dpscd.preprocessing.cells import Listed, TruthCells, same_value
from dpscd.preprocessing.declarations import PRIVATE
from dpscd.preprocessing.lines import Lines

__all__ = ["MOST_BINS", "ValueChecks", "is_number", "listed"]

MOST_BINS = 1000
"""Intervals that a number may have."""

_MOST_VALUES = 100_000


class ValueChecks:
    """Checks one value of a schema at a time; complains with the line."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def transform(
        self,
        where: tuple[str, ...],
        title: str,
        values: dict[str, Any],
        bounds: tuple[float, float] | str,
    ) -> str | None:
        """Return what is done to numbers before scaling, None if nothing."""
        transform = values.get("transform")
        if transform not in (None, "log1p"):
            raise self.error((*where, "transform"), f"{title}: transform must be 'log1p'.")
        if transform and (bounds == PRIVATE or not float(bounds[0]) >= 0.0):
            raise self.error(
                (*where, "transform"),
                f"{title}: log1p needs declared bounds that begin at 0 or above.",
            )
        return None if transform is None else str(transform)

    def knots(
        self,
        where: tuple[str, ...],
        title: str,
        values: dict[str, Any],
        bounds: tuple[float, float] | str,
    ) -> tuple[float, ...]:
        """Return where declared intervals end."""
        if "knots" not in values:
            return ()
        if values.get("shape") not in ("steps", "smooth") or "bins" in values:
            raise self.error(
                (*where, "knots"),
                f"{title}: knots go with shape = 'steps' or 'smooth', and without bins.",
            )
        knots = values["knots"]
        good = isinstance(knots, list | tuple) and 1 <= len(knots) < MOST_BINS
        if good and all(map(is_number, knots)) and not isinstance(bounds, str):
            found = tuple(map(float, knots))
            every = (bounds[0], *found, bounds[1])
            if all(a < b for a, b in pairwise(every)):
                return found
        raise self.error(
            (*where, "knots"),
            f"{title}: knots must be numbers that grow, inside of declared bounds, fewer than "
            f"{MOST_BINS}.",
        )

    def bounds(
        self, where: tuple[str, ...], title: str, bounds: Any
    ) -> tuple[float, float] | str:
        """Return bounds: two numbers, or that they are private."""
        if bounds == PRIVATE:
            return PRIVATE
        pair = isinstance(bounds, list | tuple) and len(bounds) == 2
        if pair and all(map(is_number, bounds)):
            low, high = float(bounds[0]), float(bounds[1])
            if low < high and math.isfinite(high - low):
                return low, high
        raise self.error(
            (*where, "bounds"),
            f"{title} needs bounds = [lowest, highest], two numbers you know without looking "
            'at the records, or bounds = "private" to spend a part of the budget on them.',
        )

    def texts(
        self, where: tuple[str, ...], values: dict[str, Any], key: str
    ) -> tuple[str, ...]:
        """Return a list of different texts; numbers and booleans in it are spelt out."""
        found = values.get(key, [])
        if isinstance(found, list | tuple) and len(found) <= _MOST_VALUES:
            texts = tuple(_spelt(value) for value in found)
            if None not in texts and len(set(texts)) == len(texts):
                return tuple(str(text) for text in texts)
        raise self.error((*where, key), f"{key} must be a list of different texts or numbers.")

    def missing_values(
        self,
        where: tuple[str, ...],
        values: dict[str, Any],
        taken: Listed | TruthCells | None = None,
    ) -> tuple[str, ...]:
        """Return the cells that count as missing; `taken` says which are values."""
        found = self.texts(where, values, "missing_values")
        for text in found:
            if taken is not None and taken.code(text) >= 0:
                raise self.error(
                    (*where, "missing_values"),
                    f"{text!r} cannot be a value and stand for a missing one.",
                )
        return found

    def rename(
        self, where: tuple[str, ...], values: dict[str, Any], allowed: tuple[str, ...]
    ) -> Mapping[str, str]:
        """Return other spellings, each with its value."""
        found = values.get("rename", {})
        if isinstance(found, dict):
            pairs = {str(key).strip(): _spelt(value) for key, value in found.items()}
            if set(pairs.values()) <= set(allowed) and not set(pairs) & set(allowed):
                self.unequal(where, allowed, pairs)
                return {key: str(value) for key, value in pairs.items()}
        raise self.error(
            (*where, "rename"), "rename must map other spellings to one of the values each."
        )

    def unequal(
        self, where: tuple[str, ...], allowed: tuple[str, ...], rename: Mapping[str, Any]
    ) -> None:
        """Refuse values that are one number, which some tables cannot tell apart."""
        codes = {value: place for place, value in enumerate(allowed)}
        codes |= {key: codes[str(value)] for key, value in rename.items()}
        pair = same_value(codes)
        if pair:
            raise self.error(
                where,
                f"{pair[0]!r} and {pair[1]!r} are one value, which tables of numbers cannot "
                "tell apart; list one of them.",
            )

    def flag(
        self, where: tuple[str, ...], values: dict[str, Any], key: str, *, usual: bool = False
    ) -> bool:
        """Return a truth value."""
        found = values.get(key, usual)
        if type(found) is not bool:
            raise self.error((*where, key), f"{key} must be true or false.")
        return found

    def known(
        self,
        where: tuple[str, ...],
        values: dict[str, Any],
        names: set[str],
        title: str = "",
    ) -> None:
        """Refuse keys that are not among `names`."""
        foreign = [key for key in values if key not in names]
        if foreign:
            about = f"{title}: " if title else ""
            keys = ", ".join(map(repr, foreign))
            raise self.error(
                (*where, foreign[0]),
                f"{about}{keys} {'is' if len(foreign) == 1 else 'are'} not known here; use "
                f"{', '.join(sorted(names))}.",
            )

    def error(self, where: tuple[str, ...], text: str) -> SchemaError:
        """Return the error about a place of the schema, with its line."""
        return SchemaError(f"{self.lines.at(where)}: {text}")


def listed(values: tuple[str, ...], rename: Mapping[str, str]) -> Listed:
    """Return what gives declared values and their other spellings a code."""
    places = {value: place for place, value in enumerate(values)}
    return Listed(places | {key: places[value] for key, value in rename.items()})


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and no truth value."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return good and math.isfinite(value)


def _spelt(value: Any) -> str | None:
    """Return a value of a list as the text that a table's cell is compared with."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() else repr(value)
    if isinstance(value, int):
        return str(value)
    return value.strip() if isinstance(value, str) else None
