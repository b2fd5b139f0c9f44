"""The one way in: what it takes, when it reads, and what it says."""

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
    Schema,
    StoredRows,
    TableModel,
)
from dpscd.preprocessing.declarations import Layout
from dpscd.records.files import open_table
from dpscd.records.labels import ClassLabels, NumberLabels
from dpscd.records.opening import Given, open_records
from dpscd.records.rows import as_frame, open_rows
from dpscd.records.tables import open_parsed

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
