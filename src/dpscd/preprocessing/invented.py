"""Records with the released means of features, drawn as if columns were unrelated."""

import math
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from dpscd.preprocessing.column_features import Bounds, declared_bounds, knots_of, width_of
from dpscd.preprocessing.declarations import Column
from dpscd.preprocessing.schema import Schema
from dpscd.records.cells import MISSING, OTHER
from dpscd.records.encoding import Parsed, encode, unit_of

Floats = npt.NDArray[np.float64]

# Squares of hats add up to so much, on average, where values lie evenly between knots.
_EVEN = 2.0 / 3.0


class _Draw(NamedTuple):
    """How records are drawn."""

    records: int
    rng: np.random.Generator
    error: float  # of shares

    def places(self, shares: Floats) -> npt.NDArray[np.intp]:
        """Return places with these shares, as exactly as may be, in random order."""
        shares = np.maximum(shares - self.error, 0.0)
        total = float(shares.sum())
        ends = np.cumsum(shares / total if total > 0.0 else np.full(len(shares), 1.0))
        even = (np.arange(self.records) + 0.5) / self.records
        found = np.searchsorted(ends * (even[-1] / ends[-1]), even)
        return self.rng.permutation(np.minimum(found, len(shares) - 1))


def invented_rows(
    schema: Schema, bounds: Bounds, means: Floats, squares: Floats, error: float, count: int
) -> Floats:
    """Return rows of `count` records whose features have these means and mean squares.

    All are off by `error`; what shares of levels noise may have made is left out. Each column
    is drawn by itself, and of a pair both columns are. The result is a function of the
    arguments alone.
    """
    unit = unit_of(schema)
    draw = _Draw(count, np.random.default_rng(0), error / unit)
    columns, first = {}, 0
    for column in schema.features:
        own = slice(first, first + width_of(column))
        first = own.stop
        mean, square = means[own] / unit, squares[own] / unit**2
        if column.kind == "category":
            columns[column.name] = _codes(column, mean, draw)
        else:
            columns[column.name] = _values(column, bounds, mean, square, draw)
    parsed = Parsed(columns, np.zeros(count), count)
    rows: Floats = encode(schema, parsed, bounds, as_sparse=False).astype(np.float64)
    return rows


def _codes(column: Column, mean: Floats, draw: _Draw) -> npt.NDArray[np.int32]:
    """Return codes of a category, by the shares of its levels."""
    codes = np.arange(len(mean) + 1, dtype=np.int32)
    codes[-1] = MISSING
    if column.missing == "column":
        codes[len(mean) - 1] = MISSING
    if not column.complete:
        codes[len(column.values)] = OTHER
    none = column.complete and column.missing == "average"
    left = max(0.0, 1.0 - float(np.maximum(mean, 0.0).sum())) if none else 0.0
    return codes[draw.places(np.append(mean, left))]


def _values(
    column: Column, bounds: Bounds, mean: Floats, square: Floats, draw: _Draw
) -> npt.NDArray[Any]:
    """Return cells of a number, an ordinal or a boolean."""
    shaped = bool(column.bent or column.bins or column.cyclic)
    size = math.sqrt(0.5) if column.bent else 1.0  # of the features of a shape
    gone = 0.0
    if column.missing == "column":
        gone, mean, square = float(mean[-1]), mean[:-1], square[:-1]
    elif column.missing == "average" and shaped:
        gone = max(0.0, 1.0 - float(mean[int(column.bent) :].sum()) / size)
    absent = draw.places(np.array([1.0 - gone, gone])) == 1
    if column.kind != "number":
        top = max(len(column.values) - 1, 1)
        codes = np.rint((_line(mean, square, draw) + 1.0) * (top / 2.0)).astype(np.int32)
        return np.where(absent, MISSING, codes)
    if shaped:
        knots = cast("Floats", knots_of(column, bounds))
        place = _place(column, mean[int(column.bent) :], square[int(column.bent) :], size, draw)
    else:
        knots = np.array(declared_bounds(column, bounds))
        place = (_line(mean, square, draw) + 1.0) / 2.0
    if column.transform:
        knots = np.log1p(knots)
    values = np.interp(place, np.arange(len(knots)), knots)
    return np.where(absent, math.nan, np.expm1(values) if column.transform else values)


def _line(mean: Floats, square: Floats, draw: _Draw) -> Floats:
    """Return values between -1 and 1 with a mean and a mean square."""
    spread = math.sqrt(max(float(square[0] - mean[0] ** 2), 0.0))
    found: Floats = np.clip(draw.rng.normal(mean[0], spread, draw.records), -1.0, 1.0)
    return found


def _place(column: Column, mean: Floats, square: Floats, size: float, draw: _Draw) -> Floats:
    """Return where values lie among the knots, or the ends of intervals, of a shape."""
    place = draw.places(mean / size) + 0.0
    if not (column.shape == "smooth" or column.cyclic):
        return place + draw.rng.uniform(size=draw.records)
    # Squares tell how many values lie at a knot; others lie evenly around one.
    even = float(square.sum() / max(float(mean.sum()), 1e-9)) / size
    away = draw.rng.uniform(size=draw.records) - draw.rng.uniform(size=draw.records)
    away[draw.rng.uniform(size=draw.records) * (1.0 - _EVEN) < even - _EVEN] = 0.0
    if column.cyclic:
        return (place + away) % len(mean)
    last = len(mean) - 1.0
    return last - np.abs(last - np.abs(place + away))
