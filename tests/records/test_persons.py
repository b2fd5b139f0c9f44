"""Persons of rows and tables: counted first, the same in every container, brought together."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from dpscd import DataError, ParameterError, Schema, SchemaError
from dpscd.persons import PersonFacts
from dpscd.records import refusals
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
    reader = RowReader(NumberLabels(0.0, 10.0), 2, as_sparse, FACTS)
    rows = sparse.csr_array(X) if as_sparse else X
    part = [rows, np.arange(6.0), None, None, GROUPS]
    assert reader.count(part) == 3
    read = reader.records(part)
    assert read.labels.tolist() == [0.0, 3.0, 1.0, 5.0, 4.0]
    assert read.persons.starts.tolist() == [0, 2, 4, 5]
    found = read.X.toarray() if as_sparse else read.X
    np.testing.assert_array_equal(found, X[[0, 3, 1, 5, 4]])
    assert reader.keys(part, KEY).shape == (3, 2)
    assert reader.columns(part) == ((), None)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_an_empty_partition_has_nobody(as_sparse):
    reader = RowReader(NumberLabels(0.0, 10.0), 2, as_sparse, FACTS)
    rows = sparse.csr_array((0, 2)) if as_sparse else np.empty((0, 2))
    part = [rows, np.empty(0), None, None, []]
    assert reader.count(part) == 0
    read = reader.records(part)
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
    reader = RowReader(NumberLabels(0.0, 10.0), 2, False, FACTS)
    with pytest.raises(DataError, match="not divided alike"):
        reader.records([X, np.arange(6.0), None, None, GROUPS[:-1]])
    with pytest.raises(DataError, match="inconsistent"):
        reader.triples(X, np.arange(6.0), None, None, np.arange(5))


def test_hashes_follow_the_key_and_tell_persons_apart():
    reader = RowReader(NumberLabels(0.0, 10.0), 2, False, FACTS)
    part = [X, np.arange(6.0), None, None, GROUPS]
    one, other = reader.keys(part, KEY), reader.keys(part, KEY[::-1])
    assert len(np.unique(one, axis=0)) == 3
    assert not np.intersect1d(one, other).size
    table = TableReader(ClassLabels((0, 1)), SCHEMA, {}, PersonFacts("who"))
    np.testing.assert_array_equal(table.keys(TABLE, KEY), one)  # the same in every container


def test_a_table_waits_for_bounds_with_its_persons():
    reader = TableReader(ClassLabels((0, 1)), SCHEMA, {}, PersonFacts("who", "share"))
    assert reader.count(TABLE) == 3
    (values,), persons = reader.columns(TABLE)
    assert values.tolist() == [0.0, 6.0, 2.0, 10.0, 8.0]
    assert persons.starts.tolist() == [0, 2, 4, 5]
    read = reader.with_bounds([(0.0, 10.0)]).records(TABLE)
    assert read.persons.weights.tolist() == [0.5, 0.5, 0.5, 0.5, 1.0]
    held = TableRecords(reader, open_parsed(TABLE, SCHEMA, person=True).read(), 1).on("jax")
    held.bound([(0.0, 10.0)])
    assert held.rows.engine == "jax"
    np.testing.assert_array_equal(held.rows.training_weights, read.persons.weights)
    assert held.persons.count == 3


NAMED = Schema.from_dict(
    {
        "table": {"person": "p"},
        "target": {"column": "y", "classes": ["a", "b"]},
        "columns": {"z": {"kind": "boolean"}},
    }
)
PEOPLE = pd.DataFrame(
    {"p": [7, 3, 7, None, 999], "z": [1, 0, 1, 0, 1], "y": ["a", "b", "a", "b", "a"]}
)
CODES = [0, 1, 0, -1, 2]


def containers(folder):
    path, packed = folder / "t.csv", folder / "t.parquet"
    texts = PEOPLE.assign(p=["7", "3", "7", "", "999"])
    texts.to_csv(path, index=False)
    PEOPLE.to_parquet(packed)
    return [
        path, [packed], PEOPLE, texts, PEOPLE.astype(object), PEOPLE.convert_dtypes(),
        PEOPLE.astype("category"), pa.Table.from_pandas(PEOPLE),
        PEOPLE.set_axis([5, 5, 5, 1, 1]),
    ]  # fmt: skip


def test_every_container_has_the_same_persons(tmp_path):
    for table in containers(tmp_path):
        source = open_parsed(table, NAMED, person=True)
        assert source.count == 3
        found = source.read()
        assert found.persons.tolist() == CODES
        assert open_parsed(found, NAMED, person=True).count == 3
        assert open_parsed(found, NAMED).count == 5
        plain = open_parsed(table, NAMED)
        assert (plain.count, plain.read().persons) == (5, None)
        without = Schema.from_dict({**NAMED.to_dict(), "table": {}})
        assert open_parsed(table, without, person=True).count == 5


def test_the_target_may_be_given_besides():
    source = open_parsed(PEOPLE.drop(columns="y"), NAMED, PEOPLE["y"].tolist(), person=True)
    assert source.count == 3
    assert source.read().target.tolist() == [0, 1, 0, 1, 0]


def test_what_is_declared_missing_is_nobody():
    layout = {"person": "p", "missing": ["999", "7"]}
    schema = Schema.from_dict({**NAMED.to_dict(), "table": layout})
    source = open_parsed(PEOPLE, schema, person=True)
    assert source.count == 1
    assert source.read().persons.tolist() == [-1, 0, -1, -1, -1]


def test_records_without_persons_are_not_taken_for_some():
    parsed = open_parsed(PEOPLE, NAMED).read()
    with pytest.raises(ParameterError, match="without their persons"):
        open_parsed(parsed, NAMED, person=True)
    with pytest.raises(SchemaError, match="no column 'p'"):
        open_parsed(PEOPLE.drop(columns="p"), NAMED, person=True)
    with pytest.raises(DataError) as caught:
        open_parsed(PEOPLE.assign(p=np.float32(2**24)), NAMED, person=True)
    assert str(caught.value) == refusals.ROUNDED_PERSONS


def test_errors_while_persons_are_counted_say_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise LookupError("secret 7431")

    path, *_ = containers(tmp_path)
    monkeypatch.setattr("dpscd.records.tables.Numbering.codes", fail)
    with pytest.raises(DataError) as caught:
        open_parsed(path, NAMED, person=True)
    assert str(caught.value) == refusals.UNFORESEEN
    assert caught.value.__context__ is None
