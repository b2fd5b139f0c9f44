"""Rows in any container: one record never changes what another record means."""

import functools
from collections import deque

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hostile import (
    DOOR,
    NUMBERS,
    STRANGE,
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
from scipy import sparse

from dpscd.errors import DataError
from dpscd.preprocessing.cells import number_of
from dpscd.records.door import ArrayDoor
from dpscd.records.labels import ClassLabels, NumberLabels

PLAIN = ArrayDoor(ClassLabels((0, 1)), 2, False)
LABELS = [0, 1, "1", 1.0, True, "false", 2, None]


def objects(records):
    table = np.empty((len(records), len(records[0])), dtype=object)
    for i, record in enumerate(records):
        for j, cell in enumerate(record):
            table[i, j] = cell
    return table


def inferred(records):
    return pd.DataFrame({str(j): [record[j] for record in records] for j in (0, 1)})


def columns(of):
    """Return what makes a table of columns that are made by `of`."""
    return lambda records: pd.DataFrame(
        {str(j): of([record[j] for record in records]) for j in (0, 1)}
    )


CONTAINERS = {
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
    "frame": inferred,
    "frame of objects": lambda records: pd.DataFrame(objects(records)),
    "frame of texts as categories": columns(lambda cells: pd.Categorical(map(str, cells))),
}
TYPED = {
    "Arrow": lambda records: pa.table(
        {str(j): pa.array([record[j] for record in records]) for j in (0, 1)}
    ),
    "frame of Arrow": columns(lambda cells: pd.arrays.ArrowExtensionArray(pa.array(cells))),
    "nullable": columns(pd.array),
    "categories": columns(pd.Categorical),
    "sparse": columns(pd.arrays.SparseArray),
}


def triples_of(X):
    return PLAIN.triples(X, [0, 1, 0, 1, 0, 1][: len(X)], None)


def check_rows(make, change):
    check_change(triples_of, make, change)


@pytest.mark.full
@pytest.mark.parametrize("kind", CONTAINERS)
@DOOR
@given(change=changes())
def test_rows(kind, change):
    check_rows(CONTAINERS[kind], change)


@DOOR
@given(change=turning_changes())
def test_columns_that_change_their_type(change):
    check_rows(CONTAINERS["frame"], change)


@pytest.mark.full
@pytest.mark.parametrize("kind", TYPED)
@DOOR
@given(change=typed_changes())
def test_rows_of_one_type(kind, change):
    check_rows(TYPED[kind], change)


@DOOR
@given(
    change=changes(others=()),
    kind=st.sampled_from(["list", "object", "frame", "frame of objects"]),
)
def test_a_row_is_what_its_cells_say(kind, change):
    records, _, _ = change
    rows = PLAIN.triples(CONTAINERS[kind](records), [0] * len(records), None).X
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


@DOOR
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
    check_others(PLAIN.triples, (given, labels, None), (after, labels, None), k)


KINDS = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "longdouble", "complex64", "complex128",
]  # fmt: skip


@DOOR
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
    check_others(PLAIN.triples, (before, labels, None), (after, labels, None), k)


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
@DOOR
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
    door = ArrayDoor(ClassLabels((0, 1)), 4, True)
    labels = [0] * count
    check_others(door.triples, (before, labels, None), (after, labels, None), k)
    for matrix in (before, after):
        found = door_rows(door, matrix, labels)
        # Another type would be another kernel, whose products may end differently.
        assert found is None or found.dtype == kind


@pytest.mark.parametrize("order", ["csr", "csc", "coo"])
def test_a_long_row_with_entries_twice_is_added_up_in_its_order(order):
    rng = np.random.default_rng(0)
    values = rng.normal(size=60) * 10.0 ** rng.integers(-12, 12, 60)
    long = list(zip(sorted(rng.integers(0, 4, 60).tolist()), values.tolist(), strict=True))
    entries = [long, [(0, 1.0), (1, 2.0)], long]
    door = ArrayDoor(ClassLabels((0, 1)), 4, True)
    before = scattered(entries, 3, order, np.float64)
    after = scattered(replaced(entries, 1, [(1, 2.0), (0, 1.0)]), 3, order, np.float64)
    check_others(door.triples, (before, [0] * 3, None), (after, [0] * 3, None), 1)
    expected = np.zeros(4)
    for place, value in long:
        expected[place] += value
    assert door.triples(after, [0] * 3, None).X.toarray()[0].tobytes() == expected.tobytes()


def door_rows(door, X, labels):
    try:
        return door.triples(X, labels, None).X
    except DataError:
        return None


FLAT = {
    "list": list,
    "object": lambda labels: objects([(label,) for label in labels])[:, 0],
    "series": pd.Series,
    "series of objects": lambda labels: pd.Series(FLAT["object"](labels), dtype=object),
    "texts": lambda labels: np.array([str(label) for label in labels]),
}
"""One value a record; in each any values can be."""
COLUMNS = {
    "column": lambda labels: objects([(label,) for label in labels]),
    "frame": lambda labels: pd.DataFrame({"y": labels}),
    "lists of one": lambda labels: [[label] for label in labels],
}
FLAT_TYPED = {
    "array": np.array,
    "index": pd.Index,
    "category": lambda labels: pd.Series(pd.Categorical(labels)),
    "nullable": pd.array,
    "Arrow": lambda labels: pd.Series(pd.arrays.ArrowExtensionArray(pa.array(labels))),
    "sparse": lambda labels: pd.Series(pd.arrays.SparseArray(labels)),
}


def reader_of(meaning):
    door = ArrayDoor(meaning, 1, False)
    return lambda labels: door.triples(np.zeros((len(labels), 1)), labels, None)


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
@pytest.mark.parametrize("kind", [*FLAT, *COLUMNS])
@DOOR
@given(change=changes(NUMBERS + LABELS, 1), read=readers)
def test_labels(kind, change, read):
    check_change(read, of_labels({**FLAT, **COLUMNS}[kind]), change)


@pytest.mark.full
@pytest.mark.parametrize("kind", FLAT_TYPED)
@DOOR
@given(change=typed_changes(1), read=readers)
def test_labels_of_one_type(kind, change, read):
    check_change(read, of_labels(FLAT_TYPED[kind]), change)


@DOOR
@given(
    kind=st.sampled_from(sorted(FLAT)),
    weights=st.lists(st.sampled_from([0, 1, 2.5, "3", True, 1e308]), min_size=3, max_size=6),
    k=st.integers(0, 2),
    other=anything | st.floats(0.0, 1.7e308),
)
def test_weights(kind, weights, k, other):
    try:
        before = built(FLAT[kind], weights)
        after = built(FLAT[kind], replaced(weights, k, other))
    except Untold:
        assume(False)
    door = ArrayDoor(ClassLabels((0, 1), (1e100, 1.0)), 1, False)
    X, y = np.zeros((len(weights), 1)), [0, 1, 0, 1, 0, 1][: len(weights)]
    check_others(door.triples, (X, y, before), (X, y, after), k)


@pytest.mark.parametrize("cell", NUMBERS + STRANGE, ids=lambda cell: type(cell).__name__)
def test_every_cell_by_itself(cell):
    records = [(1.0, 2.0), (cell, 1), (0.5, "7")]
    for kind in ("list", "arrays", "object", "frame of objects"):
        before = CONTAINERS[kind]([(1.0, 2.0), (0.0, 1), (0.5, "7")])
        check_others(
            PLAIN.triples,
            (before, [0, 1, 0], None),
            (CONTAINERS[kind](records), [0, 1, 0], None),
            1,
        )


def test_partitions_cut_anywhere_are_one_table():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.integers(0, 2, 12)
    whole = outcome(PLAIN.triples, X, y, None)
    for cut in range(13):
        parts = [(X[:cut], y[:cut], None), (X[cut:], y[cut:], None)]
        assert [row for part in parts for row in outcome(PLAIN.records, part)] == whole
