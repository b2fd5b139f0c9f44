"""Rows of numbers that stay as they are stored, and are widened as they are read."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpscd.errors import DataError, DataTypeError
from dpscd.records import refusals

Floats = npt.NDArray[Any]

_BLOCK = 4096  # rows looked at together


class StoredRows:
    """Rows in files or arrays of any width, of which a few at a time are read.

    Estimators take it for X. A dense fit keeps two bytes per number in memory.

    Parameters
    ----------
    stored : path, array, or list of these
        Files in NumPy's format (``.npy``), which are mapped and never unpickled; a folder
        stands for all of them in it, by name. Rows follow each other in this order.
    bfloat16 : bool, default=False
        Whether whole numbers of 16 bits are bits of bfloat16, for which NumPy has no type.

    Attributes
    ----------
    shape : tuple of int
        Records and features.
    dtype : dtype
        What rows are read as: single precision where no part is wider, else double.

    Examples
    --------
    >>> import numpy as np
    >>> from dpscd import StoredRows
    >>> bits = np.array([[0x3F80, 0xBF00]], dtype=np.uint16)
    >>> StoredRows(bits, bfloat16=True)[:].tolist()
    [[1.0, -0.5]]
    """

    ndim = 2

    def __init__(self, stored: Any, *, bfloat16: bool = False) -> None:
        several = stored if isinstance(stored, list | tuple) else [stored]
        self._parts = [part for one in several for part in _arrays(one)]
        self._bfloat16 = bfloat16
        if not self._parts:
            raise DataError("there are no .npy files in the folder.")
        for part in self._parts:
            _check(part, bfloat16=bfloat16)
        widths = {part.shape[1] for part in self._parts}
        if len(widths) != 1:
            raise DataError("all arrays of rows must have as many columns.")
        starts = np.cumsum([0, *(len(part) for part in self._parts)])
        self._starts = [int(start) for start in starts]
        self.shape = (self._starts[-1], widths.pop())
        kinds = [part.dtype for part in self._parts]
        narrow = bfloat16 or all(kind.kind == "f" and kind.itemsize <= 4 for kind in kinds)
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if narrow else np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self[:], dtype=dtype, copy=copy)

    def __getitem__(self, rows: Any) -> Floats:
        """Return some rows as a C-contiguous array, by a slice or by their numbers.

        Guarantee: a row is a function of the record's own cells.
        """
        if not isinstance(rows, slice):
            return self._picked(np.asarray(rows))
        first, last, step = rows.indices(len(self))
        if step != 1:
            return self._picked(np.arange(first, last, step))
        found = [
            self._read(part[max(first - start, 0) : max(last - start, 0)])
            for start, part in zip(self._starts, self._parts, strict=False)
            if start < last and first < start + len(part)
        ]
        if not found:
            return np.empty((0, self.shape[1]), self.dtype)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _picked(self, rows: npt.NDArray[Any]) -> Floats:
        found = np.empty((len(rows), self.shape[1]), self.dtype)
        for start, part in zip(self._starts, self._parts, strict=False):
            here = (rows >= start) & (rows < start + len(part))
            found[here] = self._read(part[rows[here] - start])
        return found

    def _read(self, part: npt.NDArray[Any]) -> Floats:
        if self._bfloat16:
            # The upper half of the bits of a float32: every bfloat16 is one, exactly.
            return (part.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        with np.errstate(all="ignore"):  # a warning would tell of large values
            return np.ascontiguousarray(part, dtype=self.dtype)

    def blocks(self) -> Iterator[slice]:
        """Yield consecutive rows to be read at once."""
        for first in range(0, len(self), _BLOCK):
            yield slice(first, min(first + _BLOCK, len(self)))

    def all_finite(self) -> bool:
        """Return whether every cell is a finite number; all of them are read for it."""
        return all(bool(np.isfinite(self[block]).all()) for block in self.blocks())


def map_array(path: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """Return the array of a ``.npy`` file, mapped: its header is all that is read."""
    found = None
    with suppress(ValueError, EOFError):  # whose texts are NumPy's, of whatever the file holds
        found = np.lib.format.open_memmap(path, mode="r")
    if found is None:
        raise DataTypeError(refusals.NOT_AN_ARRAY.format(Path(path).name))
    return found.view(np.ndarray)


def _arrays(one: Any) -> list[npt.NDArray[Any]]:
    """Return what stands for one array: itself, or those of a file or of a folder."""
    if isinstance(one, np.ndarray):
        return [one.view(np.ndarray)]
    if not isinstance(one, str | os.PathLike):
        raise DataTypeError("stored rows are arrays, or paths of .npy files or of a folder.")
    path = Path(one)
    files = sorted(path.glob("*.npy")) if path.is_dir() else [path]
    return [map_array(file) for file in files]


def _check(part: npt.NDArray[Any], *, bfloat16: bool) -> None:
    if part.ndim != 2:
        raise DataError(
            f"Found array with dim {part.ndim}, while dim 2 is required: one row per record, "
            "one column per feature."
        )
    if part.dtype.kind == "c":
        raise DataTypeError(refusals.COMPLEX)
    if bfloat16 and part.dtype not in _SIXTEEN_BITS:
        raise DataTypeError(
            "bfloat16 numbers are stored as whole numbers of 16 bits (uint16); these are "
            f"{part.dtype}."
        )
    if not bfloat16 and part.dtype.kind not in "biuf":
        raise DataTypeError(
            f"stored rows must be numbers; these are {part.dtype}. Bits of bfloat16 are "
            "read with bfloat16=True (--bfloat16)."
        )


#: Bits of bfloat16 as users store them; as nameless bytes if NumPy did not know their type.
_SIXTEEN_BITS = (np.dtype(np.uint16), np.dtype(np.int16), np.dtype("V2"))
