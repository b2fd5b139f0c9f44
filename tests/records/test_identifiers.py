"""Identifiers of persons: texts, whole numbers and dates, one person in every container."""

import array
import collections
import datetime
import hashlib
import sys
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from dpscd import DataError, DataTypeError, ParameterError
from dpscd.preprocessing.declarations import Layout
from dpscd.records import refusals
from dpscd.records.identifiers import (
    Numbering,
    count_of,
    keyed_hashes,
    order_of,
    person_codes,
    person_keys,
)

SECRET = "canary-5521"
DEFAULT = Layout().missing


def refused(cells, text=refusals.NOT_AN_IDENTIFIER, kind=DataTypeError):
    assert text in refusals.REFUSALS
    for call in (person_codes, person_keys):
        with pytest.raises(kind) as caught:
            call(cells)
        assert str(caught.value) == text
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None


def codes(cells, missing=()):
    found = person_codes(cells, missing)
    assert found.dtype == np.int64
    return found.tolist()


def arrow(values, kind=None):
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, kind)))


ONE = [
    [7, 7.0, "7", " 7\t", np.int8(7), np.uint64(7), np.float16(7), np.float32(7), b"7",
     np.longdouble(7), np.str_("7"), np.bytes_(b" 7 ")],
    [0, -0.0, "0", np.float32(-0.0), False + 0],
    [True, np.True_, "true"],
    [False, "false"],
    [2**53 + 1, str(2**53 + 1), np.int64(2**53 + 1)],
    [10**999, "1" + "0" * 999],
    [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), pd.Timestamp("2020-01-01"),
     np.datetime64("2020-01-01"), np.datetime64("2020-01-01", "ns"), "2020-01-01"],
    [datetime.datetime(2020, 1, 1, 3), "2020-01-01 03:00:00", np.datetime64("2020-01-01T03")],
    ["é", "é".encode(), " é"],
]  # fmt: skip


@pytest.mark.parametrize("cells", ONE, ids=lambda cells: type(cells[0]).__name__)
def test_one_value_is_one_person_in_every_type(cells):
    assert codes(cells) == [0] * len(cells)
    assert codes(list(reversed(cells))) == [0] * len(cells)
    for cell in cells:
        assert codes([cell]) == [0]


APART = [
    *[cells[0] for cells in ONE],
    1, "True", "007", "7.0", "+7", "7,", "\u0661", "TRUE", "1e3", "1000", -7, "-0", "0.10",
    2**53, 2**53 + 2, -(2**53), 2**64, 10**999 + 1, "Infinity", "infinity", "1/3",
    "\0", "a\0", "a", "a\0b", "a\0c", "A", "a b", "a  b", "\ud800", "\\xff", "b'\\xff'",
    datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.date(2020, 1, 2),
    pd.Timestamp("2020-01-01 00:00:00.000000001"), pd.Timestamp("2020-01-01 00:00:00.000001"),
    pd.Timestamp("1999-01-01"), 2020, "2020-01", "None", "nan",
]  # fmt: skip


def test_different_values_are_different_persons():
    for some in (APART, APART[::-1], APART[::2], APART[1::2]):
        assert codes(some) == list(range(len(some)))


def test_persons_are_numbered_as_they_appear():
    assert codes(["b", "a", None, "b", "c", "a"]) == [0, 1, -1, 0, 2, 1]
    assert codes(np.array([9, 3, 9, -1])) == [0, 1, 0, 2]
    assert codes([]) == codes(np.array([])) == codes(pd.Series([], dtype="Int64")) == []


def test_what_is_missing_is_nobody():
    cells = [
        None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"),
        np.float32("nan"), np.longdouble("nan"), "", "  ", b"",
    ]  # fmt: skip
    assert codes(cells) == [-1] * len(cells)
    assert codes([*cells, "x", *cells, "x"]) == [-1] * 12 + [0] + [-1] * 12 + [0]


def test_texts_that_count_as_missing():
    cells = ["?", "NA", " nan", "None", "x", "NAN"]
    assert codes(cells, DEFAULT) == [-1, -1, -1, -1, 0, 1]
    assert codes(cells) == [0, 1, 2, 3, 4, 5]
    # Of groups, that no schema has.
    assert person_codes(cells).tolist() == codes(cells, DEFAULT)
    assert person_keys(cells)[1] == [b"x", b"NAN"]
    # One that spells a number stands for it, however it is written.
    cells = ["999", 999, "0999", 999.0, "9990", 5]
    for absent in (["999"], [" 999.0 "], ["x", "9.99e2"]):
        assert codes(cells, absent) == [-1] * 4 + [0, 1]
    assert codes([True, "TRUE", "1", False], ["true"]) == [-1, -1, 0, 1]
    assert codes([True, "TRUE", "1", False], ["1"]) == [0, 1, -1, 2]


@pytest.mark.parametrize(
    ("cells", "absent", "expected"),
    [
        (np.array([5, 999, 5, 7]), ["999"], [0, -1, 0, 1]),
        (np.array([999, 5, 7], dtype=np.uint16), ["999.0"], [-1, 0, 1]),
        (np.array([5.0, 999.0, np.nan, 5.0]), ["999"], [0, -1, -1, 0]),
        (np.array([2**53 + 1, 2**53, 2**53 + 2]), [str(2**53 + 1)], [-1, 0, 1]),
        (np.array([-(2**63), 5, -(2**63)]), [str(-(2**63)), "9" * 19], [-1, 0, -1]),
        (np.array([True, False]), ["true"], [-1, 0]),
        (np.array([True, False]), ["1"], [0, 1]),
        (np.array([5, 7]), ["?", "inf", "0.5"], [0, 1]),
        (pd.Series([5, None, 7], dtype="Int8"), ["5"], [-1, -1, 0]),
        (pd.Series(["5", "?", "7"], dtype="category"), ["?"], [0, -1, 1]),
    ],
)
def test_numbers_that_count_as_missing(cells, absent, expected):
    assert codes(cells, absent) == expected


WHOLE = [3, 1, 3, 2, 1]
EXPECTED = [0, 1, 0, 2, 1]
KINDS = ["int8", "int64", "uint64", ">i8", "<u4", "float16", "float32", "float64", ">f8",
         "longdouble", "U3", "S3", "object", "datetime64[D]", "datetime64[ns]"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_every_type(kind):
    cells = np.array(WHOLE, "int64").astype(kind)
    assert codes(cells) == EXPECTED
    assert codes(cells[::-1]) == [0, 1, 2, 0, 2]
    if kind not in (">i8", ">f8", "float16"):  # which pandas does not take
        assert codes(pd.Index(cells)) == EXPECTED
    hidden = np.ma.array(cells, mask=[0, 0, 0, 1, 0])
    assert codes(hidden) == [0, 1, 0, -1, 1]
    assert codes(np.ma.array(cells)) == EXPECTED


TYPED = {
    **{kind: pd.Series(WHOLE, dtype=kind) for kind in
       ("int8", "float32", "Int8", "UInt64", "Float32", "Float64", "object", "string", "str",
        "string[python]", "string[pyarrow]", "category", "Sparse[int]", "Sparse[float32]")},
    "texts as categories": pd.Series(map(str, WHOLE), dtype="category"),
    "floats as categories": pd.Series(map(float, WHOLE), dtype="category"),
    **{str(kind): arrow(WHOLE, kind) for kind in
       (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.date32(),
        pa.timestamp("ns"), pa.timestamp("s", "Europe/Zurich"))},
    "half": arrow(np.array(WHOLE, dtype=np.float16), pa.float16()),
    **{str(kind): arrow(list(map(str, WHOLE)), kind) for kind in
       (pa.string(), pa.large_string())},
    **{str(kind): arrow([str(x).encode() for x in WHOLE], kind) for kind in
       (pa.binary(), pa.large_binary(), pa.binary(1))},
    "dictionary": pd.Series(pd.arrays.ArrowExtensionArray(
        pa.array(list(map(str, WHOLE))).dictionary_encode())),
    "dictionary of floats": pd.Series(pd.arrays.ArrowExtensionArray(
        pa.array(WHOLE, pa.float32()).dictionary_encode())),
    "dates": pd.Series(pd.to_datetime(WHOLE, unit="D")),
    "dates of a zone": pd.Series(pd.to_datetime(WHOLE, unit="D", utc=True)),
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPED)
def test_columns_of_every_type(kind):
    cells = TYPED[kind]
    assert codes(cells) == EXPECTED
    assert codes(cells.set_axis([9, 9, 9, 0, 0])) == EXPECTED
    assert codes(cells.iloc[::-1]) == [0, 1, 2, 0, 2]
    assert codes(cells.array) == codes(pd.Index(cells)) == EXPECTED
    assert codes(list(cells)) == EXPECTED
    if not isinstance(cells.dtype, pd.SparseDtype):
        known = pd.Series([True, True, False, True, True])
        assert codes(cells.where(known)) == [0, 1, -1, 2, 1]


def test_truth_values_in_every_container():
    assert codes(pd.Series([False, True, False, True, True])) == [0, 1, 0, 1, 1]
    assert codes(pd.Series([False, None, True], dtype="boolean")) == [0, -1, 1]
    assert codes(arrow([False, None, True])) == [0, -1, 1]


def test_lists_of_every_kind():
    for make in (list, tuple, collections.deque, lambda x: array.array("h", x), pa.array):
        assert codes(make(WHOLE)) == EXPECTED
    texts = list(map(str, WHOLE))
    chunks = pa.chunked_array([texts[:2], [], texts[2:]])
    assert codes(chunks) == codes(pa.array(texts)) == EXPECTED
    assert codes(memoryview(np.array(WHOLE))) == EXPECTED
    assert codes(range(3)) == [0, 1, 2]
    assert codes(pa.array([None, "a", None, "a"])) == [-1, 0, -1, 0]
    assert codes(np.array(texts, dtype=np.dtypes.StringDType())) == EXPECTED

    class Others:
        """A column of another library."""

        def __init__(self, cells):
            self.cells = cells

        def __array__(self, *_, **__):
            return self.cells

    assert codes(Others(np.array(WHOLE, dtype=np.float32))) == EXPECTED
    refused(Others(np.ones((2, 2))), refusals.NOT_A_PERSON_EACH, DataError)


def test_other_libraries_need_pyarrow(monkeypatch):
    cells = pa.array(WHOLE)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataTypeError, match=r"pip install pyarrow"):
        person_codes(cells)


def test_categories_that_no_row_has_are_nobody():
    wide = pd.Categorical(["b", None, "a"], categories=["x", "", "a", "y", "b"])
    assert codes(wide) == [0, -1, 1]
    large = pd.Categorical([5.0, 5.0], categories=[2.0**60, 5.0])
    assert codes(large) == [0, 0]
    mixed = pd.Series([7, "7", True, None], dtype="category")
    assert codes(mixed) == [0, 0, 1, -1]


def test_large_whole_numbers_are_told_apart():
    for values, kinds in (
        ([2**63 - 1, 2**63 - 2], ["int64", "Int64", "int64[pyarrow]"]),
        ([2**64 - 1, 2**64 - 2], ["uint64", "UInt64", "uint64[pyarrow]"]),
    ):
        expected = [0, 1, 0]
        cells = [*values, values[0]]
        assert codes(cells) == codes(list(map(str, cells))) == expected
        for kind in kinds:
            assert codes(pd.Series(cells, dtype=kind)) == expected
            keys = [str(x).encode() for x in values]
            assert person_keys(pd.Series(cells, dtype=kind))[1] == keys
        for kind in kinds[1:]:
            assert codes(pd.Series([None, *cells], dtype=kind)) == [-1, *expected]


def test_texts_are_told_apart_to_the_end():
    cells = ["a\0b", "a\0c", "a", "a\0", "\0", "\0a", "A"]
    for kind in (object, "string[python]", "string[pyarrow]", "str"):
        assert codes(pd.Series(cells, dtype=kind)) == list(range(7))
    places = [6, 5, 4, 3, 2, 1, 0]  # some versions of pandas make fewer categories themselves
    wide = pd.Categorical.from_codes(places, pd.Index(cells, dtype=object))
    assert codes(wide) == codes(np.array(cells, dtype=object)) == list(range(7))
    assert codes(np.array(["Ab", "ab", "AB"])) == [0, 1, 2]
    spaced = pd.Series([" a", "a ", "a"], dtype="string[pyarrow]")
    assert codes(spaced) == codes(spaced.astype("category")) == [0, 0, 0]


@pytest.mark.parametrize(
    "cells",
    [
        "abc", b"abc", 5, None, {"a": 1}, {1, 2}, frozenset([1]), np.array(5), np.ones((2, 1)),
        np.ones((1, 2)), pd.DataFrame({"a": [1]}), pa.table({"a": [1]}),
        (x for x in "ab"), np.ma.ones((2, 2)), bytearray(b"ab"), object(),
        pd.MultiIndex.from_arrays([[1, 2], [3, 4]]), sparse.csr_array([[1]]),
    ],
    ids=lambda cells: type(cells).__name__,
)  # fmt: skip
def test_what_is_no_column(cells):
    refused(cells, refusals.NOT_A_PERSON_EACH, DataError)


class Shy:
    def _refuse(self, *_):
        raise RuntimeError(SECRET)

    __eq__ = __hash__ = __str__ = __bool__ = _refuse


class OwnDay(datetime.date):
    """Says that it is another day."""

    def isoformat(self):
        return "2020-01-01"


DROPPED = [
    0.5, np.float32(0.1), 1e-300, 1 + 0j, 1j, np.complex64(7), Decimal(7), Decimal("NaN"),
    Fraction(14, 2), uuid.UUID(int=5), datetime.time(1), datetime.timedelta(1),
    pd.Timedelta(days=1), np.timedelta64(1, "h"), pd.Period("2020-01"), pd.Interval(0, 1),
    np.datetime64(5, "ps"), np.datetime64(10**18, "s"), b"\xff", 10**1001, -(10**1001),
    (1, "a"), frozenset("ab"), object, len, np.array(7), np.longdouble("0.1"),
    OwnDay(2020, 1, 2), [1], {"a": 1}, {1}, bytearray(b"a"), np.void(b"ab"), Shy(),
]  # fmt: skip


@pytest.mark.parametrize("cell", DROPPED, ids=lambda cell: type(cell).__name__)
def test_what_is_neither_text_nor_whole_number_nor_date_is_refused(cell):
    for made in (["x", cell], ("x", cell), pd.Series([cell, "x"], dtype=object)):
        refused(made)


@pytest.mark.parametrize(
    "cells",
    [
        np.array([0.5, 1.0]), np.array([1, 2], "timedelta64[s]"), np.array([1, 2], complex),
        np.array([1, 2], "datetime64[ps]"), pd.Series([0.5], dtype="Float64"),
        arrow(WHOLE, pa.duration("ns")), arrow(WHOLE, pa.time32("s")),
        arrow([1], pa.time64("ns")),
        arrow([86_400_000], pa.date64()), arrow([Decimal(1)], pa.decimal128(9, 2)),
        pd.Series(pd.PeriodIndex(["2001-01"], freq="M")),
        pd.Series(pd.IntervalIndex.from_tuples([(0, 1)])),
        arrow([[1]]), arrow([{"a": 1}]), [[1], [2]],
    ],
)  # fmt: skip
def test_columns_of_other_types_are_refused(cells):
    refused(cells)


def test_columns_that_cannot_be_read_are_refused_in_fixed_words():
    refused(pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers()))

    class Rows(list):
        def __iter__(self):
            raise RuntimeError(SECRET)

    refused(Rows())


ROUNDED = [
    2.0**53, -(2.0**53), 2.0**60, float("inf"), float("-inf"), np.float32(2**24),
    np.float16(2**11), np.float64(2**53), np.float32("inf"), np.longdouble(2**53),
]  # fmt: skip


def kinds_of(cell):
    kind = np.asarray(cell).dtype
    return [["a", cell], pd.Series([cell], dtype=object), np.array([1, cell], dtype=kind),
            pd.Series([cell], dtype=kind)]  # fmt: skip


SINGLE = np.array([2.0**24], dtype=np.float32)


@pytest.mark.parametrize(
    "cells",
    [
        *[made for cell in ROUNDED for made in kinds_of(cell)],
        pd.Series(SINGLE, dtype="Float32"), pd.Series(SINGLE, dtype="Sparse[float32]"),
        pd.Series(SINGLE).astype("category"), arrow(SINGLE),
        arrow(np.array([2.0**11], dtype=np.float16)),
        pd.Series(pd.arrays.ArrowExtensionArray(pa.array(SINGLE).dictionary_encode())),
        pa.array(SINGLE), np.ma.array(SINGLE), array.array("f", SINGLE),
        pd.Series([2.0**53], dtype="Float64"),
    ],
)  # fmt: skip
def test_numbers_that_stand_for_several_are_refused_in_every_container(cells):
    refused(cells, refusals.ROUNDED_PERSONS)


def test_numbers_below_and_hidden_ones_are_let_in():
    for kind, most in ((np.float16, 2**11), (np.float32, 2**24), (np.float64, 2**53)):
        cells = np.array([most - 1, 1 - most, most - 2], dtype=kind)
        assert codes(cells) == codes(list(cells)) == [0, 1, 2]
    assert codes(np.ma.array([1.0, 2.0**60], mask=[0, 1])) == [0, -1]
    assert codes(pd.Series([1.0, None], dtype="Float32")) == [0, -1]


def test_parts_of_a_column_are_numbered_together():
    parts = [pd.Series(["5", "7"]), np.array([7, 5, 8]), [], pd.Series([8.0, None]), ["x", "9"],
             pd.Series(["9", "5", "x", "?"], dtype="category")]  # fmt: skip
    persons = Numbering(["?"])
    for part in parts:
        persons.add(part)
    assert persons.codes().tolist() == [0, 1, 1, 0, 2, 2, -1, 3, 4, 4, 0, 3, -1]
    assert persons.keys() == [b"5", b"7", b"8", b"x", b"9"]
    whole = Numbering(["7"])
    for part in parts[1:4]:
        whole.add(part)
    assert whole.codes().tolist() == [-1, 0, 1, 1, -1]


def test_keys_are_the_exact_texts():
    found, keys = person_keys(["b", 7, None, 7.0, " b", True, "\ud800"])
    assert found.tolist() == [0, 1, -1, 1, 0, 2, 3]
    assert keys == [b"b", b"7", b"true", b"\xed\xa0\x80"]
    assert person_keys(np.array([7.0, np.nan]))[1] == person_keys(np.array([7]))[1] == [b"7"]
    assert person_keys(["?", "x"], ["?"])[1] == [b"x"]
    assert person_keys([])[1] == []


def test_hashes_are_those_of_the_key():
    key, keys = bytes(range(32)), [b"a", b"b", b""]
    found = keyed_hashes(keys, key)
    assert (found.shape, found.dtype) == ((3, 2), np.int64)
    expected = [hashlib.blake2b(own, key=key, digest_size=16).digest() for own in keys]
    assert [row.astype("<i8").tobytes() for row in found] == expected
    assert (keyed_hashes(keys, bytes(32)) != found).all()
    assert keyed_hashes([], key).shape == (0, 2)
    for bad in (b"", b"short", bytes(65)):
        with pytest.raises(ParameterError, match="16 to 64 bytes"):
            keyed_hashes(keys, bad)


@pytest.mark.parametrize(
    ("rows", "order", "starts"),
    [
        ([0, 1, 0, 2, 1], [0, 2, 1, 4, 3], [0, 2, 4, 5]),
        ([-1, 0, 1, -1, 0], [1, 4, 2], [0, 2, 3]),
        ([-1, 0, 1], [1, 2], [0, 1, 2]),
        ([0, 1, -1], [0, 1], [0, 1, 2]),
        ([0, 0, 1, 2], None, [0, 2, 3, 4]),
        ([0], None, [0, 1]),
        ([], None, [0]),
        ([-1, -1], [], [0]),
    ],
)
def test_rows_of_a_person_follow_each_other(rows, order, starts):
    given = np.array(rows, dtype=np.int64)
    found, begins = order_of(given)
    assert begins.dtype == np.int64
    assert begins.tolist() == starts
    assert count_of(given) == len(starts) - 1
    assert (found is None) == (order is None)
    if found is not None:
        assert found.dtype == np.int64
        assert found.tolist() == order
