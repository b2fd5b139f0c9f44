"""Checks of the plain values that become a schema: all mistakes at once, each with its line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpscd.errors import SchemaError
from dpscd.preprocessing.column_features import MOST_IN_PAIRS, MOST_INTERVALS, width_of
from dpscd.preprocessing.declarations import Column, Cross, Layout, Pair, Target
from dpscd.preprocessing.schema_keys import (
    KEYS,
    LAYOUT,
    MOST_BINS,
    TABLE_KEYS,
    TARGET,
    Found,
    Reader,
    one_of,
    texts_of,
)
from dpscd.preprocessing.toml_text import Lines

#: Features that a schema may ask for in all, whatever shapes follow from epsilon and n.
MOST_FEATURES = 1_000_000

Parts = tuple[tuple[Column, ...], Target, Layout, str, tuple[Pair, ...], str | None]


class Part:
    """One table of a schema: reads its values, and notes what is wrong with them."""

    def __init__(self, lines: Lines, values: Any, *where: str, title: str = "") -> None:
        self.lines, self.values, self.where, self.title = lines, values, where, title

    def wrong(self, text: str, *key: str) -> None:
        """Note what is wrong with this table, or with one of its keys."""
        about = f"{self.title}{'' if text.startswith('needs') else ':'} " if self.title else ""
        self.lines.note((*self.where, *key), about + text)

    def known(self, names: set[str]) -> None:
        """Refuse keys that are not among `names`."""
        foreign = [key for key in self.values if key not in names]
        if foreign:
            keys = ", ".join(map(repr, foreign))
            are = "is" if len(foreign) == 1 else "are"
            known = ", ".join(sorted(names))
            self.wrong(f"{keys} {are} not known here; use {known}.", foreign[0])

    def read(self, readers: Mapping[str, Reader], *needed: str, **found: Any) -> Found:
        """Return what readers make of the values that are there; those needed must be."""
        for key, reader in readers.items():
            if self.values.get(key) is not None or key in needed:
                try:
                    found[key] = reader(self.values.get(key), found)
                except SchemaError as error:
                    self.wrong(str(error).replace("{key}", key), key)
                    if key in ("bounds", "values", "classes"):
                        break  # others would be refused because of it
        return found


def schema_parts(values: Any, lines: Lines) -> Parts:
    """Return the parts of a schema, in the order of its fields; or all its mistakes at once."""
    whole = Part(lines, values)
    if not isinstance(values, dict):
        whole.wrong("a schema is a table with [target] and [columns].")
        raise lines.error()
    whole.known({"table", "target", "columns"})
    for name in ("target", "columns"):
        if not isinstance(values.get(name), dict):
            whole.wrong(f"it has no [{name}].", name)
    table = Part(lines, values.get("table", {}), "table")
    if not isinstance(table.values, dict):
        table.wrong("[table] must be a table.")
    lines.check()
    table.known(TABLE_KEYS)
    layout = Layout(**table.read(LAYOUT))
    if layout.header == bool(layout.names):
        table.wrong("names are for files without header, and needed there.", "names")
    rows = table.read({"rows": one_of("scale", "normalise")}).get("rows", "scale")
    target = _target(Part(lines, values["target"], "target"))
    columns = tuple(_columns(whole))
    lines.check()
    pairs = tuple(_pairs(table, columns))
    person = _person(table, columns, target)
    exposure = target.exposure
    if exposure is not None:
        used = {own.name for own in columns if own.kind != "ignore"} | {target.name, person}
        if exposure in used:
            text = f"column {exposure!r} is the exposure: it cannot be used otherwise as well."
            whole.wrong(text, "target", "exposure")
    lines.check()
    _check_together(whole, columns, pairs, target, rows)
    lines.check()
    return columns, target, layout, rows, pairs, person


def _target(own: Part) -> Target:
    own.known({*TARGET, "column"})
    name = own.values.get("column")
    if not isinstance(name, str) or not name:
        own.wrong("target needs column, the name of what to predict.")
    own.title = f"target {name!r}"
    numbers = "bounds" in own.values
    if ("classes" in own.values) == numbers:
        own.wrong(
            "needs either classes, its possible labels, or bounds, its lowest and highest "
            "value."
        )
        return Target("")
    foreign = "rename" if numbers else "transform"
    if foreign in own.values:
        needed = "classes" if numbers else "bounds"
        own.wrong(f"{foreign} is for a target with {needed}.", foreign)
        return Target("")
    if ("exposure" in own.values) != ("exposure_bounds" in own.values):
        own.wrong("exposure and exposure_bounds go together: a column, and its public range.")
    return Target(str(name), **own.read(TARGET))


def _columns(whole: Part) -> Iterator[Column]:
    """Yield the columns of every block: the one it names, those it lists, or a pattern."""
    lines, owner = whole.lines, dict[str, str]()
    for key, values in whole.values["columns"].items():
        label = str(key)
        several = isinstance(values, dict) and "columns" in values
        title = f"block {label!r}" if several else f"column {label!r}"
        own = Part(lines, values, "columns", label, title=title)
        if not isinstance(values, dict):
            own.wrong(f"it must be a table, [columns.{label}].")
            continue
        column, names = _column(label, own), (label,)
        if several:
            listed = values["columns"]
            pattern = isinstance(listed, str)
            names = (listed,) if pattern else own.read({"columns": texts_of}).get("columns", ())
            column = replace(column, pattern=pattern)
            if not names or not all(names):
                own.wrong("columns must be a list of names, or a pattern as 'q*'.", "columns")
        for name in names:
            if name in owner:
                both = f"[columns.{owner[name]}] and [columns.{label}]"
                lines.note(own.where, f"column {name!r} is in two blocks, {both}.")
            owner[name] = label
            yield replace(column, name=name)


def _column(name: str, own: Part) -> Column:
    kind = own.values.get("kind")
    if kind not in KEYS:
        own.wrong(f"needs kind, one of {', '.join(map(repr, KEYS))}.", "kind")
        return Column(name, "ignore")
    own.known({"kind", "columns", *KEYS[kind]})
    found = own.read(KEYS[kind], "bounds", "values", kind=kind)
    column = Column(name, **found)
    return column if "missing" in found else replace(column, missing=column.usual_missing)


def _pairs(table: Part, columns: Sequence[Column]) -> Iterator[Pair]:
    """Yield the pairs, each declared as two names or as a table with columns and bins."""
    values = table.values.get("pairs", [])
    if not isinstance(values, list | tuple):
        table.wrong('pairs must be a list, such as [["month", "hour"]].', "pairs")
        return
    pairs: list[Pair] = []
    for value in values:
        try:
            pairs.append(_pair(value, columns, pairs))
        except SchemaError as error:
            table.wrong(f"pairs: {error}", "pairs")
    crossed = {" x ".join(pair.columns) for pair in pairs}
    if len(crossed) < len(pairs) or crossed & {column.name for column in columns}:
        table.wrong("pairs: two pairs, or a pair and a column, have one name.", "pairs")
    yield from pairs


def _pair(value: Any, columns: Sequence[Column], others: Sequence[Pair]) -> Pair:
    bins = None
    if isinstance(value, dict) and set(value) == {"columns", "bins"}:
        value, bins = value["columns"], value["bins"]
        if type(bins) is not int or not 1 <= bins <= MOST_BINS:
            raise SchemaError(f"bins must be an integer from 1 to {MOST_BINS}.")
    two = isinstance(value, list | tuple) and len(value) == 2
    if not two or not all(isinstance(name, str) for name in value):
        raise SchemaError(
            'each must be two names, ["month", "hour"], or '
            '{columns = ["month", "hour"], bins = 4}.'
        )
    kinds = {column.name: column.kind for column in columns}
    for name in value:
        # A pattern may stand for it: a table will say.
        if name not in kinds and not any(column.pattern for column in columns):
            raise SchemaError(f"there is no column {name!r}.")
        if kinds.get(name) == "ignore":
            raise SchemaError(f"column {name!r} is ignored.")
    first, second = value
    if first == second:
        raise SchemaError(f"column {first!r} is paired with itself.")
    if any({*pair.columns} == {*value} for pair in others):
        raise SchemaError(f"{first!r} and {second!r} are paired twice.")
    return Pair((first, second), bins)


def _check_together(
    whole: Part, columns: Sequence[Column], pairs: Sequence[Pair], target: Target, rows: str
) -> None:
    """Refuse columns that do not go with the target, with pairs or with each other."""
    paired = {name for pair in pairs for name in pair.columns}
    if any(column.name == target.name for column in columns):
        whole.wrong(f"column {target.name!r} is the target too.", "columns", target.name)
    if all(column.kind == "ignore" for column in columns):
        whole.wrong("every column is ignored; nothing to learn from.", "columns")
    for column in (own for own in columns if own.monotone is not None):
        # Refused where its effect alone is not what a prediction follows.
        if column.name in paired:
            reason = "it is in a pair, whose effect comes on top of its own"
        elif rows != "scale":
            reason = "rows are normalised, so its effect depends on the rest of a record"
        elif len(target.classes) > 2:
            reason = "the target has more than two classes, and each would have its own say"
        else:
            continue
        text = f"column {column.name!r} cannot be monotone: {reason}."
        whole.wrong(text, "columns", column.name, "monotone")
    if not any(column.pattern for column in columns):
        _check_size(whole, columns, pairs)


def _check_size(whole: Part, columns: Sequence[Column], pairs: Sequence[Pair]) -> None:
    """Refuse more features than MOST_FEATURES, at the column or pair that exceeds it."""
    finest = (column.decided("smooth", MOST_INTERVALS) for column in columns)
    used = {column.name: column for column in finest if column.kind != "ignore"}
    parts: list[tuple[Column | Cross, str, tuple[str, str]]] = [
        (column, f"column {name!r}", ("columns", name)) for name, column in used.items()
    ]
    for pair in pairs:
        first, second = (used[name] for name in pair.columns)
        cross = Cross(first, second, pair.bins or MOST_IN_PAIRS)
        parts.append((cross, f"the pair {cross.name!r}", ("table", "pairs")))
    total = 0
    for part, what, where in parts:
        total += width_of(part)
        if total > MOST_FEATURES:
            text = f"with {what} there can be more than {MOST_FEATURES:,} features."
            whole.wrong(text, *where)
            return


def _person(table: Part, columns: Sequence[Column], target: Target) -> str | None:
    """Return the name of the column that identifies persons."""
    value = table.values.get("person")
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        table.wrong("person must be the name of one column.", "person")
    elif value == target.name:
        text = f"column {value!r} is the target: it cannot identify persons as well."
        table.wrong(text, "person")
    elif any(column.name == value and column.kind != "ignore" for column in columns):
        table.wrong(
            f"column {value!r} identifies persons, so it must not be a feature: take "
            f'[columns.{value}] away, or give it kind = "ignore".',
            "person",
        )
    return str(value)
