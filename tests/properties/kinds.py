"""Cells of every kind, and containers of them: what is accepted, and what else may come.

The other files state what is true of them, and opening.py knows how they are opened.
"""

import datetime
import uuid
from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa

SECRET = "canary8472"


class Shy:
    """Answers no question."""

    def _refuse(self, *_):
        raise RuntimeError(SECRET)

    __str__ = __eq__ = __hash__ = __float__ = __int__ = __index__ = __bool__ = _refuse
    __lt__ = __array__ = __getitem__ = __complex__ = _refuse

    def __repr__(self):
        return "Shy()"


class ShyRow(list):
    """A row that does not say how long it is."""

    def __len__(self):
        raise RuntimeError(SECRET)

    __iter__ = __len__
    __hash__ = None


class ShyFloat(float):
    def __float__(self):
        raise RuntimeError(SECRET)


class ShyInt(int):
    def __int__(self):
        raise RuntimeError(SECRET)

    __index__ = __int__


class Text(str):
    """A text that says it is equal to whatever it is compared with."""

    __slots__ = ()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("a")


class ShyText(str):
    __slots__ = ()

    def __hash__(self):
        raise RuntimeError(SECRET)

    def __eq__(self, other):
        raise RuntimeError(SECRET)


class ShyBytes(bytes):
    def decode(self, *_, **__):
        raise RuntimeError(SECRET)


class Cells(list):
    """Cells that are not shown, because some of them cannot be."""

    __hash__ = object.__hash__

    def __repr__(self):
        return "cells"

    def __add__(self, other):
        return Cells([*self, *other])


NUMBERS = Cells([
    0, 1, -1, 7, 7.0, 0.5, 999, 999.0, "999", " 999.0 ", "7", "0.1", -0.0, True, False,
    np.True_, np.float16(0.1), np.float32(0.1), np.float64(0.1), np.longdouble("0.1"), 0.1,
    np.int8(7), np.int16(7), np.int32(7), np.int64(7), np.uint8(7), np.uint16(7), np.uint32(7),
    np.uint64(2**64 - 1), 2**53 + 1, -(2**63), 2**63, 2**64, 10**20, 1e300, 5e-324, "1e3",
    "9007199254740993", Decimal("0.1"), Decimal(2**53 + 1), Decimal("1E-999999"),
    "True", "false", b"7", np.str_("7"), np.bytes_(b"7"),
    complex(2, 0), np.complex64(3), -2.5, 1 / 3, 123456.789, -1e-9, 1e-308, 3.0, 2.0**53, -1e6,
])  # fmt: skip
"""Cells that are finite numbers, whatever they look like."""

STRANGE = Cells([
    None, np.nan, np.inf, -np.inf, "nan", "inf", "-Infinity", pd.NA, pd.NaT, np.float32("nan"),
    "", " ", "?", "NA", "None", "a", "b", "A", "x", "yes", "no", "1_000", "\0", "\ud800", "é",
    b"a", b"\xff", 10**400, -(10**400), 10**5000, "9" * 5000, Decimal("NaN"), Decimal("sNaN"),
    Decimal("1E+999999"), Decimal("-Infinity"), Fraction(10**400, 3), complex(1, 2), 1j,
    Fraction(1, 3), np.array(7.5),
    complex("nan"), np.complex128(1j), np.longdouble("1e4000"), [1], [1, 2], (1,), {"a": 1},
    {1}, np.array([1.0]), np.array([1.0, 2.0]), np.array(None), object, np.void(b"ab"),
    datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.time(1),
    datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2020, 1, 1, 3, 4),
    datetime.timedelta(1), datetime.timedelta.max, pd.Timedelta(days=1), pd.Timedelta(1),
    pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01", tz="Europe/Zurich"),
    pd.Timestamp("2020-01-01 00:00:00.123456789"), pd.Period("2020-01"), pd.Interval(0, 1),
    np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00:00:00.123456789"),
    np.datetime64("NaT"), np.datetime64(10**18, "s"), np.timedelta64(1, "D"),
    np.timedelta64("NaT"), np.timedelta64(3, "Y"), uuid.UUID(int=5), Shy(), ShyFloat(1.0),
    ShyInt(1), ShyText("a"), Text("b"), ShyBytes(b"a"), ShyRow([1, 2]),
])  # fmt: skip
"""Cells that are something else."""


TEXTS = [
    "\x85", "\u2028", "0x10", "1,5", "1e", "+7", "-0", "\u0667", "TRUE", "n/a", "#", "'", '"',
]  # fmt: skip

FAMILIES = {
    "whole": (Cells([0, 1, 7, 999, 2**53 + 1, -5]), [None, -(2**62)]),
    "floats": (Cells([0.5, -0.0, 7.0, 0.1, 999.0, 2.0**53]), [None, np.nan, np.inf, 1e300]),
    "texts": (
        Cells(["7", "0.1", " 999 ", "1e3", "true"]),
        [None, "", "a", "x", "NA", "é", "9" * 400],
    ),
    "truth": (Cells([True, False]), [None]),
    "decimals": (Cells([Decimal("0.5"), Decimal(7), Decimal(999)]), [None]),
}
"""Cells that typed containers take together, and others that they take as well."""


# --- containers: in each any cells can be, in TYPED cells of one family -----------------------


def as_objects(cells):
    """Return an array of objects that are the cells themselves."""
    column = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return column


def objects(records):
    flat = as_objects([cell for record in records for cell in record])
    return flat.reshape(len(records), len(records[0]))


def object_column(cells):
    return pd.Series(as_objects(list(cells)), dtype=object)


def frame_of(make, names=("0", "1")):
    """Return what makes a table of columns that are made by `make`."""
    return lambda records: pd.DataFrame(
        {name: make([record[j] for record in records]) for j, name in enumerate(names)}
    )


def arrow_column(cells):
    return pd.arrays.ArrowExtensionArray(pa.array(cells))


TYPED_COLUMNS = {
    "Arrow": arrow_column,
    "nullable": pd.array,
    "categories": pd.Categorical,
    "sparse": pd.arrays.SparseArray,
}
ROWS = {
    "list": lambda records: [list(record) for record in records],
    "tuple": tuple,
    "deque": deque,
    "arrays": lambda records: [objects([record])[0] for record in records],
    "object": objects,
    "object, strided": lambda records: np.asfortranarray(np.repeat(objects(records), 2, 0))[
        ::2
    ],
    "texts": lambda records: np.array([[str(cell) for cell in r] for r in records]),
    "bytes": lambda records: np.array([[str(c).encode() for c in r] for r in records]),
    "frame": frame_of(list),
    "frame of objects": lambda records: pd.DataFrame(objects(records)),
    "frame of texts as categories": frame_of(lambda cells: pd.Categorical(map(str, cells))),
}
ROWS_TYPED = {
    "Arrow": lambda records: pa.table(
        {str(j): pa.array([record[j] for record in records]) for j in (0, 1)}
    ),
    **{f"frame of {kind}": frame_of(make) for kind, make in TYPED_COLUMNS.items()},
}
LABELS = {
    "list": list,
    "object": as_objects,
    "series": pd.Series,
    "series of objects": object_column,
    "texts": lambda labels: np.array([str(label) for label in labels]),
}
"""One value a record; in each any values can be."""
LABELS_IN_COLUMNS = {
    "column": lambda labels: objects([(label,) for label in labels]),
    "frame": lambda labels: pd.DataFrame({"y": labels}),
    "lists of one": lambda labels: [[label] for label in labels],
}
LABELS_TYPED = {
    "array": np.array,
    "index": pd.Index,
    **{
        kind: lambda labels, make=make: pd.Series(make(labels))
        for kind, make in TYPED_COLUMNS.items()
    },
}
TABLES = {
    "as pandas infers them": pd.Series,
    "objects": object_column,
    "texts": lambda cells: pd.Series(list(map(str, cells)), dtype="str"),
    "texts as objects": lambda cells: object_column(map(str, cells)),
    "texts as categories": lambda cells: pd.Categorical(map(str, cells)),
}
"""Columns of a table."""
PERSONS = {
    "list": list,
    "tuple": tuple,
    "array": as_objects,
    "objects": object_column,
    "index": lambda cells: pd.Index(as_objects(cells), dtype=object),
    "as pandas infers them": pd.Series,
    "texts": lambda cells: pd.Series(list(map(str, cells)), dtype="str"),
    "texts as categories": lambda cells: pd.Categorical(list(map(str, cells))),
}
PERSONS_TYPED = {
    **TYPED_COLUMNS,
    "Arrow alone": pa.array,
    "array": np.array,
    "inferred": pd.Series,
}
KEEPING = ("tuple", "array", "objects", "index")
"""Those of PERSONS that keep every cell as it is."""
