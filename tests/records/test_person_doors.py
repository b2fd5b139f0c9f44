"""Persons behind both doors: counted, hashed and brought together, partition by partition."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dpscd import DataError, Schema
from dpscd.persons import PersonFacts
from dpscd.records.labels import ClassLabels, NumberLabels
from dpscd.records.opening import Given, open_records
from dpscd.records.rows import RowReader
from dpscd.records.tables import TableReader, TableRecords, open_parsed

KEY = b"0123456789abcdef"
FACTS = PersonFacts(None, "sum", 5)
X = np.arange(12.0).reshape(6, 2)
GROUPS = ["b", "a", None, "b", "c", "a"]
SCHEMA = Schema.from_dict(
    {
        "table": {"person": "who"},
        "target": {"column": "ill", "classes": ["no", "yes"]},
        "columns": {"x": {"kind": "number", "bounds": "private"}},
    }
)
TABLE = pd.DataFrame({"x": X[:, 0], "ill": ["no", "yes"] * 3, "who": GROUPS})


@pytest.mark.parametrize("as_sparse", [False, True])
def test_rows_of_a_person_come_together_in_the_order_of_first_rows(as_sparse):
    door = RowReader(NumberLabels(0.0, 10.0), 2, as_sparse, FACTS)
    rows = sparse.csr_array(X) if as_sparse else X
    part = [rows, np.arange(6.0), None, None, GROUPS]
    assert door.count(part) == 3
    read = door.records(part)
    assert read.labels.tolist() == [0.0, 3.0, 1.0, 5.0, 4.0]
    assert read.persons.starts.tolist() == [0, 2, 4, 5]
    found = read.X.toarray() if as_sparse else read.X
    np.testing.assert_array_equal(found, X[[0, 3, 1, 5, 4]])
    assert door.keys(part, KEY).shape == (3, 2)
    assert door.columns(part) == ((), None)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_an_empty_partition_has_nobody(as_sparse):
    door = RowReader(NumberLabels(0.0, 10.0), 2, as_sparse, FACTS)
    rows = sparse.csr_array((0, 2)) if as_sparse else np.empty((0, 2))
    part = [rows, np.empty(0), None, None, []]
    assert door.count(part) == 0
    read = door.records(part)
    assert read.persons.count == 0
    assert RowReader(NumberLabels(0.0, 10.0), 2, as_sparse).records(part).persons is None


def test_without_persons_records_are_counted():
    part = [X, np.arange(6.0), None, None, None]
    assert RowReader(NumberLabels(0.0, 10.0), 2, False).count(part) == 6
    assert TableReader(ClassLabels((0, 1)), SCHEMA, {}).count(TABLE) == 6


def test_groups_of_a_file_that_changed_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    TABLE.to_csv(path, index=False)
    labels, facts = ClassLabels((0, 1)), PersonFacts()
    opened = open_records(
        path, given=Given(groups=GROUPS), schema=SCHEMA, persons=facts, epsilon=1.0
    )
    with opened as records:
        assert records.count == 3
        assert records.read(labels, 1).persons.count == 3
        pd.concat([TABLE, TABLE]).to_csv(path, index=False)
        with pytest.raises(DataError, match="changed while it was read"):
            records.read(labels, 1)


def test_identifiers_of_another_length_are_refused():
    door = RowReader(NumberLabels(0.0, 10.0), 2, False, FACTS)
    with pytest.raises(DataError, match="not divided alike"):
        door.records([X, np.arange(6.0), None, None, GROUPS[:-1]])
    with pytest.raises(DataError, match="inconsistent"):
        door.triples(X, np.arange(6.0), None, None, np.arange(5))


def test_hashes_follow_the_key_and_tell_persons_apart():
    door = RowReader(NumberLabels(0.0, 10.0), 2, False, FACTS)
    part = [X, np.arange(6.0), None, None, GROUPS]
    one, other = door.keys(part, KEY), door.keys(part, KEY[::-1])
    assert len(np.unique(one, axis=0)) == 3
    assert not np.intersect1d(one, other).size
    table = TableReader(ClassLabels((0, 1)), SCHEMA, {}, PersonFacts("who"))
    np.testing.assert_array_equal(table.keys(TABLE, KEY), one)  # the same in every container


def test_a_table_waits_for_bounds_with_its_persons():
    door = TableReader(ClassLabels((0, 1)), SCHEMA, {}, PersonFacts("who", "share"))
    assert door.count(TABLE) == 3
    (values,), persons = door.columns(TABLE)
    assert values.tolist() == [0.0, 6.0, 2.0, 10.0, 8.0]
    assert persons.starts.tolist() == [0, 2, 4, 5]
    read = door.with_bounds([(0.0, 10.0)]).records(TABLE)
    assert read.persons.weights.tolist() == [0.5, 0.5, 0.5, 0.5, 1.0]
    held = TableRecords(door, open_parsed(TABLE, SCHEMA, person=True).read(), 1)
    held.bound([(0.0, 10.0)])
    np.testing.assert_array_equal(held.rows.training_weights, read.persons.weights)
    assert held.persons.count == 3
