"""Checks of the plain values that become a schema; each complaint names its line."""

from collections.abc import Mapping
from typing import Any

from dpscd.preprocessing.cells import TruthCells
from dpscd.preprocessing.declarations import (
    KINDS,
    Column,
    Layout,
    Pair,
    Target,
    default_missing,
)
from dpscd.preprocessing.groups import checked_group
from dpscd.preprocessing.joint_checks import (
    check_monotone,
    check_size,
    checked_pairs,
    checked_person,
)
from dpscd.preprocessing.knots import told_apart
from dpscd.preprocessing.lines import Lines
from dpscd.preprocessing.mistakes import Mistakes
from dpscd.preprocessing.value_checks import MOST_BINS, ValueChecks, is_number, listed

__all__ = ["schema_parts"]

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
_SHAPES = ("auto", "line", "steps", "smooth")
_ROWS = ("scale", "normalise")
_TABLE_KEYS = {
    "header", "names", "delimiter", "comment", "missing", "multiline", "rows", "pairs",
    "person",
}  # fmt: skip

_TARGET_KEYS = {
    "column", "classes", "bounds", "rename", "read_from_data", "missing_values", "transform",
}  # fmt: skip

Parts = tuple[tuple[Column, ...], Target, Layout, str, tuple[Pair, ...], str | None]


def schema_parts(values: Any, lines: Lines) -> Parts:
    """Return the parts of a schema, in the order of its fields, or raise SchemaError."""
    return _Reader(lines).parts(values)


class _Reader(ValueChecks):
    """Checks plain values and makes the parts of a schema; complains with the line."""

    def parts(self, values: Any) -> Parts:
        if not isinstance(values, dict):
            raise self.error((), "a schema is a table with [target] and [columns].")
        self.known((), values, {"table", "target", "columns"})
        for part in ("target", "columns"):
            if not isinstance(values.get(part), dict):
                raise self.error((part,), f"it has no [{part}].")
        table = values.get("table", {})
        if not isinstance(table, dict):
            raise self.error(("table",), "[table] must be a table.")
        found = Mistakes()
        rows = found.unless(self.rows, table)
        target = found.unless(self.target, values["target"])
        columns = tuple(
            found.unless(self.column, str(k), v) for k, v in values["columns"].items()
        )
        layout = found.unless(self.layout, table)
        found.complain()
        if any(column.name == target.name for column in columns):
            raise self.error(
                ("columns", target.name), f"column {target.name!r} is the target too."
            )
        if all(column.kind == "ignore" for column in columns):
            raise self.error(("columns",), "every column is ignored; nothing to learn from.")
        pairs = checked_pairs(table.get("pairs", []), columns, self.error)
        check_monotone(columns, pairs, target, rows, self.error)
        check_size(columns, pairs, self.error)
        person = checked_person(table.get("person"), columns, target, self.error)
        return columns, target, layout, rows, pairs, person

    def rows(self, table: dict[str, Any]) -> str:
        rows = table.get("rows", "scale")
        if rows not in _ROWS:
            raise self.error(("table", "rows"), "rows must be 'scale' or 'normalise'.")
        return str(rows)

    def layout(self, values: dict[str, Any]) -> Layout:
        where = ("table",)
        self.known(where, values, _TABLE_KEYS)
        header = self.flag(where, values, "header", usual=True)
        multiline = self.flag(where, values, "multiline")
        names = self.texts(where, values, "names")
        if header == bool(names):
            raise self.error(
                (*where, "names"), "names are for files without header, and needed there."
            )
        delimiter = values.get("delimiter", ",")
        comment = values.get("comment")
        for key, sign in (("delimiter", delimiter), ("comment", comment)):
            one = isinstance(sign, str) and len(sign) == 1 and sign.isascii()
            if sign is not None and not (one and sign not in '"\r\n'):
                raise self.error(
                    (*where, key), f"{key} must be one sign of ASCII, not a quote or line end."
                )
        missing = Layout().missing
        if "missing" in values:
            missing = self.texts(where, values, "missing")
        return Layout(header, names, delimiter, comment, missing, multiline)

    def target(self, values: dict[str, Any]) -> Target:
        where = ("target",)
        self.known(where, values, _TARGET_KEYS)
        name = values.get("column")
        if not isinstance(name, str) or not name:
            raise self.error(where, "target needs column, the name of what to predict.")
        if ("classes" in values) == ("bounds" in values):
            raise self.error(
                where,
                f"target {name!r} needs either classes, its possible labels, or bounds, its "
                "lowest and highest value.",
            )
        if "bounds" in values:
            if "rename" in values:
                raise self.error((*where, "rename"), "rename is for a target with classes.")
            bounds = self.bounds(where, f"target {name!r}", values["bounds"])
            flag = self.flag(where, values, "read_from_data")
            return Target(
                name,
                bounds=bounds,
                read_from_data=flag,
                missing_values=self.missing_values(where, values),
                transform=self.transform(where, f"target {name!r}", values, bounds),
            )
        if "transform" in values:
            raise self.error((*where, "transform"), "transform is for a target with bounds.")
        classes = self.texts(where, values, "classes")
        if len(classes) < 2:
            raise self.error(
                (*where, "classes"), f"target {name!r} needs at least two different classes."
            )
        rename = self.rename(where, values, classes)
        absent = self.missing_values(where, values, listed(classes, rename))
        flag = self.flag(where, values, "read_from_data")
        return Target(name, classes, None, rename, flag, absent)

    def column(self, name: str, values: Any) -> Column:
        where = ("columns", name)
        title = f"column {name!r}"
        if not isinstance(values, dict):
            raise self.error(where, f"{title} must be a table, [columns.{name}].")
        kind = values.get("kind")
        if kind not in KINDS:
            raise self.error(
                (*where, "kind"), f"{title} needs kind, one of {', '.join(map(repr, KINDS))}."
            )
        self.known(where, values, {"kind", "read_from_data", *_KEYS[kind]}, title)
        flag = self.flag(where, values, "read_from_data")
        if kind == "number":
            return self.number(where, title, name, values, flag)
        allowed: tuple[str, ...] = ()
        rename: Mapping[str, str] = {}
        if kind in ("category", "ordinal"):
            allowed = self.texts(where, values, "values")
            if len(allowed) < (2 if kind == "ordinal" else 1):
                raise self.error(
                    (*where, "values"),
                    f"{title} needs values, those it can have; fill them in from what you "
                    "know, not from the records.",
                )
            rename = self.rename(where, values, allowed)
        complete = self.flag(where, values, "complete")
        usual = default_missing(kind, complete=complete)
        missing = values.get("missing", usual)
        if missing not in (usual, "column", *allowed):
            stand_in = " or one of its values" if allowed else ""
            raise self.error(
                (*where, "missing"), f"{title}: missing must be {usual!r}, 'column'{stand_in}."
            )
        taken = listed(allowed, rename) if allowed else TruthCells()
        group = checked_group(
            values.get("group"), allowed, rename, title, self.error, (*where, "group")
        )
        return Column(
            name,
            kind,
            missing_values=self.missing_values(where, values, taken),
            group=group,
            values=allowed,
            rename=rename,
            missing=missing,
            read_from_data=flag,
            complete=complete,
        )

    def number(
        self,
        where: tuple[str, ...],
        title: str,
        name: str,
        values: dict[str, Any],
        flag: bool,
    ) -> Column:
        bounds = self.bounds(where, title, values.get("bounds"))
        transform = self.transform(where, title, values, bounds)
        bins = values.get("bins")
        if bins is not None and not (type(bins) is int and 2 <= bins <= MOST_BINS):
            raise self.error(
                (*where, "bins"), f"{title}: bins must be an integer from 2 to {MOST_BINS}."
            )
        shape = values.get("shape")
        if shape not in (None, *_SHAPES):
            raise self.error(
                (*where, "shape"),
                f"{title}: shape must be 'auto', 'line', 'steps' or 'smooth'.",
            )
        if shape in ("auto", "line") and bins is not None:
            raise self.error(
                (*where, "bins"), f"{title}: bins go with shape = 'steps' or 'smooth', or none."
            )
        knots = self.knots(where, title, values, bounds)
        monotone = values.get("monotone")
        if monotone not in (None, "up", "down"):
            raise self.error((*where, "monotone"), f"{title}: monotone must be 'up' or 'down'.")
        missing = values.get("missing", "middle")
        inside = is_number(missing) and (
            isinstance(bounds, str) or bounds[0] <= missing <= bounds[1]
        )
        if not (missing in ("middle", "column") or inside):
            raise self.error(
                (*where, "missing"),
                f"{title}: missing must be 'middle', 'column' or a number within bounds.",
            )
        missing = float(missing) if inside else missing
        column = Column(
            name,
            "number",
            bounds,
            transform,
            bins,
            missing=missing,
            read_from_data=flag,
            shape=shape,
            knots=knots,
            monotone=monotone,
            missing_values=self.missing_values(where, values),
        )
        if knots and not told_apart(column):
            raise self.error(
                (*where, "knots"), f"{title}: knots are too close together for such bounds."
            )
        return column
