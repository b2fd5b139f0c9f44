"""The one way in: what it takes, when it reads, and what each refusal says."""

import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from dpscd import (
    DataError,
    DataTypeError,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegressor,
    DPRidge,
    ParameterError,
    Schema,
    SchemaError,
    StoredRows,
    TableModel,
)
from dpscd.persons import PersonFacts
from dpscd.preprocessing.declarations import Layout
from dpscd.records import files, refusals
from dpscd.records.cells import OTHER, Listed, as_column, codes, different, same_value
from dpscd.records.files import open_table
from dpscd.records.labels import ClassLabels, NumberLabels, label_column, weights_of
from dpscd.records.opening import Given, open_records
from dpscd.records.rows import _FLAT as FLAT
from dpscd.records.rows import RowReader, as_frame, open_rows
from dpscd.records.tables import TableReader, open_parsed

X = np.arange(12.0).reshape(6, 2)
SCHEMA = Schema.from_dict(
    {
        "target": {"column": "y", "classes": ["no", "yes"]},
        "columns": {"a": {"kind": "number", "bounds": [0, 10], "shape": "line"}},
    }
)
TABLE = pd.DataFrame({"a": [1.0, 2.0, None, 4.0], "y": ["no", "yes", "no", "yes"]})


class Streamed:
    """A table that offers Arrow's stream, and neither columns nor an array."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "make", [list, np.asarray, sparse.csr_array, pd.DataFrame, StoredRows, pa.table, Streamed]
)
def test_rows_in_every_container_are_opened_by_their_shape(make):
    if make in (pa.table, Streamed):
        given = pa.table({"a": X[:, 0], "b": X[:, 1]})
        given = Streamed(given) if make is Streamed else given
    else:
        given = make(X)
    with open_records(given, np.arange(6.0), Given(groups=[1, 1, 2, 3, 3, None])) as unread:
        assert (unread.count, unread.features) == (3, 2)
        assert unread.sparse == (make is sparse.csr_array)
    with open_records(given, np.arange(6.0)) as unread:
        store = unread.read(NumberLabels(0.0, 5.0), 1)
    found = store.X.toarray() if unread.sparse else store.X[:]
    np.testing.assert_array_equal(found, X)


def containers(folder):
    TABLE.to_csv(folder / "t.csv", index=False)
    parts = folder / "parts"
    parts.mkdir()
    TABLE[:3].to_parquet(parts / "0.parquet")
    TABLE[3:].to_parquet(parts / "1.pq")
    (parts / "_SUCCESS").write_text("")
    return [folder / "t.csv", parts, [parts], TABLE, Streamed(pa.table(TABLE))]


def test_tables_in_every_container_are_opened_by_their_names(tmp_path):
    for table in containers(tmp_path):
        with open_records(table, schema=SCHEMA) as unread:
            assert (unread.count, unread.features, unread.sparse) == (4, 1, False)
            store = unread.read(ClassLabels((0, 1)), 1)
        assert store.labels.tolist() == [-1.0, 1.0, -1.0, 1.0]
        assert store.X[:, 0] == pytest.approx([-0.8, -0.6, 0.0, -0.2])


def test_a_folder_has_one_table(tmp_path):
    *_, parts = containers(tmp_path)[:2]
    assert open_table(parts, Layout()).kinds() == ["number", "category"]
    TABLE.drop(columns="a").to_parquet(parts / "2.parquet")
    with pytest.raises(DataError, match="have different columns"):
        open_parsed(parts, SCHEMA)


def test_no_cell_is_read_before_it_is_asked_for(monkeypatch, tmp_path):
    """No container is asked for its cells, no object for itself, no file for its records."""

    class Watched(float):
        def _used(self, *_):
            raise AssertionError("a cell was read")

        __float__ = __eq__ = __hash__ = __str__ = __repr__ = __bool__ = _used

    cell = Watched(1.0)
    for rows in ([[cell, cell]] * 2, np.array([[cell]] * 2, dtype=object)):
        with open_records(rows, [cell] * 2, Given(sample_weight=[cell] * 2)) as unread:
            assert unread.count == 2
    frame = pd.DataFrame({"a": pd.Series([cell] * 2, dtype=object), "y": ["no", "yes"]})
    paths = containers(tmp_path)[:2]

    def used(*_, **__):
        raise AssertionError("a cell was read")

    for name in ("numbers", "different"):
        monkeypatch.setattr(f"dpscd.records.cells.{name}", used)
    monkeypatch.setattr("dpscd.records.tables.parse", used)
    for file in ("CsvFile", "ParquetTable"):
        monkeypatch.setattr(f"dpscd.records.files.{file}.frames", used)
    for table in (frame, *paths):
        with open_records(table, schema=SCHEMA) as unread:
            assert unread.count in (2, 4)
            with pytest.raises((AssertionError, DataError)):
                unread.read(ClassLabels((0, 1)), 1)


NO_NUMBERS = [[[0.5, "x"]], [[0.5, None]], np.array([[0.5, np.nan]]), [[0.5, "2020-01-01"]]]


@pytest.mark.parametrize("rows", NO_NUMBERS, ids=str)
def test_what_is_no_number_in_rows_has_one_text_that_names_no_column(rows):
    texts = set()
    for given in (rows, pd.DataFrame(rows, columns=["canary1", "canary2"])):
        with pytest.raises(DataTypeError) as caught:
            open_rows(given).read()
        texts.add(str(caught.value))
    (text,) = texts
    assert "canary" not in text
    assert "dpscd.look(table, schema)" in text


@pytest.mark.parametrize(
    "model",
    [
        DPRidge(y_bounds=(0, 1)),
        DPLogisticRegression(classes=[0, 1]),
        DPLinearSVC(classes=[0, 1]),
        DPPoissonRegressor(y_bounds=(0, 9)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_without_labels_names_the_class(model):
    with pytest.raises(DataError, match=f"This {type(model).__name__} estimator requires y"):
        model.fit(X)


@pytest.mark.parametrize("table", [X, X.tolist(), sparse.csr_array(X), None])
def test_what_is_no_table_is_told_of_those_that_are(table):
    with pytest.raises(DataTypeError, match="of pandas, polars or Arrow"):
        TableModel(SCHEMA).fit(table)


def test_one_column_of_arrow_is_no_table():
    column = pa.chunked_array([[1.0]])
    assert as_frame(column) is column


PLAIN = RowReader(ClassLabels((0, 1)), 1, False)
FLAGS = {
    "target": {"column": "y", "classes": ["a", "b"]},
    "columns": {"z": {"kind": "boolean"}},
}


class Stubborn:
    """Says nothing but errors."""

    def __len__(self):
        return 1

    def __iter__(self):
        raise RuntimeError("secret")

    def __array__(self, *_args, **_options):
        raise ValueError("secret")


class Columns:
    """A table of another library."""

    columns = ("a",)

    def __arrow_c_stream__(self, *_args):
        raise AssertionError("not without pyarrow")


class Rows:
    """Labels of another library: an array, and no length."""

    def __array__(self, *_args, **_options):
        return np.array([0, 1])


def refused(call, text, kind=DataError):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_what_is_no_table_of_rows():
    refused(lambda: open_rows(pa.chunked_array([[1.0]])), FLAT.format("1D array"))
    refused(lambda: open_rows(pd.Series([1.0])), FLAT.format("one column"))
    text = "X must be a table or an array with two dimensions."
    for X in ("abc", {"a": 1}, Stubborn(), object()):
        refused(lambda X=X: open_rows(X), text, DataTypeError)
    for X in ([[1.0], Stubborn()], [[1.0], np.ones(2)], [[1.0], "1"]):
        refused(open_rows(X).read, refusals.RAGGED)


def test_other_libraries_need_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataTypeError, match=r"pip install pyarrow"):
        as_frame(Columns())


def test_sparse_matrices_that_are_none():
    pointers = sparse.csr_array([[1.0], [2.0]])
    pointers.indptr[1] = 9
    refused(open_rows(pointers).read, refusals.NOT_CSR)
    refused(open_rows(sparse.csr_array([[1j]])).read, refusals.COMPLEX)
    entries = sparse.coo_array([[1.0], [2.0]])
    entries.coords[0][0] = 9
    refused(open_rows(entries).read, refusals.NOT_CSR)

    class Broken(sparse.csc_array):
        def tocoo(self, **_):
            raise ValueError(f"the entry 42 of {self.shape}")

    refused(open_rows(Broken([[1.0], [2.0]])).read, refusals.NOT_CSR)


def test_sparse_matrices_of_objects():
    rows = sparse.csr_array([[1.0, 2.0]])
    rows.data = np.array(["1", True], dtype=object)
    assert open_rows(rows).read().toarray().tolist() == [[1.0, 1.0]]


def test_labels_and_weights_in_other_containers():
    np.testing.assert_array_equal(as_column(pd.Index([1, 2])), [1, 2])
    assert label_column(Rows()).tolist() == [0, 1]
    refused(lambda: label_column(5), refusals.NOT_FLAT)
    assert weights_of(2, 3).tolist() == [2.0] * 3
    refused(lambda: PLAIN.triples(np.ones((2, 1)), [0], None), refusals.UNEQUAL)
    wider = RowReader(ClassLabels((0, 1)), 2, False)
    refused(lambda: wider.triples(np.ones((2, 1)), [0, 1], None), refusals.NOT_AS_ANNOUNCED)


@pytest.mark.parametrize("classes", [("7", "07"), (1, 1.0), ("a", None), ("True", "true")])
def test_classes_that_only_texts_could_tell_apart(classes):
    with pytest.raises(ParameterError, match="must be different labels"):
        ClassLabels(classes)


def test_values_that_only_texts_could_tell_apart():
    assert same_value({"7": 0, "07": 1}) == ("7", "07")
    assert same_value({"7": 0, "07": 0, "x": 1}) is None
    column = {"kind": "category", "values": ["7", "07"]}
    values = {"target": {"column": "y", "classes": ["a", "b"]}, "columns": {"z": column}}
    with pytest.raises(SchemaError, match="'7' and '07' are one value"):
        Schema.from_dict(values)
    column |= {"values": ["7", "x"], "rename": {"7.0": "x"}}
    with pytest.raises(SchemaError, match=r"'7' and '7\.0' are one value"):
        Schema.from_dict(values)
    column["rename"] = {"7.0": "7"}
    assert Schema.from_dict(values).columns[0].rename == {"7.0": "7"}


def test_only_tables_have_columns_whose_bounds_are_released():
    schema = {**FLAGS, "columns": {"z": {"kind": "number", "bounds": "private"}}}
    reader = TableReader(ClassLabels((0, 1)), Schema.from_dict(schema), {})
    table = pd.DataFrame({"z": ["1", None, 1.5], "y": ["a", "b", "a"]})
    (values,), _ = reader.columns(table)
    np.testing.assert_array_equal(values, [1.0, np.nan, 1.5])
    assert reader.with_bounds([(0.0, 2.0)]).bounds == {"z": (0.0, 2.0)}
    assert PLAIN.columns(()) == ((), None)
    with pytest.raises(ParameterError, match="no columns for 1 released bounds"):
        PLAIN.with_bounds([(0.0, 1.0)])


def test_files_have_their_target():
    with pytest.raises(ParameterError, match="files must have the target"):
        open_parsed("table.csv", Schema.from_dict(FLAGS), ["a"])


def test_files_that_are_locked(tmp_path, monkeypatch):
    def denied(_):
        raise PermissionError(13, "Permission denied", "t.parquet")

    monkeypatch.setattr(files, "_parquet_file", denied)
    table = tmp_path / "t.parquet"
    table.write_bytes(b"PAR1")
    for question in (
        open_table(table, Layout()).count,
        lambda: list(open_table(table, Layout()).frames()),
    ):
        with pytest.raises(PermissionError):
            question()


@pytest.mark.parametrize("epsilon", [1.0, float("inf")])
def test_rows_that_wait_for_released_bounds_are_made_as_silently(monkeypatch, epsilon):
    def fail(*_, **__):
        raise LookupError("secret 7431")

    schema = {**FLAGS, "columns": {"z": {"kind": "number", "bounds": "private"}}}
    table = pd.DataFrame({"z": ["1", None, 1.5] * 50, "y": ["a", "b", "a"] * 50})
    model = TableModel(schema, DPLogisticRegression(epsilon, epochs=1))
    monkeypatch.setattr("dpscd.records.tables.encode", fail)
    refused(lambda: model.fit(table), refusals.UNFORESEEN)


def test_an_error_that_nobody_foresaw_has_a_fixed_text(monkeypatch):
    def fail(*_):
        raise LookupError("secret 7431")

    monkeypatch.setattr(RowReader, "whole", fail)
    model = DPLogisticRegression(classes=[0, 1], epochs=1)
    refused(lambda: model.fit([[1.0], [2.0]], [0, 1]), refusals.UNFORESEEN)
    for error, expected in ((OSError("secret"), DataError), (OSError(5, "gone"), OSError)):

        def broken(*_, error=error):
            raise error

        monkeypatch.setattr("dpscd.records.tables.TableReader.records", broken)
        with pytest.raises(expected) as caught:
            TableModel(FLAGS).fit(pd.DataFrame({"z": [1, 0], "y": ["a", "b"]}))
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "cells",
    [
        pd.Series(np.array([1, 2, 1], dtype=">i8")),
        pd.Series(np.array([1.0, 2.0, 1.0], dtype=">f4")),
    ],
)
def test_the_order_of_bytes_does_not_matter(cells):
    assert codes(cells, Listed({"1": 0, "2": 1})).tolist() == [0, 1, 0]


def test_large_labels_beside_a_complex_one_are_refused():
    labels = ClassLabels((2**53, 2**53 + 1))
    for kind in (float, complex):
        with pytest.raises(DataTypeError) as refused:
            labels.coded(label_column(np.array([2**53 + 1, 2**53, 7], dtype=kind)))
        assert str(refused.value) == refusals.ROUNDED
    assert labels.coded(label_column(np.array([2**53 + 1, 2**53])))[1].tolist() == [1.0, 1.0]


def test_numbers_beyond_doubles_warn_of_nothing():
    large = pd.Series(np.array([np.longdouble("1e400"), 1.0]))
    assert codes(large, Listed({"1": 0})).tolist() == [OTHER, 0]


def test_reading_says_nothing_of_what_memory_held(monkeypatch):
    """A frame in single precision is read into single precision at once, without a cast."""

    def held(shape, dtype=np.float64):
        return np.full(shape, 1e300 if dtype == np.float64 else 1e30, dtype)

    monkeypatch.setattr("dpscd.records.rows.np.empty", held)
    frame = pd.DataFrame(np.ones((4, 2), np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = open_rows(frame).read()
    assert rows.dtype == np.float32
    assert (rows == 1.0).all()


def test_a_frame_that_grows_before_it_is_read_is_refused():
    frame = TABLE.copy()
    groups = list(range(len(frame)))
    persons = PersonFacts(None, "sum")
    with open_records(
        frame, given=Given(groups=groups), schema=SCHEMA, persons=persons
    ) as unread:
        frame.loc[len(frame)] = frame.iloc[0]
        refused(lambda: unread.read(ClassLabels((0, 1)), 1), refusals.CHANGED)


def test_texts_that_are_none_have_no_place():
    """As of numbers, and of texts in Arrow's memory."""
    for cells in (pd.Series([1, 2, 1]), pd.Series(["1", "2", "1"], dtype="string[pyarrow]")):
        places, texts = different(cells, lambda x: None if str(x) == "2" else str(x))
        assert places.tolist() == [0, -1, 0]
        assert texts == ["1"]
