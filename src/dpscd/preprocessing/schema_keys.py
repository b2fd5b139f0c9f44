"""The keys of a schema: what may stand there, and what is kept of it.

A key's reader takes its value and what was read before it in the same table, and returns what
the schema keeps, or raises SchemaError.
"""

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from dpscd.errors import SchemaError
from dpscd.preprocessing.column_features import scaled_knots
from dpscd.preprocessing.declarations import PRIVATE, Column
from dpscd.records.cells import Listed, TruthCells, grouped_text, places_of, same_value, spelt

MOST_BINS = 1000  # intervals of a number
_MOST_VALUES = 100_000
_LONGEST = 100  # signs of a prefix

Found = Mapping[str, Any]  # values of a table that were read before, by their keys
Reader = Callable[[Any, Found], Any]


def _range(value: Any) -> tuple[float, float] | None:
    """Return two numbers in order whose difference is finite; None if they are none."""
    if isinstance(value, list | tuple) and len(value) == 2 and all(map(is_number, value)):
        low, high = float(value[0]), float(value[1])
        if low < high and math.isfinite(high - low):
            return low, high
    return None


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and no truth value."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    return good and math.isfinite(value)


def _spelt(value: Any) -> str | None:
    """Return a value of a list as the text that a table's cell is compared with."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return spelt(value)
    return value.strip() if isinstance(value, str) else None


def _flag(value: Any, _: Found) -> bool:
    if type(value) is not bool:
        raise SchemaError("{key} must be true or false.")
    return value


def one_of(*allowed: str) -> Callable[[Any, Found], str]:
    """Return what reads one of some words."""
    *most, last = map(repr, allowed)
    words = f"{', '.join(most)} or {last}" if most else last

    def choice(value: Any, _: Found) -> str:
        if value not in allowed:
            raise SchemaError(f"{{key}} must be {words}.")
        return str(value)

    return choice


def _sign(value: Any, _: Found) -> str:
    one = isinstance(value, str) and len(value) == 1 and value.isascii()
    if not one or value in '"\r\n':
        raise SchemaError("{key} must be one sign of ASCII, not a quote or line end.")
    return str(value)


def texts_of(value: Any, _: Found) -> tuple[str, ...]:
    """Return a list of different texts; numbers and booleans in it are spelt out."""
    if isinstance(value, list | tuple) and len(value) <= _MOST_VALUES:
        texts = tuple(str(_spelt(own)) for own in value)
        if None not in map(_spelt, value) and len(set(texts)) == len(texts):
            return texts
    raise SchemaError("{key} must be a list of different texts or numbers.")


def _listed(least: int, text: str) -> Callable[[Any, Found], tuple[str, ...]]:
    """Return what reads so many different texts or more; `text` says what there must be."""

    def listed(value: Any, found: Found) -> tuple[str, ...]:
        texts = () if value is None else texts_of(value, found)
        if len(texts) < least:
            raise SchemaError(text)
        _check_apart(texts, {})
        return texts

    return listed


def _check_apart(values: tuple[str, ...], rename: Mapping[str, str]) -> None:
    """Refuse two values that are one number or truth value: :class:`Listed` requires it."""
    if same := same_value(places_of(values, rename)):
        raise SchemaError(
            f"{same[0]!r} and {same[1]!r} are one value, which tables of numbers cannot tell "
            "apart; list one of them."
        )


_VALUES = "needs values, those it can have; fill them in from what you know, not the records."


def _bounds(value: Any, _: Found) -> tuple[float, float] | str:
    if value == PRIVATE:
        return PRIVATE
    if two := _range(value):
        return two
    raise SchemaError(
        "needs bounds = [lowest, highest], two numbers you know without looking at the "
        'records, or bounds = "private" to spend a part of the budget on them.'
    )


def _transform(value: Any, found: Found) -> str:
    bounds = found.get("bounds", (0.0, 1.0))
    if isinstance(bounds, str) or bounds[0] < 0.0:
        raise SchemaError("log1p needs declared bounds that begin at 0 or above.")
    return one_of("log1p")(value, found)


def _bins(value: Any, found: Found) -> int:
    if not (type(value) is int and 2 <= value <= MOST_BINS):
        raise SchemaError(f"bins must be an integer from 2 to {MOST_BINS}.")
    if found.get("shape") in ("auto", "line"):
        raise SchemaError("bins go with shape = 'steps' or 'smooth', or none.")
    return value


def _knots(value: Any, found: Found) -> tuple[float, ...]:
    if found.get("shape") not in ("steps", "smooth") or "bins" in found:
        raise SchemaError("knots go with shape = 'steps' or 'smooth', and without bins.")
    bounds = found.get("bounds", PRIVATE)
    good = isinstance(value, list | tuple) and 1 <= len(value) < MOST_BINS
    if not (good and all(map(is_number, value)) and not isinstance(bounds, str)):
        value = (math.inf,)
    knots = tuple(map(float, value))
    if not all(a < b for a, b in pairwise((bounds[0], *knots, bounds[1]))):
        raise SchemaError(
            "knots must be numbers that grow, inside of declared bounds, fewer than "
            f"{MOST_BINS}."
        )
    own = Column("", "number", bounds, found.get("transform"), knots=knots)
    if not (np.diff(scaled_knots(own, *bounds)) > 0.0).all():
        raise SchemaError("knots are too close together for such bounds.")
    return knots


def _integer(value: Any, found: Found) -> bool:
    bounds = found.get("bounds", (0.0, 1.0))
    whole = not isinstance(bounds, str) and all(
        # Beyond, knots between whole numbers are one in double precision, or their logarithms.
        bound.is_integer() and abs(bound) < 2.0**40
        for bound in bounds
    )
    if _flag(value, found) and not whole:
        raise SchemaError("integer needs declared bounds that are whole numbers, below 1e12.")
    return bool(value)


def _cyclic(value: Any, found: Found) -> bool:
    if not _flag(value, found):
        return False
    bounds, shape = found.get("bounds", (0.0, 9.0)), found.get("shape")
    foreign = [key for key in ("monotone", "knots", "transform") if key in found]
    if foreign or isinstance(bounds, str):
        what = foreign[0] if foreign else "private bounds"
        raise SchemaError(f"a cyclic column has no {what}.")
    few = "bins" in found and (found["bins"] < 3 or shape is None)
    if few or shape not in (None, "auto", "smooth"):
        raise SchemaError(
            "a cyclic column has shape = 'smooth', with 3 bins or more, or 'auto'."
        )
    if found.get("integer") and bounds[1] - bounds[0] < 2.0:
        raise SchemaError("a cyclic column has three whole numbers or more.")
    return True


def _missing(value: Any, found: Found) -> str | float:
    """Return the replacement of a missing value."""
    usual = Column("", **found).usual_missing
    if value in (usual, "column", *found.get("values", ())):
        return str(value)
    if found["kind"] != "number":
        stand_in = " or one of its values" if "values" in found else ""
        raise SchemaError(f"missing must be {usual!r}, 'column'{stand_in}.")
    bounds = found.get("bounds", PRIVATE)
    low, high = (-math.inf, math.inf) if isinstance(bounds, str) else bounds
    if is_number(value) and low <= value <= high:
        return float(value)
    raise SchemaError(f"missing must be {usual!r}, 'column' or a number within bounds.")


def _missing_values(value: Any, found: Found) -> tuple[str, ...]:
    """Return the cells that count as missing, none of which may be a value."""
    listed = found.get("values", found.get("classes", ()))
    taken: Any = TruthCells() if found.get("kind") == "boolean" else None
    if listed:
        taken = Listed(places_of(listed, found.get("rename", {})))
    for text in (texts := texts_of(value, found)):
        if taken is not None and taken.code(text) >= 0:
            raise SchemaError(f"{text!r} cannot be a value and stand for a missing one.")
    return texts


def _rename(value: Any, found: Found) -> Mapping[str, str]:
    """Return other spellings, each with its value; no two values may be one number."""
    allowed = found.get("values", found.get("classes", ()))
    given = value if isinstance(value, dict) else {"": None}
    pairs = {str(key).strip(): _spelt(own) for key, own in given.items()}
    if not set(pairs.values()) <= set(allowed) or set(pairs) & set(allowed):
        raise SchemaError("{key} must map other spellings to one of the values each.")
    renamed = {key: str(own) for key, own in pairs.items()}
    _check_apart(allowed, renamed)
    return renamed


def _group(value: Any, found: Found) -> Mapping[str, Any]:
    """Return by what cells are compared with the values: a prefix or a mapping."""
    values = found.get("values", ())
    kind, own = next(iter(value.items()), ("", 0)) if isinstance(value, dict) else ("", 0)
    if kind == "mapping" and isinstance(own, dict):
        own = {str(start).strip(): text for start, text in own.items()}
        good = own and "" not in own and all(text in values for text in own.values())
    else:
        good = kind == "prefix" and type(own) is int and 1 <= own <= _LONGEST
    if not good or len(value) != 1:
        raise SchemaError(
            "group must be { prefix = k } with a whole number of signs from 1 to "
            f"{_LONGEST}, or {{ mapping = {{ ... }} }} from beginnings of cells to values."
        )
    for text in (*values, *found.get("rename", {})):
        if grouped_text(text, {kind: own}) != text:
            raise SchemaError(f"by its group no cell can be {text!r}, which is listed.")
    return {kind: own}


def _exposure(value: Any, found: Found) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SchemaError("exposure must be the name of one column.")
    if isinstance(found.get("bounds", PRIVATE), str) or "transform" in found:
        raise SchemaError("exposure is for counts, with declared bounds and no transform.")
    return value


def _exposure_bounds(value: Any, _: Found) -> tuple[float, float]:
    two = _range(value)
    if two is None or two[0] <= 0.0:
        raise SchemaError("exposure_bounds must be [lowest, highest], two positive numbers.")
    return two


_ANY: dict[str, Reader] = {
    "missing": _missing,
    "missing_values": _missing_values,
    "read_from_data": _flag,
}
#: Readers of what a column may have, by its kind, in the order in which they need each other.
KEYS: dict[str, dict[str, Reader]] = {
    "number": {
        "bounds": _bounds,
        "transform": _transform,
        "shape": one_of("auto", "line", "steps", "smooth"),
        "bins": _bins,
        "knots": _knots,
        "monotone": one_of("up", "down"),
        "integer": _integer,
        "cyclic": _cyclic,
        **_ANY,
    },
    "category": {
        "values": _listed(1, _VALUES),
        "rename": _rename,
        "complete": _flag,
        "group": _group,
        **_ANY,
    },
    "ordinal": {"values": _listed(2, _VALUES), "rename": _rename, **_ANY},
    "boolean": _ANY,
    "ignore": {"read_from_data": _flag},
}
LAYOUT = {
    "header": _flag,
    "names": texts_of,
    "delimiter": _sign,
    "comment": _sign,
    "missing": texts_of,
    "multiline": _flag,
}
TABLE_KEYS = {*LAYOUT, "rows", "pairs", "person"}
TARGET = {
    "classes": _listed(2, "needs at least two different classes."),
    "bounds": _bounds,
    "rename": _rename,
    "transform": _transform,
    "missing_values": _missing_values,
    "read_from_data": _flag,
    "exposure": _exposure,
    "exposure_bounds": _exposure_bounds,
}
