"""Checks of the plain values that become a schema; each complaint names its line."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from dpscd.errors import SchemaError
from dpscd.preprocessing.cells import Listed, TruthCells, places_of
from dpscd.preprocessing.column_features import (
    MOST_IN_PAIRS,
    MOST_INTERVALS,
    scaled_knots,
    width_of,
)
from dpscd.preprocessing.declarations import (
    KINDS,
    Column,
    Cross,
    Layout,
    Pair,
    Target,
    default_missing,
)
from dpscd.preprocessing.toml_text import MOST_BINS, Lines, Part, is_number

#: Features that a schema may ask for in all, whatever shapes follow from epsilon and n.
MOST_FEATURES = 1_000_000
_MOST_TOLD = 20  # mistakes, of a schema that has more

_KEYS = {
    "number": {
        "bounds", "transform", "bins", "shape", "knots", "missing", "monotone",
        "missing_values",
    },
    "category": {"values", "rename", "missing", "complete", "missing_values", "group"},
    "ordinal": {"values", "rename", "missing", "missing_values"},
    "boolean": {"missing", "missing_values"},
    "ignore": set[str](),
}  # fmt: skip
_TABLE_KEYS = {own.name for own in fields(Layout)} | {"rows", "pairs", "person"}
_TARGET_KEYS = {own.name for own in fields(Target)} - {"name"} | {"column"}

Parts = tuple[tuple[Column, ...], Target, Layout, str, tuple[Pair, ...], str | None]


def schema_parts(values: Any, lines: Lines) -> Parts:
    """Return the parts of a schema, in the order of its fields, or raise SchemaError."""
    whole = Part(lines, values)
    if not isinstance(values, dict):
        raise whole.error("a schema is a table with [target] and [columns].")
    whole.known({"table", "target", "columns"})
    for part in ("target", "columns"):
        if not isinstance(values.get(part), dict):
            raise whole.error(f"it has no [{part}].", part)
    table = Part(lines, values.get("table", {}), "table")
    if not isinstance(table.values, dict):
        raise table.error("[table] must be a table.")
    of_columns = [
        partial(_column, name, Part(lines, own, "columns", name, title=f"column {name!r}"))
        for name, own in ((str(key), own) for key, own in values["columns"].items())
    ]
    rows, target, *found, layout = _every(
        [
            partial(_rows, table),
            partial(_target, Part(lines, values["target"], "target")),
            *of_columns,
            partial(_layout, table),
        ]
    )
    columns: tuple[Column, ...] = tuple(found)
    if any(column.name == target.name for column in columns):
        raise whole.error(f"column {target.name!r} is the target too.", "columns", target.name)
    if all(column.kind == "ignore" for column in columns):
        raise whole.error("every column is ignored; nothing to learn from.", "columns")
    pairs = _pairs(table, columns)
    _check_monotone(whole, columns, pairs, target, rows)
    _check_size(whole, columns, pairs)
    return columns, target, layout, rows, pairs, _person(table, columns, target)


def _every(checks: Iterable[Callable[[], Any]]) -> list[Any]:
    """Return what checks return that need nothing of each other; all complaints at once."""
    found, wrong = [], []
    for check in checks:
        try:
            found.append(check())
        except SchemaError as error:
            wrong.append(str(error))
    if len(wrong) == 1:
        raise SchemaError(wrong[0])
    if wrong:
        told = [f"* {text}" for text in wrong[:_MOST_TOLD]]
        more = [f"and {len(wrong) - _MOST_TOLD} more."] if len(wrong) > _MOST_TOLD else []
        raise SchemaError("\n".join([f"{len(wrong)} mistakes in the schema:", *told, *more]))
    return found


def _rows(table: Part) -> str:
    rows = table.values.get("rows", "scale")
    if rows not in ("scale", "normalise"):
        raise table.error("rows must be 'scale' or 'normalise'.", "rows")
    return str(rows)


def _layout(table: Part) -> Layout:
    table.known(_TABLE_KEYS)
    header = table.flag("header", usual=True)
    multiline = table.flag("multiline")
    names = table.texts("names")
    if header == bool(names):
        raise table.error("names are for files without header, and needed there.", "names")
    delimiter = table.values.get("delimiter", ",")
    comment = table.values.get("comment")
    for key, sign in (("delimiter", delimiter), ("comment", comment)):
        one = isinstance(sign, str) and len(sign) == 1 and sign.isascii()
        if sign is not None and not (one and sign not in '"\r\n'):
            raise table.error(f"{key} must be one sign of ASCII, not a quote or line end.", key)
    missing = table.texts("missing") if "missing" in table.values else Layout.missing
    return Layout(header, names, delimiter, comment, missing, multiline)


def _target(own: Part) -> Target:
    own.known(_TARGET_KEYS)
    name = own.values.get("column")
    if not isinstance(name, str) or not name:
        raise own.error("target needs column, the name of what to predict.")
    own.title = f"target {name!r}"
    if ("classes" in own.values) == ("bounds" in own.values):
        raise own.error(
            f"{own.title} needs either classes, its possible labels, or bounds, its lowest and "
            "highest value."
        )
    if "bounds" in own.values:
        if "rename" in own.values:
            raise own.error("rename is for a target with classes.", "rename")
        bounds = own.bounds()
        return Target(
            name,
            bounds=bounds,
            read_from_data=own.flag("read_from_data"),
            missing_values=own.missing_values(),
            transform=own.transform(bounds),
        )
    if "transform" in own.values:
        raise own.error("transform is for a target with bounds.", "transform")
    classes = own.texts("classes")
    if len(classes) < 2:
        raise own.error(f"{own.title} needs at least two different classes.", "classes")
    rename = own.rename(classes)
    absent = own.missing_values(Listed(places_of(classes, rename)))
    return Target(name, classes, None, rename, own.flag("read_from_data"), absent)


def _column(name: str, own: Part) -> Column:
    if not isinstance(own.values, dict):
        raise own.error(f"{own.title} must be a table, [columns.{name}].")
    kind = own.values.get("kind")
    if kind not in KINDS:
        raise own.error(
            f"{own.title} needs kind, one of {', '.join(map(repr, KINDS))}.", "kind"
        )
    own.known({"kind", "read_from_data", *_KEYS[kind]})
    flag = own.flag("read_from_data")
    if kind == "number":
        return _number(name, own, flag)
    allowed: tuple[str, ...] = ()
    rename: Mapping[str, str] = {}
    if kind in ("category", "ordinal"):
        allowed = own.texts("values")
        if len(allowed) < (2 if kind == "ordinal" else 1):
            raise own.error(
                f"{own.title} needs values, those it can have; fill them in from what you "
                "know, not from the records.",
                "values",
            )
        rename = own.rename(allowed)
    complete = own.flag("complete")
    usual = default_missing(kind, complete=complete)
    missing = own.values.get("missing", usual)
    if missing not in (usual, "column", *allowed):
        stand_in = " or one of its values" if allowed else ""
        raise own.error(
            f"{own.title}: missing must be {usual!r}, 'column'{stand_in}.", "missing"
        )
    group = own.group(allowed, rename)
    taken = Listed(places_of(allowed, rename)) if allowed else TruthCells()
    return Column(
        name,
        kind,
        missing_values=own.missing_values(taken),
        group=group,
        values=allowed,
        rename=rename,
        missing=missing,
        read_from_data=flag,
        complete=complete,
    )


def _number(name: str, own: Part, flag: bool) -> Column:
    bounds = own.bounds()
    transform = own.transform(bounds)
    bins = own.values.get("bins")
    if bins is not None and not (type(bins) is int and 2 <= bins <= MOST_BINS):
        raise own.error(f"{own.title}: bins must be an integer from 2 to {MOST_BINS}.", "bins")
    shape = own.choice("shape", "auto", "line", "steps", "smooth")
    if shape in ("auto", "line") and bins is not None:
        raise own.error(
            f"{own.title}: bins go with shape = 'steps' or 'smooth', or none.", "bins"
        )
    knots = own.knots(bounds)
    monotone = own.choice("monotone", "up", "down")
    missing = own.values.get("missing", "middle")
    inside = is_number(missing) and (
        isinstance(bounds, str) or bounds[0] <= missing <= bounds[1]
    )
    if not (missing in ("middle", "column") or inside):
        raise own.error(
            f"{own.title}: missing must be 'middle', 'column' or a number within bounds.",
            "missing",
        )
    column = Column(
        name,
        "number",
        bounds,
        transform,
        bins,
        missing=float(missing) if inside else missing,
        read_from_data=flag,
        shape=shape,
        knots=knots,
        monotone=monotone,
        missing_values=own.missing_values(),
    )
    no_knots = not knots or isinstance(bounds, str)
    if not (no_knots or (np.diff(scaled_knots(column, *bounds)) > 0.0).all()):
        raise own.error(f"{own.title}: knots are too close together for such bounds.", "knots")
    return column


def _pairs(table: Part, columns: Sequence[Column]) -> tuple[Pair, ...]:
    """Return the pairs, each declared as two names or as a table with columns and bins."""

    def error(text: str) -> SchemaError:
        return table.error(f"pairs: {text}", "pairs")

    values = table.values.get("pairs", [])
    if not isinstance(values, list | tuple):
        raise table.error('pairs must be a list, such as [["month", "hour"]].', "pairs")
    pairs: list[Pair] = []
    paired: set[frozenset[str]] = set()
    kinds = {column.name: column.kind for column in columns}
    for value in values:
        bins = None
        if isinstance(value, dict) and set(value) == {"columns", "bins"}:
            value, bins = value["columns"], value["bins"]
            if type(bins) is not int or not 1 <= bins <= MOST_BINS:
                raise error(f"bins must be an integer from 1 to {MOST_BINS}.")
        two = isinstance(value, list | tuple) and len(value) == 2
        if not two or not all(isinstance(name, str) for name in value):
            raise error(
                'each must be two names, ["month", "hour"], or '
                '{columns = ["month", "hour"], bins = 4}.'
            )
        first, second = value
        for name in value:
            if name not in kinds:
                raise error(f"there is no column {name!r}.")
            if kinds[name] == "ignore":
                raise error(f"column {name!r} is ignored.")
        if first == second:
            raise error(f"column {first!r} is paired with itself.")
        if frozenset(value) in paired:
            raise error(f"{first!r} and {second!r} are paired twice.")
        pairs.append(Pair((first, second), bins))
        paired.add(frozenset(value))
    crossed = {" x ".join(pair.columns) for pair in pairs}
    if len(crossed) < len(pairs) or crossed & set(kinds):
        raise error("two pairs, or a pair and a column, have one name.")
    return tuple(pairs)


def _check_monotone(
    whole: Part, columns: Sequence[Column], pairs: Sequence[Pair], target: Target, rows: str
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
            text = f"column {column.name!r} cannot be monotone: {reason}."
            raise whole.error(text, "columns", column.name, "monotone")


def _check_size(whole: Part, columns: Sequence[Column], pairs: Sequence[Pair]) -> None:
    """Refuse more features than MOST_FEATURES, at the column or pair that exceeds it."""
    finest = (column.decided("smooth", MOST_INTERVALS) for column in columns)
    used = {column.name: column for column in finest if column.kind != "ignore"}
    parts: list[tuple[int, str, tuple[str, str]]] = [
        (width_of(column), f"column {name!r}", ("columns", name))
        for name, column in used.items()
    ]
    for pair in pairs:
        first, second = (used[name] for name in pair.columns)
        cross = Cross(first, second, pair.bins or MOST_IN_PAIRS)
        parts.append((width_of(cross), f"the pair {cross.name!r}", ("table", "pairs")))
    total = 0
    for width, what, where in parts:
        total += width
        if total > MOST_FEATURES:
            text = f"with {what} there can be more than {MOST_FEATURES:,} features."
            raise whole.error(text, *where)


def _person(table: Part, columns: Sequence[Column], target: Target) -> str | None:
    """Return the name of the column that identifies persons."""
    value = table.values.get("person")
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise table.error("person must be the name of one column.", "person")
    if value == target.name:
        raise table.error(
            f"column {value!r} is the target: it cannot identify persons as well.", "person"
        )
    if any(column.name == value and column.kind != "ignore" for column in columns):
        raise table.error(
            f"column {value!r} identifies persons, so it must not be a feature: take "
            f'[columns.{value}] away, or give it kind = "ignore".',
            "person",
        )
    return value
