"""One record that once changed what the others mean: each way, as it was found."""

import io

import numpy as np
import pandas as pd
import pytest
from opening import TWO, parsed, rows_reader, table_reader

from dpscd import DataError, DPLogisticRegression, DPRidge, Schema
from dpscd.records.labels import ClassLabels

SCHEMA = Schema.parse("""
[table]
missing = ["999"]
[target]
column = "ill"
classes = ["0", "1"]
[columns.value]
kind = "number"
bounds = [0, 1000]
missing = "column"
""")
OTHERS = ["999", "5", "999.0", "7.5"]


def others(triples):
    """Return the triples of all records but the last, to be compared bit for bit."""
    X, labels, weights = triples[:3]
    rows = X.toarray() if hasattr(X, "indptr") else X
    return [
        np.asarray(part[:-1], dtype=np.float64).tobytes() for part in (rows, labels, weights)
    ]


def table_triples(table, y=None):
    return others(table_reader(SCHEMA, TWO)(table, y))


@pytest.mark.parametrize("cell", ["unknown", "", "999", "True", "1e400", "5"])
def test_a_text_among_numbers_does_not_change_what_a_sentinel_is(cell):
    def read(last, **options):
        lines = [f"{value},{k % 2}" for k, value in enumerate([*OTHERS, last])]
        return pd.read_csv(io.StringIO("\n".join(["value,ill", *lines])), **options)

    usual = table_triples(read("", dtype=str, keep_default_na=False))
    assert table_triples(read(cell)) == usual
    assert table_triples(read(cell, dtype=str)) == usual
    assert parsed(SCHEMA, read(cell))["value"][:4].tolist()[1::2] == [5.0, 7.5]


@pytest.mark.parametrize("label", ["unknown", None, True, "1", 2.5, [1.0], 10**400, b"1"])
@pytest.mark.parametrize("known", [(1.0, 0.0), (True, False), ("1", "0"), (1, 0)])
def test_a_label_of_another_type_does_not_change_the_others(label, known):
    table = pd.DataFrame({"value": [1.0, 2.0, 3.0]})
    usual = table_triples(table, [*known, None])
    assert table_triples(table, [*known, label]) == usual
    read = rows_reader(TWO, 1)
    X = [[1.0], [2.0], [3.0]]
    found = [others(read(X, [*known, last], None)) for last in (label, None)]
    assert found[0] == found[1]
    assert np.frombuffer(found[0][2]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("label", [0.5, -1, None, "x", 2**53, 2**64])
def test_large_whole_numbers_stay_what_they_are(label):
    ids = [2**53, 2**53 + 1, 2**63 + 3]
    read = rows_reader(ClassLabels(tuple(ids)), 1)
    X = [[1.0]] * 4
    found = read(X, [*ids, label], None)
    assert found.labels[:3].tolist() == [0.0, 1.0, 2.0]
    assert found.weights[:3].tolist() == [1.0] * 3
    with pytest.raises(DataError, match="whole numbers that are listed"):
        read(X, np.array([*map(float, ids), 0.5]), None)
    model = DPLogisticRegression(classes=ids, epochs=1)
    assert model.fit(np.ones((4, 1)), [*ids, label]).classes_.tolist() == ids


def test_codes_of_many_digits_beside_a_missing_one():
    schema = Schema.from_dict(
        {
            "target": {"column": "y", "classes": ["a", "b"]},
            "columns": {"id": {"kind": "category", "values": [10**17 + 1, 10**17 + 3]}},
        }
    )
    cells = [10**17 + 1, 10**17 + 3, None]
    for column in (pd.Series(cells, dtype=object), pd.Series(cells, dtype="Int64")):
        table = pd.DataFrame({"id": column, "y": ["a", "b", "a"]})
        assert parsed(schema, table)["id"].tolist() == [0, 1, -2]
    with pytest.raises(DataError, match="whole numbers that are listed"):
        parsed(schema, pd.DataFrame({"id": cells, "y": ["a", "b", "a"]}))  # pandas rounds here


@pytest.mark.parametrize("first", ["a", 0, None, [0], np.int8(1), "1"])
def test_the_first_label_decides_nothing(first):
    X, y = np.eye(3), [0, 1]
    model = DPLogisticRegression(classes=[0, 1], epochs=1, random_state=0)
    assert model.fit(X, [first, *y]).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("ragged", [[[1.0]] * 2002 + [[1.0, 2.0]], [[1.0]] * 2002 + [1.0]])
def test_a_ragged_list_does_not_tell_how_many_records_there_are(ragged):
    model = DPRidge(relation="add-remove", n=1000, y_bounds=(0, 1))
    with pytest.raises(DataError) as caught:
        model.fit(ragged, [0.0] * 2003)
    assert "2003" not in str(caught.value)
    assert caught.value.__context__ is None
    with pytest.raises(DataError) as caught:
        model.fit([[1.0]] * 2003, [0.0] * 2002 + [[1.0, 2.0]])
    assert "2003" not in str(caught.value)
