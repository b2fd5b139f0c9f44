"""The schema: what is known about the columns of a table without looking at its records."""

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from dpscd.errors import ParameterError, SchemaError
from dpscd.preprocessing.column_features import (
    MOST_IN_PAIRS,
    MOST_INTERVALS,
    grows,
    side_width,
    sides_of,
)
from dpscd.preprocessing.declarations import Column, Cross, Layout, Pair, Target
from dpscd.preprocessing.schema_checks import schema_parts
from dpscd.preprocessing.toml_text import Lines, read_toml

_FEWEST = 3  # intervals of a smooth shape
_PART = 0.5  # of what theory says, in pairs
_FEW = 6  # values of a list that are shown


@dataclass(frozen=True)
class Schema:
    """Columns, target and layout of a table: public, and written before its records are used.

    Attributes
    ----------
    columns : tuple of Column
        Features. One that is a pattern stands for columns of a table, until it is `resolved`.
    target : Target
        What to predict.
    layout : Layout
        How the file is written.
    rows : {'scale', 'normalise'}
        Whether a row of features is divided by the square root of the number of columns and
        pairs, which bounds its length by 1, or by its own length.
    pairs : tuple of Pair
        Pairs of columns that have features of their own.
    person : str or None
        The column that identifies persons, all of whose records are protected together.

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
    layout: Layout = Layout()  # noqa: RUF009 - frozen
    rows: str = "scale"
    pairs: tuple[Pair, ...] = ()
    person: str | None = None

    def __repr__(self) -> str:
        persons = "" if self.person is None else f", persons by {self.person!r}"
        return f"Schema({len(self.features)} columns for {self.target.name!r}{persons})"

    def _repr_html_(self) -> str:
        from dpscd.rendering import html_table

        rows = [(x.name, x.kind, _allowed(x), x.missing) for x in self.features]
        facts = {"target": f"{self.target.name}: {_allowed(self.target)}"}
        if self.person is not None:
            facts["person"] = self.person
        if self.pairs:
            facts["pairs"] = ", ".join(" x ".join(pair.columns) for pair in self.pairs)
        return html_table("Schema", facts, ["column", "kind", "allowed", "missing"], rows)

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns that are not ignored."""
        if self.patterns:
            raise SchemaError(
                f"columns = {self.patterns[0].name!r} is a pattern, "
                "which stands for columns of a table: give a file of it, or list the columns."
            )
        return tuple(column for column in self.columns if column.kind != "ignore")

    @property
    def patterns(self) -> tuple[Column, ...]:
        """Patterns that stand for columns, so that only a table says what there are."""
        return tuple(column for column in self.columns if column.pattern)

    @property
    def parts(self) -> tuple[Column | Cross, ...]:
        """What has features: the columns that are not ignored, then the pairs."""
        named = {column.name: column for column in self.features}
        crossed = (
            Cross(named[pair.columns[0]], named[pair.columns[1]], pair.bins)
            for pair in self.pairs
        )
        return (*self.features, *crossed)

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
        with suppress(UnicodeDecodeError):
            return cls.parse(file.read_bytes().decode("utf-8-sig"), file.name)
        raise SchemaError(f"{file.name} is not a text in UTF-8.")

    @classmethod
    def parse(cls, text: str, name: str = "schema") -> "Schema":
        """Return the schema in a TOML text, or raise SchemaError, which names it so."""
        try:
            values = read_toml(text)
        except tomllib.TOMLDecodeError as error:
            problem = str(error)
        else:
            return cls.from_dict(values, Lines(text, name))
        raise SchemaError(f"{name} is not TOML: {problem}.")

    @classmethod
    def from_dict(cls, values: Any, lines: Lines | None = None) -> "Schema":
        """Return the schema of plain values, as TOML or :meth:`to_dict` gives them."""
        return Schema(*schema_parts(values, lines or Lines("", "schema")))

    def with_person(self, column: str) -> "Schema":
        """Return the schema with a column that identifies persons, or raise SchemaError."""
        if self.person not in (None, column):
            raise SchemaError(
                f"the schema says that column {self.person!r} identifies persons, not "
                f"{column!r}."
            )
        values = self.to_dict()
        values["table"] = {**values.get("table", {}), "person": column}
        return Schema.from_dict(values)

    def resolved(self, names: Sequence[str]) -> "Schema":
        """Return the schema, without patterns, of a table with columns of these names."""
        values = self.to_dict()
        for column in self.patterns:
            found = [name for name in names if fnmatchcase(name, column.name)]
            for name in (self.target.name, self.person):
                if name in found:
                    raise SchemaError(
                        f"pattern {column.name!r} stands for column {name!r} too, which is the "
                        "target or identifies persons: list the columns."
                    )
            if not found:
                raise SchemaError(f"pattern {column.name!r} matches no column of the table.")
            values["columns"][column.name]["columns"] = found
        return Schema.from_dict(values)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values, all that is not a default."""
        out: dict[str, Any] = {}
        table = _changed(self.layout, Layout())
        if self.rows != "scale":
            table["rows"] = self.rows
        if self.pairs:
            table["pairs"] = [
                list(pair.columns)
                if pair.bins is None
                else {"columns": list(pair.columns), "bins": pair.bins}
                for pair in self.pairs
            ]
        if self.person is not None:
            table["person"] = self.person
        if table:
            out["table"] = table
        target = _changed(self.target, Target(""))
        out["target"] = {"column": target.pop("name"), **target}
        out["columns"] = {}
        for column in self.columns:
            own = _changed(column, Column("", "", missing=column.usual_missing))
            if own.pop("pattern", False):
                own["columns"] = column.name
            out["columns"][own.pop("name")] = own
        return out


def schema_of(schema: Any) -> Schema:
    """Return a schema, given as such, as plain values, or as a path."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, str | os.PathLike):
        return Schema.read(schema)
    return Schema.from_dict(schema)


def _changed(value: Any, default: Any) -> dict[str, Any]:
    """Return the fields in which a value differs from the default, as plain values."""
    found = {name: own for name, own in vars(value).items() if own != vars(default)[name]}
    for name, own in found.items():
        if isinstance(own, tuple | Mapping):
            found[name] = list(own) if isinstance(own, tuple) else dict(own)
    return found


def intervals_for(epsilon: float, n: int, columns: int) -> int:
    """Return how many intervals a smooth shape gets; 0 if a line is all that can be learnt.

    With m intervals for each of k columns and pairs, the square of what noise adds to a
    prediction grows as (k m / (epsilon n))^2, and that of what a piecewise linear curve leaves
    of a smooth one falls as k / m^4: the best m grows as (epsilon n / sqrt(k))^(1/3).
    """
    if math.isinf(epsilon * n):
        return MOST_INTERVALS
    wished = (epsilon * n / math.sqrt(columns)) ** (1.0 / 3.0)
    return 0 if wished < _FEWEST - 0.5 else min(round(wished), MOST_INTERVALS)


def pair_intervals(epsilon: float, n: int, parts: int, pair: Cross) -> int | None:
    """Return how many intervals the numbers and ordinals of a pair get; None if no side grows.

    As :func:`intervals_for` with two sides: products of hats leave as much of a surface as hats
    do of a curve, and each of k parts has m^2 features, or w m if the other side has w whatever
    m is. Error is least where m grows as (epsilon n / sqrt(k))^(1/4) or (epsilon n / (w
    sqrt(k)))^(1/3). Taken is half of that, which generated tables with waves and corners chose.
    """
    growing = [grows(column) for column in (pair.first, pair.second)]
    if not any(growing):
        return None
    if math.isinf(epsilon * n):
        return MOST_IN_PAIRS
    signal = epsilon * n / math.sqrt(parts)
    if all(growing):
        wished = math.sqrt(math.sqrt(signal))
    else:
        fixed = sides_of(pair)[growing.index(False)]
        wished = math.cbrt(signal / side_width(fixed))
    return min(max(round(_PART * wished), 1), MOST_IN_PAIRS)


def shaped(schema: Schema, epsilon: float, n: int) -> Schema:
    """Return a schema that says the shape of every number, alone and in pairs.

    Guarantee: no record is looked at; of the records only the public n is used.
    """
    parts = len(schema.parts)
    count = intervals_for(epsilon, n, parts)
    found = ("smooth", count) if count else ("line", None)
    columns = tuple(column.decided(*found) for column in schema.columns)
    schema = replace(schema, columns=columns)
    crossed = [part for part in schema.parts if isinstance(part, Cross)]
    pairs = tuple(
        Pair(pair.columns, pair.bins or pair_intervals(epsilon, n, parts, cross))
        for pair, cross in zip(schema.pairs, crossed, strict=True)
    )
    return replace(schema, pairs=pairs)


def lined(schema: Schema) -> Schema:
    """Return a schema whose undecided numbers are lines, or refuse: inference needs lines."""
    if schema.pairs or schema.rows != "scale":
        raise ParameterError(
            "inference is for columns by themselves: not for pairs, nor for rows = 'normalise'."
        )
    for column in schema.features:
        shape = "monotone" if column.monotone else column.shape or (column.bins and "bins")
        shape = "cyclic" if column.cyclic else shape
        if shape not in (None, "auto", "line"):
            raise ParameterError(
                f"inference is not for the shape of column {column.name!r} ({shape}): a shape "
                "has no single effect. Declare shape = 'line', or leave it out."
            )
    columns = tuple(column.decided("line") for column in schema.columns)
    return replace(schema, columns=columns)


def shaped_if_known(schema: Schema, epsilon: Any, n: Any) -> Schema:
    """Return a schema for transformers: a line for a number, if epsilon and n are unknown."""
    if epsilon is None and n is None:
        for column in schema.features:
            if column.shape == "auto":
                raise ParameterError(
                    "shape='auto' of column {!r} follows from epsilon and n: give {epsilon} "
                    "and {n}, those of the fit.",
                    column.name,
                    epsilon=...,
                    n=...,
                )
        return schema
    if not isinstance(epsilon, Real) or isinstance(epsilon, bool) or not float(epsilon) > 0.0:
        raise ParameterError(
            "{epsilon} must be a number greater than 0, beside {n}.", epsilon=epsilon, n=...
        )
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ParameterError(
            "{n} must be an integer of at least 1, beside {epsilon}.", n=n, epsilon=...
        )
    return shaped(schema, float(epsilon), int(n))


def _allowed(part: Column | Target) -> str:
    """Return the bounds or the values of a column in short."""
    if part.bounds is not None:
        return "private bounds" if part.private_bounds else "{:g} to {:g}".format(*part.bounds)
    values = part.classes if isinstance(part, Target) else part.values
    more = f", … ({len(values)} values)" if len(values) > _FEW else ""
    return ", ".join(values[:_FEW]) + more
