"""The different identifiers of a column, in whatever container it comes.

Each route returns cells that are what the container holds, or numbers of one type: nothing is
rounded or cut on the way.
"""

import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpscd.errors import DataError, DataTypeError
from dpscd.preprocessing import refusals
from dpscd.preprocessing.identifier_cells import whole_up_to

__all__ = ["Codes", "different"]

Codes = npt.NDArray[np.int64]
Different = tuple[Codes | None, Sequence[Any] | npt.NDArray[Any]]

_NEEDS_ARROW = (
    "columns of other libraries than pandas need pyarrow; install it with: pip install pyarrow"
)


def different(cells: Any) -> Different:
    """Return the place of each row among different cells, -1 if it has no value, and these.

    Places are None if each row has the cell of its own place. Cells are an array of numbers of
    one type, all different, in the order in which they first appear; or a list, which may
    repeat some.
    """
    cells = _flat(cells)
    if isinstance(cells, pd.Series):
        return _of_series(cells)
    if isinstance(cells, np.ma.MaskedArray):
        return _shown(~np.ma.getmaskarray(cells), np.asarray(cells.data))
    if isinstance(cells, np.ndarray):
        return _of_array(cells)
    return None, cells


def _flat(cells: Any) -> Any:
    """Return a column as a Series, an array or a list, or refuse what is none."""
    if isinstance(cells, pd.Series):
        return cells
    several = hasattr(cells, "columns") or isinstance(cells, pd.MultiIndex)
    if several or getattr(cells, "ndim", 1) != 1:
        raise DataError(refusals.NOT_A_PERSON_EACH)
    if isinstance(cells, pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(cells, dtype=cells.dtype)  # as it is: pandas might find another type
    if hasattr(cells, "__arrow_c_array__") or hasattr(cells, "__arrow_c_stream__"):
        return _from_arrow(cells)
    if hasattr(cells, "__array__") or isinstance(cells, array.array | memoryview):
        found = np.asanyarray(cells)
        if found.ndim == 1:
            return found
    elif _is_list(cells):
        return list(cells)
    raise DataError(refusals.NOT_A_PERSON_EACH)


def _is_list(cells: Any) -> bool:
    ordered = not isinstance(cells, str | bytes | bytearray | dict | set | frozenset)
    return ordered and hasattr(cells, "__len__") and hasattr(cells, "__iter__")


def _from_arrow(cells: Any) -> pd.Series:
    try:
        import pyarrow as pa
    except ImportError:
        pa = None
    if pa is None:
        raise DataTypeError(_NEEDS_ARROW)
    stream = hasattr(cells, "__arrow_c_stream__")
    found = pa.chunked_array(cells) if stream else pa.array(cells)
    return pd.Series(pd.arrays.ArrowExtensionArray(found))


def _of_series(cells: pd.Series) -> Different:
    kind = cells.dtype
    if isinstance(kind, pd.SparseDtype):
        return _of_series(cells.sparse.to_dense())
    if isinstance(kind, pd.CategoricalDtype):
        # Those that no row has are nobody.
        places, used = pd.factorize(cells.cat.codes.to_numpy().astype(np.int64))
        own = used >= 0
        categories = cells.cat.categories[used[own]]
        inner, found = _of_series(pd.Series(categories, dtype=categories.dtype))
        return _through(np.where(own, np.cumsum(own) - 1, -1)[places], inner), found
    if isinstance(kind, pd.ArrowDtype):
        return _of_arrow(cells)
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return _of_array(cells.to_numpy())
    if not isinstance(kind, np.dtype) and getattr(kind, "kind", "O") in "biuf":
        return _of_nullable(cells)
    if isinstance(kind, pd.StringDtype) and kind.storage == "pyarrow":
        return _of_texts(cells)
    return None, list(cells.astype(object).array)


def _of_arrow(cells: pd.Series) -> Different:
    """Return the different cells of an Arrow type of which nothing is lost on the way."""
    import pyarrow as pa
    from pyarrow import types

    kind = cells.dtype.pyarrow_dtype
    if types.is_dictionary(kind) or types.is_date64(kind):
        plain = kind.value_type if types.is_dictionary(kind) else pa.timestamp("ms")
        found = pa.array(cells.array).cast(plain)
        return _of_series(pd.Series(pd.arrays.ArrowExtensionArray(found)))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return _of_nullable(cells)
    if types.is_string(kind) or types.is_large_string(kind):
        return _of_texts(cells)
    binary = types.is_binary(kind) or types.is_large_binary(kind)
    exact = binary or types.is_fixed_size_binary(kind) or types.is_decimal(kind)
    exact = exact or types.is_date32(kind) or types.is_timestamp(kind)
    exact = exact or types.is_duration(kind) or types.is_null(kind) or types.is_time32(kind)
    if not (exact or kind == pa.time64("us")):
        raise DataTypeError(refusals.NOT_AN_IDENTIFIER)
    return None, list(cells.astype(object).array)


def _of_nullable(cells: pd.Series) -> Different:
    """Return the different numbers of a type that has missing ones besides."""
    known = cells.notna().to_numpy().astype(bool)
    kind = cells.dtype.numpy_dtype
    return _shown(known, cells.to_numpy(dtype=kind, na_value=kind.type(0)))


def _of_texts(cells: pd.Series) -> Different:
    """Return the different texts of an Arrow column: by Arrow, whole, and not by pandas."""
    places, texts = pd.factorize(cells)
    return places.astype(np.int64), list(texts)


def _of_array(cells: npt.NDArray[Any]) -> Different:
    kind = cells.dtype
    if kind.kind not in "biuf" or kind.itemsize > 8:
        # Not tolist(), which makes other things of dates.
        return None, list(cells.astype(object) if kind.kind == "T" else cells)
    if kind.kind == "f":
        with np.errstate(all="ignore"):  # a warning would tell of large values
            if (np.abs(cells) >= whole_up_to(kind.itemsize)).any():
                raise DataTypeError(refusals.ROUNDED_PERSONS)
    plain = {"b": np.uint8, "i": np.int64, "u": np.uint64, "f": np.float64}[kind.kind]
    places, found = pd.factorize(cells.astype(plain))
    return places.astype(np.int64), found.astype(bool) if kind.kind == "b" else found


def _shown(known: npt.NDArray[np.bool_], cells: npt.NDArray[Any]) -> Different:
    """Return the different cells of the rows that have one."""
    inner, found = _of_array(cells[known])
    return _through(np.where(known, np.cumsum(known) - 1, -1), inner), found


def _through(places: Codes, inner: Codes | None) -> Codes:
    """Return places among different cells of places among those that were looked at."""
    return places if inner is None else np.append(inner, -1)[places]
