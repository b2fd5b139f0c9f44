"""From cells to numbers: what a schema says a cell means, never what the data say.

Whatever a cell holds, parsing goes on in silence: a value outside the bounds is moved to
them, one that is not listed is "other", one that cannot be read is missing. An error would
tell that such a record is there.
"""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import SchemaError
from dpscd.preprocessing.schema import Column, Layout, Schema, Target

__all__ = ["MISSING", "OTHER", "Parsed", "missing_columns", "parse", "parse_column"]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

OTHER, MISSING = -1, -2
"""Codes of a value that is not listed, and of none."""

_ARROW_TEXTS = ("string[pyarrow]", "large_string[pyarrow]")
_TRUE = {"true", "t", "yes", "y", "1"}
_FALSE = {"false", "f", "no", "n", "0"}


class Parsed:
    """The cells of the columns of a schema as numbers; a secret like the table itself.

    Attributes
    ----------
    columns : dict
        For each feature column floats (numbers, NaN where missing) or codes (the place
        in the list of values, OTHER or MISSING).
    target : array or None
        The same for the target.
    """

    def __init__(self, columns: dict[str, npt.NDArray[Any]], target: Any, count: int) -> None:
        self.columns = columns
        self.target = target
        self.count = count

    def __len__(self) -> int:
        return self.count

    @classmethod
    def joined(cls, parts: "Sequence[Parsed]") -> "Parsed":
        """Return the records of all parts, in order."""
        columns = {
            name: np.concatenate([part.columns[name] for part in parts])
            for name in parts[0].columns
        }
        with_target = parts[0].target is not None
        target = np.concatenate([part.target for part in parts]) if with_target else None
        return cls(columns, target, sum(len(part) for part in parts))


def missing_columns(schema: Schema, names: Sequence[str], *, target: bool) -> tuple[str, ...]:
    """Return the names that the schema uses and a table has not."""
    wanted = [column.name for column in schema.features]
    wanted += [schema.target.name] if target else []
    return tuple(name for name in wanted if name not in set(names))


def parse(schema: Schema, frame: pd.DataFrame, *, target: bool = True) -> Parsed:
    """Return the numbers of a table, or raise SchemaError if columns are missing or double.

    Parameters
    ----------
    schema : Schema
        What the columns mean.
    frame : DataFrame
        The records; columns that the schema ignores or does not name may be absent.
    target : bool, default=True
        Whether the target is wanted.
    """
    names = [str(name) for name in frame.columns]
    absent = missing_columns(schema, names, target=target)
    if absent:
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        raise SchemaError(
            f"the table has no column {', '.join(map(repr, absent[:3]))}{more}; is this the "
            "schema of another table, or another delimiter?"
        )
    used = {column.name for column in schema.features} | (
        {schema.target.name} if target else set()
    )
    for name in used:
        if names.count(name) > 1:
            raise SchemaError(f"the table has two columns called {name!r}.")
    frame = frame.set_axis(names, axis=1)
    columns = {
        column.name: parse_column(column, frame[column.name], schema.layout)
        for column in schema.features
    }
    labels = (
        parse_column(schema.target, frame[schema.target.name], schema.layout)
        if target
        else None
    )
    return Parsed(columns, labels, len(frame))


def parse_column(column: Column | Target, cells: pd.Series, layout: Layout) -> npt.NDArray[Any]:
    """Return the numbers or codes of one column."""
    if isinstance(column, Target):
        if not column.classes:
            return _numbers(cells, layout)
        return _listed(cells, column.classes, column.rename, layout)
    if column.kind == "number":
        return _numbers(cells, layout)
    if column.kind == "boolean":
        return _codes(cells, _truth, layout)
    return _listed(cells, column.values, column.rename, layout)


def _listed(
    cells: pd.Series, values: Sequence[str], rename: Mapping[str, str], layout: Layout
) -> Codes:
    code = {value: place for place, value in enumerate(values)}
    code |= {other: code[value] for other, value in rename.items()}
    return _codes(cells, lambda text: code.get(text, OTHER), layout, known=code)


def _truth(text: str) -> int:
    low = text.lower()
    return 1 if low in _TRUE else 0 if low in _FALSE else OTHER


def _codes(
    cells: pd.Series,
    code: Callable[[str], int],
    layout: Layout,
    known: Mapping[str, int] | None = None,
) -> Codes:
    """Return the code of each cell, by its text; each different text is looked at once."""
    absent = {"", *layout.missing} - set(known or ())
    places, texts = _different(cells)
    codes = [MISSING if text in absent else code(text) for text in texts]
    table = np.array([*codes, MISSING], dtype=np.int32)  # the place of no value is -1
    found: Codes = table[places]
    return found


def _numbers(cells: pd.Series, layout: Layout) -> Floats:
    """Return the number in each cell, NaN where there is none."""
    if _is_plain(cells):
        given = {} if isinstance(cells.dtype, np.dtype) else {"na_value": np.nan}
        plain: Floats = cells.to_numpy(dtype=np.float64, **given)
        return plain
    absent = {"", *layout.missing}
    if not _is_text(cells):
        return np.array([_number(cell, absent) for cell in cells.astype(object)], dtype=float)
    places, texts = _different(cells)
    table = np.array([*(_number(text, absent) for text in texts), np.nan], dtype=np.float64)
    numbers: Floats = table[places]
    return numbers


# A cell must mean the same whatever the other cells are: the type of a column depends on all
# of them (one missing value makes whole numbers floats, one text makes numbers objects), and so
# does which of two equal values of different types is seen first. So cells are compared by
# texts that are the same in every type, and never as they are.


def _different(cells: pd.Series) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Return the different texts in a column, and the place of each cell's among them."""
    if _is_plain(cells) or _is_text(cells):
        places, values = pd.factorize(cells)  # equal here means equal texts
        return places, [_text(value) for value in values]
    texts = [None if _is_missing(cell) else _text(cell) for cell in cells.astype(object)]
    places, values = pd.factorize(pd.Series(texts, dtype=object))
    return places, list(values)


def _is_plain(cells: pd.Series) -> bool:
    """Return whether a column is an array of numbers, or of truth values, of one type."""
    kind = cells.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return False
    real = pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind)
    return bool(real or pd.api.types.is_bool_dtype(kind))


def _is_text(cells: pd.Series) -> bool:
    """Return whether all cells that have a value are texts."""
    if isinstance(cells.dtype, pd.StringDtype) or str(cells.dtype) in _ARROW_TEXTS:
        return True
    kind: str = pd.api.types.infer_dtype(cells, skipna=True) if cells.dtype == object else ""
    return kind == "string"


def _is_missing(cell: Any) -> bool:
    return cell is None or cell is pd.NA or cell is pd.NaT or bool(cell != cell)


def _text(value: Any) -> str:
    """Return a cell as text: whole numbers without a point, truth in small letters."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real | Decimal):
        number = float(value) + 0.0  # no sign of zero
        return f"{number:.0f}" if number.is_integer() else repr(number)
    return str(value).strip()


def _number(cell: Any, absent: Set[str]) -> float:
    """Return the number in a cell of whatever type, NaN if there is none."""
    try:
        if not isinstance(cell, str):
            number = isinstance(cell, bool | np.bool_ | Real | Decimal)
            return float(cell) if number else math.nan
        text = cell.strip()
        return math.nan if text in absent or "_" in text else float(text)
    except (ValueError, OverflowError):
        return math.nan
