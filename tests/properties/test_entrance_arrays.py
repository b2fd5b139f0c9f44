"""Rows in any container: one record never changes what another record means."""

import functools

import numpy as np
import pandas as pd
import pytest
from hostile import (
    ENTRANCE,
    Untold,
    anything,
    built,
    changes,
    check_change,
    check_others,
    numbers,
    outcome,
    replaced,
    turning_changes,
    typed_changes,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from kinds import LABELS, LABELS_IN_COLUMNS, LABELS_TYPED, NUMBERS, ROWS, ROWS_TYPED, STRANGE
from opening import rows_part_reader, rows_reader
from scipy import sparse

from dpscd.errors import DataError
from dpscd.records.cells import number_of
from dpscd.records.labels import ClassLabels, NumberLabels

READ = rows_reader()
ODD_LABELS = [0, 1, "1", 1.0, True, "false", 2, None]


def triples_of(X):
    return READ(X, [0, 1, 0, 1, 0, 1][: len(X)], None)


def check_rows(make, change):
    check_change(triples_of, make, change)


@pytest.mark.full
@pytest.mark.parametrize("kind", ROWS)
@ENTRANCE
@given(change=changes())
def test_rows(kind, change):
    check_rows(ROWS[kind], change)


@ENTRANCE
@given(change=turning_changes())
def test_columns_that_change_their_type(change):
    check_rows(ROWS["frame"], change)


@pytest.mark.full
@pytest.mark.parametrize("kind", ROWS_TYPED)
@ENTRANCE
@given(change=typed_changes())
def test_rows_of_one_type(kind, change):
    check_rows(ROWS_TYPED[kind], change)


@ENTRANCE
@given(
    change=changes(others=()),
    kind=st.sampled_from(["list", "object", "frame", "frame of objects"]),
)
def test_a_row_is_what_its_cells_say(kind, change):
    records, _, _ = change
    rows = READ(ROWS[kind](records), [0] * len(records), None).X
    expected = np.array([[number_of(cell) for cell in record] for record in records])
    assert rows.tobytes() == expected.tobytes()


rows_of_any_kind = st.one_of(
    st.lists(anything, max_size=3),
    anything,
    st.lists(st.floats(width=32), min_size=2, max_size=2).map(
        lambda row: np.array(row, np.float32)
    ),
    st.lists(numbers, min_size=2, max_size=2).map(tuple),
    st.just(np.array([1.0, 2.0], dtype=np.longdouble) * np.longdouble("1e4000")),
    st.just(np.array([[1.0, 2.0]])),
    st.just(np.array([1j, 2.0])),
    st.just(pd.Series([1.0, "2"])),
    st.just(range(2)),
)


@ENTRANCE
@given(
    rows=st.lists(
        st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), min_size=3, max_size=5
    ),
    k=st.integers(1, 2),
    other=rows_of_any_kind,
    single=st.booleans(),
)
def test_a_row_of_another_kind_in_a_list(rows, k, other, single):
    given = [np.array(row, np.float32 if single else np.float64) for row in rows]
    labels = [0] * len(rows)
    after = replaced(given, k, other)
    check_others(READ, (given, labels, None), (after, labels, None), k)


KINDS = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "longdouble", "complex64", "complex128",
]  # fmt: skip


@ENTRANCE
@given(
    values=st.lists(
        st.lists(st.integers(0, 1) | st.floats(-6e4, 6e4), min_size=2, max_size=2),
        min_size=3,
        max_size=5,
    ),
    kinds=st.tuples(st.sampled_from(KINDS[:-2]), st.sampled_from(KINDS)),
    other=st.lists(st.floats() | st.sampled_from([2.0**53, 1e300]), min_size=2, max_size=2),
    k=st.integers(0, 2),
    layout=st.sampled_from(["C", "F", "strided", "reversed"]),
)
def test_arrays_of_numbers(values, kinds, other, k, layout):
    with np.errstate(all="ignore"):
        before = np.array(values).astype(kinds[0])
        own = np.array([other]).astype(kinds[1])
        after = np.concatenate([before[:k], own, before[k + 1 :]])
    if kinds[0].endswith("64") and before.dtype.kind in "iu":
        assume(after.dtype.kind in "iu" or (np.abs(before.astype(float)) < 2**53).all())
    if layout == "F":
        after = np.asfortranarray(after)
    elif layout == "strided":
        after = np.repeat(np.repeat(after, 2, axis=0), 3, axis=1)[::2, ::3]
    elif layout == "reversed":
        after = after[::-1].copy()[::-1]
    labels = [0] * len(before)
    check_others(READ, (before, labels, None), (after, labels, None), k)


def scattered(entries, count, order, kind):
    """Return a sparse matrix whose entries stand as they are given, twice or not."""
    places = [(i, j, v) for i in range(count) for j, v in entries[i]]
    values = np.array([v for _, _, v in places], dtype=kind)
    rows = np.array([i for i, _, _ in places], dtype=np.int32)
    columns = np.array([j for _, j, _ in places], dtype=np.int32)
    if order == "csr":
        starts = np.cumsum([0, *(len(entries[i]) for i in range(count))])
        found = sparse.csr_array((count, 4), dtype=kind)
        found.data, found.indices, found.indptr = values, columns, starts.astype(np.int32)
        return found
    if order == "csc":
        by = np.argsort(columns, kind="stable")
        found = sparse.csc_array((count, 4), dtype=kind)
        found.data, found.indices = values[by], rows[by]
        found.indptr = np.searchsorted(columns[by], np.arange(5)).astype(np.int32)
        return found
    found = sparse.coo_array((count, 4), dtype=kind)
    found.data, found.coords = values, (rows, columns)
    return found


entry = st.tuples(st.integers(0, 3), st.floats(-1e3, 1e3, width=32))
wild = st.tuples(st.integers(-1, 5), st.floats())


@pytest.mark.full
@ENTRANCE
@given(
    entries=st.lists(st.lists(entry, max_size=5), min_size=3, max_size=6),
    k=st.integers(0, 2),
    other=st.lists(entry | wild, max_size=6),
    order=st.sampled_from(["csr", "csc", "coo"]),
    kind=st.sampled_from([np.float32, np.float64]),
)
def test_sparse_rows(entries, k, other, order, kind):
    count = len(entries)
    with np.errstate(all="ignore"):
        before = scattered(entries, count, order, kind)
        after = scattered(replaced(entries, k, other), count, order, kind)
    read = rows_reader(features=4, sparse=True)
    labels = [0] * count
    check_others(read, (before, labels, None), (after, labels, None), k)
    for matrix in (before, after):
        found = rows_of(read, matrix, labels)
        # Another type would be another kernel, whose products may end differently.
        assert found is None or found.dtype == kind


@pytest.mark.parametrize("order", ["csr", "csc", "coo"])
def test_a_long_row_with_entries_twice_is_added_up_in_its_order(order):
    rng = np.random.default_rng(0)
    values = rng.normal(size=60) * 10.0 ** rng.integers(-12, 12, 60)
    long = list(zip(sorted(rng.integers(0, 4, 60).tolist()), values.tolist(), strict=True))
    entries = [long, [(0, 1.0), (1, 2.0)], long]
    read = rows_reader(features=4, sparse=True)
    before = scattered(entries, 3, order, np.float64)
    after = scattered(replaced(entries, 1, [(1, 2.0), (0, 1.0)]), 3, order, np.float64)
    check_others(read, (before, [0] * 3, None), (after, [0] * 3, None), 1)
    expected = np.zeros(4)
    for place, value in long:
        expected[place] += value
    assert read(after, [0] * 3, None).X.toarray()[0].tobytes() == expected.tobytes()


def rows_of(read, X, labels):
    try:
        return read(X, labels, None).X
    except DataError:
        return None


def reader_of(meaning):
    read = rows_reader(meaning, 1)
    return lambda labels: read(np.zeros((len(labels), 1)), labels, None)


@functools.cache
def of_labels(make):
    """Return what makes labels of records with one cell each."""
    return lambda records: make([label for (label,) in records])


readers = st.sampled_from(
    [
        reader_of(ClassLabels((0, 1), (2.0, 0.5))),
        reader_of(ClassLabels(("0", "1"))),
        reader_of(ClassLabels((False, True))),
        reader_of(ClassLabels((7, 999, 2**53 + 1))),
        reader_of(ClassLabels(("a", "b", "None"))),
        reader_of(NumberLabels(-1e6, 1e6)),
    ]
)


@pytest.mark.full
@pytest.mark.parametrize("kind", [*LABELS, *LABELS_IN_COLUMNS])
@ENTRANCE
@given(change=changes(NUMBERS + ODD_LABELS, 1), read=readers)
def test_labels(kind, change, read):
    check_change(read, of_labels({**LABELS, **LABELS_IN_COLUMNS}[kind]), change)


@pytest.mark.full
@pytest.mark.parametrize("kind", LABELS_TYPED)
@ENTRANCE
@given(change=typed_changes(1), read=readers)
def test_labels_of_one_type(kind, change, read):
    check_change(read, of_labels(LABELS_TYPED[kind]), change)


@ENTRANCE
@given(
    kind=st.sampled_from(sorted(LABELS)),
    weights=st.lists(st.sampled_from([0, 1, 2.5, "3", True, 1e308]), min_size=3, max_size=6),
    k=st.integers(0, 2),
    other=anything | st.floats(0.0, 1.7e308),
)
def test_weights(kind, weights, k, other):
    try:
        before = built(LABELS[kind], weights)
        after = built(LABELS[kind], replaced(weights, k, other))
    except Untold:
        assume(False)
    read = rows_reader(ClassLabels((0, 1), (1e100, 1.0)), 1)
    X, y = np.zeros((len(weights), 1)), [0, 1, 0, 1, 0, 1][: len(weights)]
    check_others(read, (X, y, before), (X, y, after), k)


@pytest.mark.parametrize("cell", NUMBERS + STRANGE, ids=lambda cell: type(cell).__name__)
def test_every_cell_by_itself(cell):
    records = [(1.0, 2.0), (cell, 1), (0.5, "7")]
    for kind in ("list", "arrays", "object", "frame of objects"):
        before = ROWS[kind]([(1.0, 2.0), (0.0, 1), (0.5, "7")])
        check_others(READ, (before, [0, 1, 0], None), (ROWS[kind](records), [0, 1, 0], None), 1)


def test_partitions_cut_anywhere_are_one_table():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.integers(0, 2, 12)
    whole, read_part = outcome(READ, X, y, None), rows_part_reader()
    for cut in range(13):
        parts = [(X[:cut], y[:cut], None), (X[cut:], y[cut:], None)]
        assert [row for part in parts for row in outcome(read_part, part)] == whole
