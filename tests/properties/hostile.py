"""Cells of every kind that a table can hold, and what a neighbour may do to a record."""

import datetime
import functools
import os
import random
import re
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from scipy import sparse

from dpscd.errors import DataError
from dpscd.preprocessing.refusals import REFUSALS

EXAMPLES = int(os.environ.get("DPSCD_DOOR_EXAMPLES", "200"))
DOOR = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))

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
    Fraction(1, 3), "True", "false", b"7", np.str_("7"), np.bytes_(b"7"), np.array(7.5),
    complex(2, 0), np.complex64(3), -2.5, 1 / 3, 123456.789, -1e-9, 1e-308, 3.0, 2.0**53, -1e6,
])  # fmt: skip
"""Cells that are finite numbers, whatever they look like."""

STRANGE = Cells([
    None, np.nan, np.inf, -np.inf, "nan", "inf", "-Infinity", pd.NA, pd.NaT, np.float32("nan"),
    "", " ", "?", "NA", "None", "a", "b", "A", "x", "yes", "no", "1_000", "\0", "\ud800", "é",
    b"a", b"\xff", 10**400, -(10**400), 10**5000, "9" * 5000, Decimal("NaN"), Decimal("sNaN"),
    Decimal("1E+999999"), Decimal("-Infinity"), Fraction(10**400, 3), complex(1, 2), 1j,
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


def one_of_these(cells):
    """Return a strategy that does not show its cells, some of which cannot be shown."""
    return st.integers(0, len(cells) - 1).map(lambda place: cells[place])


TEXTS = [
    "\x85", "\u2028", "0x10", "1,5", "1e", "+7", "-0", "\u0667", "TRUE", "n/a", "#", "'", '"',
]  # fmt: skip
ANYTHING = STRANGE + STRANGE + NUMBERS + TEXTS
numbers, anything = one_of_these(NUMBERS), one_of_these(ANYTHING)


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


class Records(list):
    """Records that are themselves and no others, so that what came of them can be kept."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


@functools.cache
def _records(seed, own, width):
    rng = random.Random(seed)  # noqa: S311
    return Records(tuple(rng.choices(own, k=width)) for _ in range(rng.randint(3, 4)))


# Drawn by seeds: thirty choices of Hypothesis would cost more than what is tested. There are
# 32 tables, so that each is read once; what a neighbour does to them is never the same.
@st.composite
def changes(draw, own=NUMBERS, width=2, others=ANYTHING):
    """Return records, the place of one of them, and another record for that place."""
    records = _records(draw(st.integers(0, 31)), own, width)
    rng = random.Random(draw(st.integers(0, 2**32 - 1)))  # noqa: S311
    return records, rng.randrange(len(records)), tuple(rng.choices([*own, *others], k=width))


@st.composite
def typed_changes(draw, width=2, others=()):
    """Return records of one family of cells, so that a typed container takes them."""
    own, alike = FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))]
    return draw(changes(own, width, Cells([*alike, *others])))


def turning_changes(width=2):
    """Return records of one family, and one that may give its columns another type."""
    return typed_changes(width, ANYTHING)


class Untold(Exception):  # noqa: N818 - not a failure of what is tested
    """A container that cannot be built of these cells: its own library says so."""


def built(make, *args):
    """Return a container; what its library does not take is not ours to judge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make(*args)
        except Exception as error:
            raise Untold from error


def outcome(call, *args):
    """Return what comes out for each record, or the error, which must be listed; in silence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return apart(call(*args))
        except DataError as error:
            check_refusal(error)
            return error


_LISTED = [
    re.compile(re.sub(r"\\{(!r)?\\}", r"[\\w., ';|-]+", re.escape(text))) for text in REFUSALS
]


def check_refusal(error):
    """A refusal is one of the list, and carries nothing else."""
    message = str(error)
    assert any(pattern.fullmatch(message) for pattern in _LISTED), message
    assert SECRET not in message
    assert error.__cause__ is None
    assert error.__context__ is None
    assert error.args == (message,)


def apart(found):
    """Return the bits of every record: of triples, of rows, or of predictions."""
    if isinstance(found, list):
        return found  # it was taken apart before
    if isinstance(found, tuple):
        parts = [apart(part) for part in found if part is not None]
        return list(zip(*parts, strict=True))
    if sparse.issparse(found):
        found = found.tocsr()
        return [_entries(found, i) for i in range(found.shape[0])]
    found = np.asarray(found)
    if found.dtype.kind != "f":
        return found.tolist()
    return [np.asarray(row, dtype=np.float64).tobytes() for row in found]


def _entries(rows, i):
    part = slice(rows.indptr[i], rows.indptr[i + 1])
    return rows.indices[part].tolist(), rows.data[part].astype(np.float64).tobytes()


def check_others(call, before, after, k, *, refuses=True):
    """No other record is another one for what became of record k."""
    check_outcomes(outcome(call, *before), outcome(call, *after), k, refuses=refuses)


@functools.cache
def _outcome_of(read, make, records):
    return outcome(read, built(make, records))


def check_change(read, make, change, *, refuses=True):
    """The same of a container that `make` makes; what came of the records before is kept."""
    records, k, other = change
    try:
        before = _outcome_of(read, make, records)
        after = built(make, replaced(records, k, other))
    except Untold:
        assume(False)
    check_outcomes(before, outcome(read, after), k, refuses=refuses)


def check_outcomes(first, second, k, *, refuses):
    """No other record is another one in the second than in the first."""
    refused = [x for x in (first, second) if isinstance(x, DataError)]
    assert refuses or not refused, refused
    if not refused:
        assert len(first) == len(second)
        for place, (one, other) in enumerate(zip(first, second, strict=True)):
            assert place == k or one == other, place


def replaced(records, k, record):
    """Return all records with another one in place k."""
    return [*records[:k], record, *records[k + 1 :]]
