"""Columns of cells in whatever pandas keeps them: the type chooses the route, never the result.

A column's type depends on every record: each route returns for every cell what
:mod:`dpscd.preprocessing.cells` says of that cell alone.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataTypeError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.cells import (
    MISSING,
    Listed,
    NumberCells,
    TruthCells,
    number_of,
    text_of,
)

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

_EXACT = 2**53  # from here on doubles skip whole numbers
_ARROW_TEXTS = ("string[pyarrow]", "large_string[pyarrow]")
# What a cell is taken for that cannot be had from its column.
_UNREADABLE = object()


def as_column(cells: Any) -> pd.Series:
    """Return cells in any one-dimensional container as a column, each as it is."""
    if isinstance(cells, pd.Series):
        return cells
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        return pd.Series(cells, copy=False)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "UOST":
        # Not pandas's type of texts, which refuses some.
        return pd.Series(cells.astype(object), dtype=object)
    if isinstance(cells, pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(cells)
    # Of a list: an array would give all cells one type.
    column = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return pd.Series(column, dtype=object)


def numbers(cells: pd.Series, meaning: NumberCells) -> Floats:
    """Return the number in each cell, NaN where there is none."""
    cells = _dense(cells)
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return _by_category(cells, lambda own: numbers(own, meaning), np.nan)
    if _is_numeric(cells):
        given = {} if isinstance(cells.dtype, np.dtype) else {"na_value": np.nan}
        # Ours to change, and the same in memory whatever pandas had.
        with np.errstate(all="ignore"):  # a warning would tell of large values
            plain: Floats = np.array(cells.to_numpy(dtype=np.float64, **given), order="C")
            plain += 0.0  # no sign of zero
        for absent in meaning.absent:
            plain[plain == absent] = np.nan
        return plain
    if found := _texts(cells):
        places, texts = found
        return _looked_up([meaning.value(text) for text in texts], places, np.nan)
    return np.array([meaning.value(cell) for cell in _objects(cells)], dtype=np.float64)


def codes(cells: pd.Series, meaning: Listed | TruthCells) -> Codes:
    """Return the code of each cell, or raise DataTypeError if a listed one may be rounded."""
    cells = _dense(cells)
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return _by_category(cells, lambda own: codes(own, meaning), MISSING).astype(np.int32)
    if _precision(cells) <= meaning.largest_whole:
        raise DataTypeError(refusals.ROUNDED)
    # Equal values have equal texts among numbers of one type, and among texts.
    found = pd.factorize(cells) if _is_numeric(cells) else _texts(cells)
    if found:
        places, values = found
        texts: Iterable[str | None] = (text_of(value) for value in values)
    else:
        # Not the cells themselves: True and 1 are equal, and the first one seen would count.
        objects = _objects(cells)
        floats = (cell for cell in objects if isinstance(cell, float | np.floating))
        large = meaning.largest_whole >= _EXACT
        if large and any(abs(number_of(cell)) >= _EXACT for cell in floats):
            raise DataTypeError(refusals.ROUNDED)
        places, texts = _distinct([text_of(cell) for cell in objects])
    return _looked_up([meaning.code(text) for text in texts], places, MISSING).astype(np.int32)


def _looked_up(table: list[Any], places: npt.NDArray[Any], absent: Any) -> npt.NDArray[Any]:
    """Return the entry of each cell; pandas gives a missing one the place -1."""
    found: npt.NDArray[Any] = np.array([*table, absent])[places]
    return found


def _dense(cells: pd.Series) -> pd.Series:
    return cells.sparse.to_dense() if isinstance(cells.dtype, pd.SparseDtype) else cells


def _by_category(
    cells: pd.Series, read: Callable[[pd.Series], npt.NDArray[Any]], absent: Any
) -> npt.NDArray[Any]:
    found = read(pd.Series(cells.cat.categories))
    return _looked_up(list(found), cells.cat.codes.to_numpy(), absent)


def _objects(cells: pd.Series) -> Iterable[Any]:
    try:
        return cells.astype(object).array  # type: ignore[no-any-return]
    except Exception:  # Arrow's texts may be none: the others are read one by one
        return [_object(cells.array, place) for place in range(len(cells))]


def _object(cells: Any, place: int) -> Any:
    try:
        return cells[place]
    except Exception:
        return _UNREADABLE


def _texts(cells: pd.Series) -> tuple[npt.NDArray[Any], list[Any]] | None:
    """Return places and texts of a column of texts; None if it is not one."""
    if not _is_text(cells):
        return None
    try:
        if "pyarrow" in str(getattr(cells.dtype, "storage", cells.dtype)):
            places, texts = pd.factorize(cells)
            return places, list(texts)
        return _distinct([None if pd.isna(cell) else cell for cell in _objects(cells)])
    except Exception:
        return None


def _distinct(texts: Iterable[str | None]) -> tuple[npt.NDArray[Any], list[Any]]:
    """Return the place of each text among the different ones, -1 for None, and these."""
    # Not by pandas, some versions of which take texts for equal up to the first NUL.
    seen: dict[str, int] = {}
    places = [-1 if text is None else seen.setdefault(text, len(seen)) for text in texts]
    return np.array(places, dtype=np.intp), list(seen)


def _is_numeric(cells: pd.Series) -> bool:
    """Return whether a column is an array of real numbers of one type."""
    return getattr(cells.dtype, "kind", "O") in "iuf"


def _is_text(cells: pd.Series) -> bool:
    """Return whether all cells that have a value are texts."""
    if isinstance(cells.dtype, pd.StringDtype) or str(cells.dtype) in _ARROW_TEXTS:
        return True
    is_object = cells.dtype == object
    return bool(is_object and pd.api.types.infer_dtype(cells, skipna=True) == "string")


def _precision(cells: pd.Series) -> float:
    """Return up to which size a column's type tells whole numbers apart."""
    kind = cells.dtype
    if getattr(kind, "kind", "O") not in "fc":
        return np.inf
    plain = kind if isinstance(kind, np.dtype) else getattr(kind, "numpy_dtype", np.float64)
    return float(2 ** (min(np.finfo(plain).nmant, 52) + 1))
