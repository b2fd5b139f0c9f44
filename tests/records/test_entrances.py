"""Containers at the door: what is accepted, and what each refusal says."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from dpscd import (
    DataError,
    DataTypeError,
    DPLogisticRegression,
    ParameterError,
    Schema,
    SchemaError,
    TableModel,
)
from dpscd.preprocessing.declarations import Layout
from dpscd.records import files, refusals
from dpscd.records.cells import OTHER, Listed, as_column, codes, same_value
from dpscd.records.files import open_table
from dpscd.records.labels import ClassLabels, label_column, weights_of
from dpscd.records.rows import _FLAT as FLAT
from dpscd.records.rows import RowReader, as_frame, open_rows
from dpscd.records.tables import TableReader, open_parsed

PLAIN = RowReader(ClassLabels((0, 1)), 1, False)
SCHEMA = {
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
    schema = {**SCHEMA, "columns": {"z": {"kind": "number", "bounds": "private"}}}
    door = TableReader(ClassLabels((0, 1)), Schema.from_dict(schema), {})
    table = pd.DataFrame({"z": ["1", None, 1.5], "y": ["a", "b", "a"]})
    (values,), _ = door.columns(table)
    np.testing.assert_array_equal(values, [1.0, np.nan, 1.5])
    assert door.with_bounds([(0.0, 2.0)]).bounds == {"z": (0.0, 2.0)}
    assert PLAIN.columns(()) == ((), None)
    with pytest.raises(ParameterError, match="no columns for 1 released bounds"):
        PLAIN.with_bounds([(0.0, 1.0)])


def test_files_have_their_target():
    with pytest.raises(ParameterError, match="files must have the target"):
        open_parsed("table.csv", Schema.from_dict(SCHEMA), ["a"])


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

    schema = {**SCHEMA, "columns": {"z": {"kind": "number", "bounds": "private"}}}
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
            TableModel(SCHEMA).fit(pd.DataFrame({"z": [1, 0], "y": ["a", "b"]}))
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
