"""The schema: what is known about the columns of a table without looking at its records.

A schema is a TOML file. Everything in it is public: it is written before the records are
used, kept in the model file and shown in the report. Messages about a schema name the
column and the line of the file; no message holds a value of the data.
"""

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpscd.errors import SchemaError
from dpscd.preprocessing.cells import same_value
from dpscd.preprocessing.lines import Lines

__all__ = ["KINDS", "PRIVATE", "Column", "Layout", "Schema", "Target"]

PRIVATE = "private"
"""In place of bounds: they are estimated with a part of the budget."""

KINDS = ("number", "category", "ordinal", "boolean", "ignore")
_KEYS = {
    "number": {"bounds", "transform", "bins", "missing"},
    "category": {"values", "rename", "missing"},
    "ordinal": {"values", "rename", "missing"},
    "boolean": {"missing"},
    "ignore": set[str](),
}
_MOST_BINS = 1000
_MOST_VALUES = 100_000
_ROWS = ("scale", "normalise")
_TABLE_KEYS = {"header", "names", "delimiter", "comment", "missing", "multiline", "rows"}


@dataclass(frozen=True)
class Column:
    """What is declared about one column.

    Attributes
    ----------
    name : str
        As in the table's header.
    kind : {'number', 'category', 'ordinal', 'boolean', 'ignore'}
        How it becomes features.
    bounds : tuple of two floats, 'private' or None
        Of a number: lowest and highest value; others are moved to the nearest.
    transform : {'log1p'} or None
        Of a number: what is done to value and bounds before scaling.
    bins : int or None
        Of a number: how many intervals of equal width, a feature each.
    values : tuple of str
        Of a category, the values that have a feature of their own; of an ordinal, the
        values from lowest to highest.
    rename : dict
        Other spellings of values.
    missing : str, float or None
        What stands in for a missing value: 'middle' of the bounds, 'column' for a feature
        of its own, 'other' (category), or a value.
    read_from_data : bool
        Whether kind, bounds or values were read off the records, which no proof covers.
    """

    name: str
    kind: str
    bounds: tuple[float, float] | str | None = None
    transform: str | None = None
    bins: int | None = None
    values: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    missing: str | float = "middle"
    read_from_data: bool = False

    @property
    def private_bounds(self) -> bool:
        """Whether bounds are to be estimated with budget."""
        return self.bounds == PRIVATE


@dataclass(frozen=True)
class Target:
    """What is declared about the column to predict.

    Attributes
    ----------
    name : str
        As in the table's header.
    classes : tuple of str
        The labels of a classification; empty for a regression. A record with another
        label contributes nothing.
    bounds : tuple of two floats, 'private' or None
        Of a regression: lowest and highest value; others are moved to the nearest. A
        record without a value contributes nothing.
    rename : dict
        Other spellings of classes.
    read_from_data : bool
        Whether bounds or classes were read off the records.
    """

    name: str
    classes: tuple[str, ...] = ()
    bounds: tuple[float, float] | str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)
    read_from_data: bool = False

    @property
    def private_bounds(self) -> bool:
        """Whether bounds are to be estimated with budget."""
        return self.bounds == PRIVATE


@dataclass(frozen=True)
class Layout:
    """How the file is written.

    Attributes
    ----------
    header : bool
        Whether the first line names the columns; without it `names` does.
    names : tuple of str
        Names of the columns of a file without header, in order.
    delimiter : str
        What separates cells.
    comment : str or None
        A sign with which lines begin that are no records.
    missing : tuple of str
        How missing values are written, besides empty cells.
    multiline : bool
        Whether a quoted cell may go on in the next line. Then a stray quote of one record can
        swallow others, which no guarantee covers.
    """

    header: bool = True
    names: tuple[str, ...] = ()
    delimiter: str = ","
    comment: str | None = None
    missing: tuple[str, ...] = ("?", "NA", "N/A", "NaN", "nan", "null", "None")
    multiline: bool = False


@dataclass(frozen=True)
class Schema:
    """Columns, target and layout of a table.

    Attributes
    ----------
    columns : tuple of Column
        Features, in the order of the schema.
    target : Target
        What to predict.
    layout : Layout
        How the file is written.
    rows : {'scale', 'normalise'}
        Whether a row of features is divided by the square root of the number of columns,
        which bounds its length by 1, or by its own length.

    Examples
    --------
    >>> from dpscd import Schema
    >>> schema = Schema.parse('''
    ... [target]
    ... column = "ill"
    ... classes = ["no", "yes"]
    ...
    ... [columns.age]
    ... kind = "number"
    ... bounds = [0, 120]
    ... ''')
    >>> schema.columns[0].bounds
    (0.0, 120.0)
    """

    columns: tuple[Column, ...]
    target: Target
    layout: Layout = Layout()
    rows: str = "scale"

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns that are not ignored."""
        return tuple(column for column in self.columns if column.kind != "ignore")

    @property
    def private(self) -> tuple[Column | Target, ...]:
        """Columns whose bounds are estimated with budget; the target, if it is one, last."""
        own = tuple(column for column in self.features if column.private_bounds)
        return (*own, self.target) if self.target.private_bounds else own

    @property
    def read_from_data(self) -> tuple[str, ...]:
        """Names of the columns about which something was read off the records."""
        every: tuple[Column | Target, ...] = (*self.columns, self.target)
        return tuple(column.name for column in every if column.read_from_data)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Schema":
        """Return the schema in a TOML file, or raise SchemaError."""
        file = Path(path)
        try:
            text = file.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            text = None
        if text is None:
            raise SchemaError(f"{file.name} is not a text in UTF-8.")
        return cls.parse(text, file.name)

    @classmethod
    def parse(cls, text: str, name: str = "schema") -> "Schema":
        """Return the schema in a TOML text, or raise SchemaError.

        Parameters
        ----------
        text : str
            The TOML.
        name : str
            What messages call it.
        """
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            problem = str(error)
        else:
            return cls.from_dict(values, Lines(text, name))
        raise SchemaError(f"{name} is not TOML: {problem}.")

    @classmethod
    def from_dict(cls, values: Any, lines: Lines | None = None) -> "Schema":
        """Return the schema of plain values, as TOML or :meth:`to_dict` gives them."""
        return _Reader(lines or Lines("", "schema")).schema(values)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values, all that is not a default."""
        out: dict[str, Any] = {}
        table = _changed(self.layout, Layout())
        if self.rows != "scale":
            table["rows"] = self.rows
        if table:
            out["table"] = table
        target = _changed(self.target, Target(""))
        out["target"] = {"column": target.pop("name"), **target}
        out["columns"] = {}
        for column in self.columns:
            own = _changed(column, Column("", "", missing=_default_missing(column.kind)))
            out["columns"][own.pop("name")] = own
        return out


def _changed(value: Any, default: Any) -> dict[str, Any]:
    """Return the fields in which a value differs from the default, as plain values."""
    found = {}
    for name in value.__dataclass_fields__:
        own = getattr(value, name)
        if own != getattr(default, name):
            plain = list(own) if isinstance(own, tuple) else own
            found[name] = dict(plain) if isinstance(plain, Mapping) else plain
    return found


def _default_missing(kind: str) -> str:
    return "other" if kind == "category" else "middle"


class _Reader:
    """Checks plain values and makes a schema of them; complains with the line."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def schema(self, values: Any) -> Schema:
        if not isinstance(values, dict):
            raise self.error((), "a schema is a table with [target] and [columns].")
        self.known((), values, {"table", "target", "columns"})
        for part in ("target", "columns"):
            if not isinstance(values.get(part), dict):
                raise self.error((part,), f"it has no [{part}].")
        table = values.get("table", {})
        if not isinstance(table, dict):
            raise self.error(("table",), "[table] must be a table.")
        rows = table.get("rows", "scale")
        if rows not in _ROWS:
            raise self.error(("table", "rows"), "rows must be 'scale' or 'normalise'.")
        target = self.target(values["target"])
        columns = tuple(self.column(str(k), v) for k, v in values["columns"].items())
        layout = self.layout(table)
        if any(column.name == target.name for column in columns):
            raise self.error(
                ("columns", target.name), f"column {target.name!r} is the target too."
            )
        if all(column.kind == "ignore" for column in columns):
            raise self.error(("columns",), "every column is ignored; nothing to learn from.")
        return Schema(columns, target, layout, rows)

    def layout(self, values: dict[str, Any]) -> Layout:
        where = ("table",)
        self.known(where, values, _TABLE_KEYS)
        header = values.get("header", True)
        multiline = values.get("multiline", False)
        for key, flag in (("header", header), ("multiline", multiline)):
            if type(flag) is not bool:
                raise self.error((*where, key), f"{key} must be true or false.")
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
        self.known(where, values, {"column", "classes", "bounds", "rename", "read_from_data"})
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
            return Target(name, bounds=bounds, read_from_data=self.flag(where, values))
        classes = self.texts(where, values, "classes")
        if len(classes) < 2:
            raise self.error(
                (*where, "classes"), f"target {name!r} needs at least two different classes."
            )
        rename = self.rename(where, values, classes)
        return Target(name, classes, None, rename, self.flag(where, values))

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
        flag = self.flag(where, values)
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
        usual = _default_missing(kind)
        missing = values.get("missing", usual)
        if missing not in (usual, "column", *allowed):
            stand_in = " or one of its values" if allowed else ""
            raise self.error(
                (*where, "missing"), f"{title}: missing must be {usual!r}, 'column'{stand_in}."
            )
        return Column(
            name, kind, values=allowed, rename=rename, missing=missing, read_from_data=flag
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
        transform = values.get("transform")
        if transform not in (None, "log1p"):
            raise self.error((*where, "transform"), f"{title}: transform must be 'log1p'.")
        if transform and (bounds == PRIVATE or not float(bounds[0]) >= 0.0):
            raise self.error(
                (*where, "transform"),
                f"{title}: log1p needs declared bounds that begin at 0 or above.",
            )
        bins = values.get("bins")
        if bins is not None and not (type(bins) is int and 2 <= bins <= _MOST_BINS):
            raise self.error(
                (*where, "bins"), f"{title}: bins must be an integer from 2 to {_MOST_BINS}."
            )
        missing = values.get("missing", "middle")
        inside = _is_number(missing) and (
            isinstance(bounds, str) or bounds[0] <= missing <= bounds[1]
        )
        if not (missing in ("middle", "column") or inside):
            raise self.error(
                (*where, "missing"),
                f"{title}: missing must be 'middle', 'column' or a number within bounds.",
            )
        missing = float(missing) if inside else missing
        return Column(name, "number", bounds, transform, bins, (), {}, missing, flag)

    def bounds(
        self, where: tuple[str, ...], title: str, bounds: Any
    ) -> tuple[float, float] | str:
        if bounds == PRIVATE:
            return PRIVATE
        pair = isinstance(bounds, list | tuple) and len(bounds) == 2
        if pair and all(map(_is_number, bounds)):
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

    def rename(
        self, where: tuple[str, ...], values: dict[str, Any], allowed: tuple[str, ...]
    ) -> Mapping[str, str]:
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

    def flag(self, where: tuple[str, ...], values: dict[str, Any]) -> bool:
        found = values.get("read_from_data", False)
        if type(found) is not bool:
            raise self.error((*where, "read_from_data"), "read_from_data is true or false.")
        return found

    def known(
        self,
        where: tuple[str, ...],
        values: dict[str, Any],
        names: set[str],
        title: str = "",
    ) -> None:
        for key in values:
            if key not in names:
                about = f"{title}: " if title else ""
                raise self.error(
                    (*where, key),
                    f"{about}{key!r} is not known here; use {', '.join(sorted(names))}.",
                )

    def error(self, where: tuple[str, ...], text: str) -> SchemaError:
        return SchemaError(f"{self.lines.at(where)}: {text}")


def _is_number(value: Any) -> bool:
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
