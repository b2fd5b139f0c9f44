"""The schema: what is known about the columns of a table without looking at its records.

A schema is a TOML file. Everything in it is public: it is written before the records are
used, kept in the model file and shown in the report. Messages about a schema name the
column and the line of the file; no message holds a value of the data.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpscd.errors import SchemaError
from dpscd.preprocessing.declarations import (
    Column,
    Cross,
    Layout,
    Pair,
    Target,
    default_missing,
)
from dpscd.preprocessing.lines import Lines
from dpscd.preprocessing.schema_checks import schema_parts
from dpscd.preprocessing.toml_text import read_toml

__all__ = ["Schema", "schema_of"]


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
        which bounds its length by 1, or by its own length. A pair counts as a column.
    pairs : tuple of Pair
        Pairs of columns that have features of their own.
    person : str or None
        The column that identifies persons, all of whose records are protected together; None if
        every record is protected by itself.

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

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns that are not ignored."""
        return tuple(column for column in self.columns if column.kind != "ignore")

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
            usual = default_missing(column.kind, complete=column.complete)
            own = _changed(column, Column("", "", missing=usual))
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
    found = {}
    for name in value.__dataclass_fields__:
        own = getattr(value, name)
        if own != getattr(default, name):
            plain = list(own) if isinstance(own, tuple) else own
            found[name] = dict(plain) if isinstance(plain, Mapping) else plain
    return found
