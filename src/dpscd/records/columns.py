"""Columns of cells: typed ones of numbers, truth values, dates or categories, and texts.

A column's type depends on every record: it chooses the route here, never the result. Whatever
is neither typed nor a text becomes text cell by cell (:func:`~dpscd.records.cells.text_of`).
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataTypeError
from dpscd.records import refusals
from dpscd.records.cells import (
    EXACT,
    MISSING,
    Listed,
    NumberCells,
    TruthCells,
    number_of,
    text_of,
)

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]

# What a cell is taken for that cannot be had from its column: of no type that is read.
_UNREADABLE = object()
_ARROW_TEXTS = ("string[pyarrow]", "large_string[pyarrow]")
# Types of numbers that may be rounded ones.
_ROUNDING = (float, complex, np.floating, np.complexfloating)


def as_column(cells: Any) -> pd.Series:
    """Return cells in any one-dimensional container as a column, each as it is."""
    if isinstance(cells, pd.Series):
        if isinstance(cells.dtype, pd.SparseDtype):
            return cells.sparse.to_dense()
        if str(cells.dtype).startswith("dictionary<"):  # of Arrow
            return cells.astype(pd.ArrowDtype(cells.dtype.pyarrow_dtype.value_type))
        if isinstance(cells.dtype, np.dtype) and not cells.dtype.isnative:
            return cells.astype(cells.dtype.newbyteorder("="))
        return cells
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        return pd.Series(cells.astype(cells.dtype.newbyteorder("="), copy=False), copy=False)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "UOST":
        # Not pandas's type of texts, which refuses some.
        return pd.Series(cells.astype(object), dtype=object)
    if isinstance(cells, pd.Index | pd.api.extensions.ExtensionArray):
        return as_column(pd.Series(cells, dtype=cells.dtype))
    # Of a list: an array would give all cells one type.
    column = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return pd.Series(column, dtype=object)


def numbers(cells: pd.Series, meaning: NumberCells) -> Floats:
    """Return the number in each cell, NaN where there is none."""
    cells = as_column(cells)
    if not is_numeric(cells):
        places, texts = different(cells)
        return np.array([*map(meaning.value, texts), np.nan])[places]
    given = {} if isinstance(cells.dtype, np.dtype) else {"na_value": np.nan}
    # Ours to change, and the same in memory whatever pandas had.
    with np.errstate(all="ignore"):  # a warning would tell of large values
        plain: Floats = np.array(cells.to_numpy(dtype=np.float64, **given), order="C")
        plain += 0.0  # no sign of zero
    for absent in meaning.absent:
        plain[plain == absent] = np.nan
    return plain


def codes(cells: pd.Series, meaning: Listed | TruthCells) -> Codes:
    """Return the code of each cell, or raise DataTypeError if a listed one may be rounded."""
    cells = as_column(cells)
    if _precision(cells.dtype) <= meaning.largest_whole:
        raise DataTypeError(refusals.ROUNDED)
    large = meaning.largest_whole >= EXACT

    def text(cell: Any) -> str | None:
        found = text_of(cell)
        if large and isinstance(cell, _ROUNDING) and abs(number_of(cell)) >= EXACT:
            raise DataTypeError(refusals.ROUNDED)
        return found

    places, texts = different(cells, text)
    return np.array([*map(meaning.code, texts), MISSING], dtype=np.int32)[places]


def different(
    cells: pd.Series, text: Callable[[Any], str | None] = text_of
) -> tuple[Places, list[str]]:
    """Return the place of each row among different texts, -1 where it has none, and these.

    The texts stand in the order in which they first appear, and may repeat some.

    Guarantee: the text of a row is that of its own cell. Within one type of numbers, truth
    values or dates, equal cells have equal texts, and others have others.
    Proof: docs/proofs/records.md, "Cells".
    """
    kind = cells.dtype
    if isinstance(kind, pd.CategoricalDtype):
        # Those that no row has are not looked at.
        places, used = pd.factorize(cells.array)
        inner, texts = different(as_column(used.categories.take(used.codes)), text)
        return np.append(inner, -1)[places], texts
    plain = cells.to_numpy() if isinstance(kind, np.dtype) else cells.array
    if getattr(kind, "kind", "O") in "biufM":
        with np.errstate(all="ignore"):  # a warning would tell of large values
            places, found = pd.factorize(plain)
        if kind.kind == "f":  # whose width says how far whole numbers are told apart
            found = np.asarray(found, dtype=getattr(kind, "numpy_dtype", kind))
        plainly = kind.kind in "biu" or found.dtype == np.float64  # others would be others
        return _known(places, map(text, found.tolist() if plainly else found))
    if _is_arrow_text(kind):
        with suppress(Exception):  # some are not even texts: then one by one
            places, found = pd.factorize(plain)
            return _known(places, map(text, found))
    # By their texts. Among the cells themselves True and 1 are equal, and the first one seen
    # would count; and some versions of pandas take texts for equal up to the first NUL.
    seen: dict[str, int] = {}
    own = (cell if type(cell) is str else text(cell) for cell in _objects(cells))
    each = [-1 if one is None else seen.setdefault(one, len(seen)) for one in own]
    return _known(np.array(each, dtype=np.int64), map(text, seen))


def _known(places: Places, found: Iterable[str | None]) -> tuple[Places, list[str]]:
    """Return places among those texts that are not None."""
    texts = list(found)
    if None not in texts:
        return places, cast("list[str]", texts)
    kept = np.array([text is not None for text in texts])
    new = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return new[places], [text for text in texts if text is not None]


def _objects(cells: pd.Series) -> Iterable[Any]:
    try:
        return cells.astype(object).array  # type: ignore[no-any-return]
    except Exception:  # Arrow's texts may be none
        return [_object(cells.array, place) for place in range(len(cells))]


def _object(cells: Any, place: int) -> Any:
    try:
        return cells[place]
    except Exception:
        return _UNREADABLE


def _is_arrow_text(kind: Any) -> bool:
    of_pandas = isinstance(kind, pd.StringDtype) and kind.storage == "pyarrow"
    return of_pandas or str(kind) in _ARROW_TEXTS


def is_numeric(cells: pd.Series) -> bool:
    """Return whether a column is an array of real numbers of one type."""
    return getattr(cells.dtype, "kind", "O") in "iuf"


def _precision(kind: Any) -> float:
    """Return up to which size a column's type tells whole numbers apart."""
    if isinstance(kind, pd.CategoricalDtype):
        return _precision(kind.categories.dtype)
    if getattr(kind, "kind", "O") not in "fc":
        return np.inf
    plain = kind if isinstance(kind, np.dtype) else getattr(kind, "numpy_dtype", np.float64)
    return float(2 ** (min(np.finfo(plain).nmant, 52) + 1))
